import { expect } from 'chai';
import { existsSync, readFileSync, readdirSync } from 'node:fs';

const at = (path: string): URL => new URL(`../../${path}`, import.meta.url);
const read = (path: string): string => readFileSync(at(path), 'utf8');
const readme = read('README.md');

const pages = [
  'README.md',
  ...(existsSync(at('docs'))
    ? readdirSync(at('docs'))
        .filter((name) => name.endsWith('.md'))
        .map((name) => `docs/${name}`)
    : []),
];
const squeeze = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();

/** The code blocks of a page that are in the languages of the examples. */
const blocksOf = (page: string): readonly string[] =>
  [...read(page).matchAll(/```(?:js|py)\n([^]*?)```/g)].map(([, block]) => block ?? '');

describe('the README', () => {
  it('has at most 120 lines', () => {
    expect(readme.split('\n').length).to.be.at.most(121);
  });
  it('names files and scripts that exist', () => {
    const paths = /(?:`|\]\()((?:docs|examples|domain|application|projections|adapters|bin|test)\/[\w/.-]*)/g;
    const files = [...readme.matchAll(paths)].map(([, path]) => path ?? '');
    expect(files.length).to.be.greaterThan(15);
    expect(files.filter((path) => !existsSync(at(path)))).to.deep.equal([]);
    const { scripts } = JSON.parse(read('package.json')) as {
      readonly scripts: Readonly<Record<string, string>>;
    };
    const named = [...readme.matchAll(/npm run (?:-s )?(\w+)/g)].map(([, name]) => name ?? '');
    expect(named.filter((name) => !(name in scripts))).to.deep.equal([]);
  });
  it('and the pages of docs show only code from the examples, which are tested', () => {
    const examples = readdirSync(at('examples'), { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => squeeze(read(`examples/${name}`)));
    const strangers = pages.flatMap((page) =>
      blocksOf(page)
        .filter((block) => !examples.some((example) => example.includes(squeeze(block))))
        .map((block) => `${page}: ${block}`),
    );
    expect(blocksOf('README.md')).to.have.length(1);
    expect(strangers).to.deep.equal([]);
  });
});
