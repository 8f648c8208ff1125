import { posix } from 'node:path';
import { parseSource, property, type Source } from '../support/runner/repository.js';

/** The files that are checked, and those that may be referred to. */
export interface Checked {
  readonly paths: readonly string[];
  readonly read: (path: string) => string;
}

/** A stretch of a file in which people refer to things. `text` begins at the file's character `start`. */
interface Passage {
  readonly path: string;
  readonly start: number;
  readonly text: string;
}

interface Finding {
  readonly path: string;
  readonly line: number;
  readonly fault: string;
}

const decisionsPage = 'docs/decisions.md';
const invariantsPage = 'docs/invariants.md';

const isSource = (path: string): boolean => /\.(ts|mjs)$/.test(path);
const isPage = (path: string): boolean => path.endsWith('.md');

/** What was read of a file before: a page is asked for its anchors again and again. */
const remembering = <T>(make: (path: string) => T): ((path: string) => T) => {
  const known = new Map<string, T>();
  return (path) => {
    const found = known.get(path) ?? make(path);
    known.set(path, found);
    return found;
  };
};

// Where people refer to something

/** Line comments that follow each other are one passage: a reference may be wrapped. */
const commentPassages = (path: string, text: string, { comments }: Source): readonly Passage[] => {
  const spans: { start: number; end: number }[] = [];
  for (const { type, start, end } of comments) {
    const last = spans.at(-1);
    if (type === 'Line' && last !== undefined && /^\s*$/.test(text.slice(last.end, start))) last.end = end;
    else spans.push({ start, end });
  }
  return spans.map(({ start, end }) => ({ path, start, text: text.slice(start, end) }));
};

