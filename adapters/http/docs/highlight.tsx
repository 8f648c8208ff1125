import type { Html } from '../web/prose.js';

type Known = 'sh' | 'json' | 'js' | 'py' | 'text';
export type Language = Known | 'ts' | 'go' | 'java' | 'php' | 'rb' | 'cs';

const keywords = (words: string): string => `(?<word>(?<![.\\w])(?:${words.replaceAll(' ', '|')})\\b)`;
const number = String.raw`(?<number>(?<![\w.-])-?\d[\d._]*\b)`;
const quoted = String.raw`"(?:[^"\\\n]|\\.)*"`;
const apostrophes = String.raw`'(?:[^'\\\n]|\\.)*'`;

/** The tokens of a language, in the order in which they are looked for; everything else is plain. */
const known: Readonly<Record<Known, RegExp>> = {
  text: /(?!)/g,
  json: new RegExp(
    `(?<name>${quoted}(?=\\s*:))|(?<string>${quoted})|${keywords('true false null')}|${number}`,
    'g',
  ),
  js: new RegExp(
    [
      String.raw`(?<comment>\/\/.*|\/\*[^]*?\*\/)`,
      `(?<string>${quoted}|${apostrophes}|\`(?:[^\`\\\\]|\\\\.)*\`)`,
      keywords(
        'import from export const let return if else for of new await async throw try catch null true false typeof instanceof',
      ),
      number,
      String.raw`(?<name>[\w$]+(?=\())`,
    ].join('|'),
    'g',
  ),
  py: new RegExp(
    [
      '(?<comment>#.*)',
      `(?<string>"""[^]*?"""|[bf]?${quoted}|[bf]?${apostrophes})`,
      keywords(
        'import from def return if else elif for in is not and or with as class raise try except None True False lambda',
      ),
      number,
      String.raw`(?<name>\w+(?=\())`,
    ].join('|'),
    'g',
  ),
  sh: new RegExp(
    [
      '(?<comment>(?<=^|\\s)#.*)',
      `(?<string>'[^']*'|"(?:[^"\\\\]|\\\\.)*")`,
      '(?<word>(?<=^|[|;(]\\s*)(?:curl|npm|node|python3|export|cat|docker|sh)\\b)',
      String.raw`(?<name>\$\w+|(?<=\s)--?[\w-]+)`,
    ].join('|'),
    'gm',
  ),
};

/** The rules of all languages: some are close enough to a known one. */
const { js, py } = known;
const rules: Readonly<Record<Language, RegExp>> = {
  ...known,
  ts: js,
  go: js,
  java: js,
  php: js,
  rb: py,
  cs: js,
};

/** The classes of tokens: `is-` and the name of a group above. */
const classes = ['is-comment', 'is-string', 'is-word', 'is-number', 'is-name'];

/** A sample with its tokens marked. Its text stays as it is. */
export const highlighted = (text: string, language: Language): Html => {
  const parts: Html[] = [];
  let at = 0;
  for (const match of text.matchAll(rules[language])) {
    const kind = classes.find((each) => match.groups?.[each.slice('is-'.length)] !== undefined);
    if (match.index > at) parts.push(text.slice(at, match.index));
    parts.push(<span class={kind}>{match[0]}</span>);
    at = match.index + match[0].length;
  }
  return [...parts, text.slice(at)];
};
