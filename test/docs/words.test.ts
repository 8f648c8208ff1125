import { expect } from 'chai';
import { files, parseSource, property, read } from '../support/runner/repository.js';

const isProduct = (path: string): boolean =>
  /^(?:domain|projections|application|adapters|bin)\/.*\.(?:tsx?|mjs)$/.test(path);
const isCore = (path: string): boolean => /^(?:domain|projections|application)\//.test(path);
const isPage = (path: string): boolean =>
  /^(?:docs\/.*|README|CONTRIBUTING|CHANGELOG|SECURITY)\.md$/.test(path);

const product = files.filter(isProduct);
const pages = files.filter(isPage);

const vague = /\b(?:nobody|somebody|whoever|everybody|one[’']s)\b/gi;
/** `--begin-anew` is an option of the command line. */
const anew = /(?<!begin-)\banew\b/gi;
/** The first sentence of a comment about a declaration: it names the thing, or begins with its verb. */
const headless = /^\*\s*(?:\*\s*)?(?:What|Who|Whose|Whoever|Those|That)\b/;
const limit = /^#?(?:most|longest|largest)[A-Z]/;

const withoutCode = (page: string): string => page.replaceAll(/^```[^]*?^```/gm, '');
const wordsOf = (path: string, text: string): string =>
  path.endsWith('.md')
    ? withoutCode(text)
    : parseSource(path, text)
        .comments.map(({ value }) => value)
        .join('\n');
const found = (paths: readonly string[], text: (path: string) => string, words: RegExp): string[] =>
  paths.flatMap((path) => (text(path).match(words) ?? []).map((word) => `${path}: ${word.toLowerCase()}`));

const namesOf = (path: string, text: string): ReadonlySet<string> => {
  const names = new Set<string>();
  parseSource(path, text).walk((node) => {
    if (/^(?:Private|JSX)?Identifier$/.test(String(node['type']))) names.add(String(node['name']));
  });
  return names;
};

const typesOf = (path: string, text: string): ReadonlySet<string> => {
  const names = new Set<string>();
  parseSource(path, text).walk((node) => {
    if (/^(?:TSTypeAlias|TSInterface|TSEnum|Class)Declaration$/.test(String(node['type'])))
      names.add(String(property(node['id'], 'name')));
  });
  return names;
};

const namedTwice = (sources: readonly (readonly [path: string, text: string])[]): string[] => {
  const places = new Map<string, string[]>();
  for (const [path, text] of sources)
    for (const name of typesOf(path, text)) places.set(name, [...(places.get(name) ?? []), path]);
  return [...places].flatMap(([name, paths]) => (paths.length > 1 ? [`${name}: ${paths.join(', ')}`] : []));
};

describe('the words of the repository', () => {
  it('name the caller, the process or the client, in comments and pages', () => {
    expect([product.length > 400, pages.length > 10]).to.deep.equal([true, true]);
    const text = (path: string) => wordsOf(path, read(path));
    expect(found([...product, ...pages], text, vague)).to.deep.equal([]);
    const made: Record<string, string> = {
      'domain/x.ts': '/** Nobody waits. */\nconst somebody = "whoever"; // One’s own.',
      'docs/x.md': 'Everybody\n```sh\nnobody\n```\n',
    };
    expect(found(Object.keys(made), (path) => wordsOf(path, made[path] ?? ''), vague)).to.deep.equal([
      'domain/x.ts: nobody',
      'domain/x.ts: one’s',
      'docs/x.md: everybody',
    ]);
  });

  it('begin a comment about a declaration with the thing that it names, or its verb', () => {
    const faults = (path: string, text: string) =>
      parseSource(path, text).comments.flatMap(({ value }) =>
        headless.test(value) ? [`${path}: ${value.trim()}`] : [],
      );
    expect(product.flatMap((path) => faults(path, read(path)))).to.deep.equal([]);
    const made =
      '/** What is kept. */\n/**\n * Those of an owner. */\n/** The kept ones. */\n// What follows.';
    expect(faults('domain/x.ts', made)).to.have.length(2);
  });

  it('are “again” and “rebuilt” where they could be “anew”', () => {
    expect(found([...product, ...pages], read, anew)).to.deep.equal([]);
    expect('Built anew, or Anew; log accept-restore --begin-anew'.match(anew)).to.deep.equal([
      'anew',
      'Anew',
    ]);
  });

  it('name a limit max…', () => {
    const limits = (path: string, text: string) =>
      [...namesOf(path, text)].filter((name) => limit.test(name)).map((name) => `${path}: ${name}`);
    expect(product.flatMap((path) => limits(path, read(path)))).to.deep.equal([]);
    const made = 'const mostRows = 1; class A { #largestPage = { longestLine: 1, almostAll: 2 } }';
    expect(limits('domain/x.ts', made)).to.deep.equal([
      'domain/x.ts: mostRows',
      'domain/x.ts: largestPage',
      'domain/x.ts: longestLine',
    ]);
  });

  it('name one type of the core each', () => {
    const core = files.filter((path) => isCore(path) && path.endsWith('.ts'));
    expect(core.length).to.be.greaterThan(150);
    expect(namedTwice(core.map((path) => [path, read(path)]))).to.deep.equal([]);
    expect(
      namedTwice([
        ['domain/a.ts', 'export type A = 1; interface B {} class C {}'],
        ['domain/b.ts', 'type C = 1; export interface A {} const B = 1;'],
      ]),
    ).to.deep.equal(['A: domain/a.ts, domain/b.ts', 'C: domain/a.ts, domain/b.ts']);
  });
});