/** A title of `describe` or `it` by its static parts: a composed one has several. */
interface Title {
  readonly start: number;
  readonly parts: readonly string[];
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const partsOf = (argument: unknown): readonly string[] | null => {
  const value = property(argument, 'value');
  if (property(argument, 'type') === 'Literal') return typeof value === 'string' ? [value] : null;
  if (property(argument, 'type') !== 'TemplateLiteral') return null;
  return listOf(property(argument, 'quasis')).map((quasi) =>
    String(property(property(quasi, 'value'), 'cooked')),
  );
};

/** The titles of `describe`, `it`, and functions that wrap them, such as `describeInBrowser`. */
const titlesOf = (source: Source): readonly Title[] => {
  const titles: Title[] = [];
  source.walk((node) => {
    if (node['type'] !== 'CallExpression') return;
    const { callee } = node;
    const name = property(callee, 'name') ?? property(property(callee, 'object'), 'name');
    if (typeof name !== 'string' || !/^(describe|it)([A-Z]|$)/.test(name)) return;
    for (const argument of listOf(node['arguments'])) {
      const parts = partsOf(argument);
      if (parts !== null) titles.push({ start: Number(property(argument, 'start')), parts });
    }
  });
  return titles;
};

// Blanked out rather than cut out, so that what follows keeps its line.
const blank = (text: string): string => text.replaceAll(/[^\n]/g, ' ');
const withoutCode = (text: string): string => text.replaceAll(/^(```|~~~)[\s\S]*?^\1/gm, blank);
const withoutTargets = (text: string): string => text.replaceAll(/\]\([^)\s]*\)/g, blank);

// What can be referred to

/** The anchors of a page: the headings as GitHub names them, and those that are written out. */
const anchorsOf = (text: string): ReadonlySet<string> => {
  const anchors = new Set([...text.matchAll(/<a id="([^"]+)">/g)].map(([, id]) => id ?? ''));
  for (const [, heading = ''] of withoutCode(text).matchAll(/^#{1,6} +(.+)$/gm)) {
    const plain = heading.replaceAll(/<[^>]*>/g, '').replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1');
    const slug = plain
      .trim()
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\p{M}\p{Pc} -]/gu, '')
      .replaceAll(' ', '-');
    let anchor = slug;
    for (let repeat = 1; anchors.has(anchor); repeat++) anchor = `${slug}-${repeat}`;
    anchors.add(anchor);
  }
  return anchors;
};

/** The numbers of a page's rules: `4. ` at the beginning of a line or a heading. */
const rulesOf = (text: string): ReadonlySet<number> =>
  new Set(
    [...withoutCode(text).matchAll(/^(?:#+ +)?(?:Rule +)?(\d+)\./gm)].map(([, number]) => Number(number)),
  );

// The checks: each yields the place in the passage, and what is wrong there

type Faults = Iterable<readonly [at: number, fault: string]>;

/** White space, and what stands at the beginning of a comment's lines. */
const gap = '[\\s*/]+';
const list = `\\d+(?:(?:${gap})?(?:,|–|-|to|and|or)(?:${gap})?\\d+)*`;
const numbersIn = (text: string): readonly number[] => {
  const numbers: number[] = [];
  for (const [, joint, digits] of text.matchAll(/(–|-|to)?[\s*/]*(\d+)/g)) {
    const last = joint === undefined ? undefined : numbers.at(-1);
    for (let next = last === undefined ? Number(digits) : last + 1; next <= Number(digits); next++)
      numbers.push(next);
  }
  return numbers;
};

/** Sentences about one thing name one number, those about several a list or a range. */
const numbered = (noun: string): RegExp =>
  new RegExp(`\\b${noun}(?:s${gap}(?<several>${list})|${gap}(?<one>\\d+))`, 'gi');

const withoutPath = /(?<![\w./-])([\w-]+\.md)\b(?!\/)/g;
/** Pages that people who had more than the repository used to name. */
const elsewhere = /\bspec:|\b(?:the )?decisions page\b|\bthe specification\b(?! of)/gi;

const filePath =
  /(?<![\w./:@-])((?:[\w.-]+\/)+[\w.-]+\.(?:ts|mjs|md))(?:#([\w-]+))?(?![\w/-])(?:, rules? (\d+))?/g;
const folderPath = /(?<![\w./:@-])((?:[\w.-]+\/)+)(?![\w*{$<…./-])/g;

/** How a title could be named: any static part of it, or the whole with the rest filled in. */
const fits = ({ parts }: Title, named: string): boolean => {
  if (parts.some((part) => part.includes(named))) return true;
  const isDistinct = parts.join('').replaceAll(/\W/g, '').length >= 8;
  const pattern = parts.map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)).join('.*');
  return parts.length > 1 && isDistinct && new RegExp(`^${pattern}$`, 's').test(named);
};

const shortestName = 8;

const lineOf = (text: string, at: number): number => text.slice(0, at).split('\n').length;

/**
 * Every reference that leads nowhere, as `file:line: what is wrong`: in comments of sources, in titles of
 * tests and in Markdown pages.
 */
export const brokenReferences = ({ paths, read }: Checked): readonly string[] => {
  const known = new Set(paths);
  const folders = new Set(
    paths.flatMap((path) => path.split('/').map((_, depth, parts) => parts.slice(0, depth).join('/'))),
  );
  const tops = new Set(
    paths.filter((path) => path.includes('/')).map((path) => path.slice(0, path.indexOf('/'))),
  );
  const text = remembering(read);
  const anchors = remembering((path) => anchorsOf(text(path)));
  const rules = remembering((path) => rulesOf(text(path)));
  const source = remembering((path) => parseSource(path, text(path)));
  const titles = remembering((path) => (path.startsWith('test/') ? titlesOf(source(path)) : []));

  const resolve = (from: string, path: string): string =>
    /^\.\.?\//.test(path) ? posix.join(posix.dirname(from), path) : posix.normalize(path);

  const passagesIn = (path: string): readonly Passage[] => {
    if (isPage(path)) return [{ path, start: 0, text: withoutTargets(withoutCode(text(path))) }];
    const named = titles(path).map(({ start, parts }) => ({ path, start, text: parts.join(' ') }));
    return [...commentPassages(path, text(path), source(path)), ...named];
  };

  function* numbers({ text: passage }: Passage, noun: string, page: string, prefix: string): Faults {
    for (const match of passage.matchAll(numbered(noun))) {
      for (const number of numbersIn(match.groups?.['several'] ?? match.groups?.['one'] ?? ''))
        if (!known.has(page) || !anchors(page).has(`${prefix}${number}`))
          yield [match.index, `${page} has no ${noun} ${number}`];
    }
  }

  function* mentionedFiles({ path, text: passage }: Passage): Faults {
    for (const { 1: named = '', 2: anchor, 3: rule, index } of passage.matchAll(filePath)) {
      const target = resolve(path, named);
      if (!known.has(target)) yield [index, `there is no file ${named}`];
      else if (anchor !== undefined && isPage(target) && !anchors(target).has(anchor))
        yield [index, `${named} has no anchor #${anchor}`];
      else if (rule !== undefined && !rules(target).has(Number(rule)))
        yield [index, `${named} has no rule ${rule}`];
    }
    for (const { 1: named = '', index } of passage.matchAll(folderPath)) {
      const isOurs = tops.has(named.slice(0, named.indexOf('/')));
      if (isOurs && !folders.has(posix.normalize(named).replace(/\/$/, '')))
        yield [index, `there is no folder ${named}`];
    }
  }

  function* pagesWithoutPath({ text: passage }: Passage): Faults {
    for (const { 1: named = '', index } of passage.matchAll(withoutPath))
      if (!known.has(named)) yield [index, `${named} is named without its path`];
    for (const { 0: named, index } of passage.matchAll(elsewhere))
      yield [index, `"${named}" names a page that is not in the repository`];
  }

  function* links({ path, text: passage }: Passage): Faults {
    for (const { 1: target = '', index } of passage.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z][a-z+.-]*:/i.test(target)) continue;
      const [named = '', anchor] = target.split('#');
      const page = named === '' ? path : posix.join(posix.dirname(path), named).replace(/\/$/, '');
      if (!known.has(page) && !folders.has(page)) yield [index, `the link to ${target} leads nowhere`];
      else if (anchor !== undefined && isPage(page) && !anchors(page).has(anchor))
        yield [index, `${page} has no anchor #${anchor}`];
    }
  }

  function* namedTests(entry: string, what: string): Faults {
    const tests = [...entry.matchAll(/Test:[*]*\s+`?(test\/[\w./-]+)`?\s+"([^"]+)"/g)];
    if (tests.length === 0) yield [0, `${what} names no test`];
    for (const { 1: path = '', 2: wrapped = '', index } of tests) {
      const named = wrapped.replaceAll(/\s+/g, ' ');
      // A file that is missing is found among the mentioned ones.
      if (!known.has(path)) continue;
      if (named.length < shortestName) yield [index, `"${named}" is too short to name a test`];
      else if (!titles(path).some((title) => fits(title, named)))
        yield [index, `${path} has no test "${named}"`];
    }
  }

  function* entries(page: string, prefix: string, noun: string): Iterable<Finding> {
    const all = text(page);
    const starts = [...all.matchAll(new RegExp(`<a id="${prefix}(\\d+)">`, 'g'))];
    for (const [place, { 1: number = '', index }] of starts.entries()) {
      const before = starts[place - 1]?.[1] ?? '0';
      const finding = (at: number, fault: string): Finding => ({
        path: page,
        line: lineOf(all, index + at),
        fault,
      });
      if (Number(number) <= Number(before))
        yield finding(0, `${noun} ${number} stands after ${noun} ${before}`);
      const entry = all.slice(index, starts[place + 1]?.index ?? all.length);
      for (const [at, fault] of namedTests(entry, `${noun} ${number}`)) yield finding(at, fault);
    }
  }

  const findings: Finding[] = [];
  for (const path of paths.filter((each) => isSource(each) || isPage(each))) {
    const all = text(path);
    const add = (start: number, faults: Faults): void => {
      for (const [at, fault] of faults) findings.push({ path, line: lineOf(all, start + at), fault });
    };
    for (const passage of passagesIn(path)) {
      add(passage.start, numbers(passage, 'decision', decisionsPage, 'd'));
      add(passage.start, numbers(passage, 'invariant', invariantsPage, 'i'));
      add(passage.start, mentionedFiles(passage));
      add(passage.start, pagesWithoutPath(passage));
    }
    if (isPage(path)) add(0, links({ path, start: 0, text: withoutCode(all) }));
  }
  if (known.has(decisionsPage)) findings.push(...entries(decisionsPage, 'd', 'decision'));
  if (known.has(invariantsPage)) findings.push(...entries(invariantsPage, 'i', 'invariant'));
  return findings.map(({ path, line, fault }) => `${path}:${line}: ${fault}`);
};
