import { expect } from 'chai';
import { files, read } from '../../support/runner/repository.js';

const below = (pattern: RegExp): readonly string[] =>
  files.filter((path) => path.startsWith('adapters/http/') && pattern.test(path)).map(read);

const words = (text: string): readonly string[] => text.match(/[a-z][\w-]*/g) ?? [];

/** The classes that the style sheets speak of. */
const styled = (): ReadonlySet<string> => {
  const sheets = below(/\.css$/)
    .join('\n')
    .replaceAll(/\/\*[^]*?\*\//g, '');
  const selectors = sheets.replaceAll(/\{[^{}]*\}/g, '{}');
  return new Set([...selectors.matchAll(/\.([a-z][\w-]*)/g)].map(([, name = '']) => name));
};

/** The classes that pages give to elements, as far as they stand there in words. */
const given = (): ReadonlySet<string> => {
  const texts = below(/\.tsx$/);
  const plain = texts.flatMap((text) =>
    [...text.matchAll(/\bclass="([^"]*)"/g)].map(([, names = '']) => names),
  );
  const computed = texts.flatMap((text) =>
    [...text.matchAll(/\bclass=\{([^}]*)\}/g)].flatMap(([, code = '']) =>
      [...code.matchAll(/['`]([^'`$]*)/g)].map(([, names = '']) => names),
    ),
  );
  return new Set([...plain, ...computed].flatMap(words));
};

describe('the classes of pages', () => {
  it('are those of the style sheets, or what a script of a page looks for', () => {
    const scripts = below(/\/browser\/.*\.ts$/).join('\n');
    const known = styled();
    const unknown = [...given()].filter((name) => !known.has(name) && !scripts.includes(`'.${name}'`));
    expect(unknown).to.deep.equal([]);
  });

  it('are all used: the style sheets have no others', () => {
    const used = new Set(
      words([...below(/\.tsx?$/), read('domain/letter-layout.ts')].join('\n').toLowerCase()),
    );
    expect([...styled()].filter((name) => !used.has(name))).to.deep.equal([]);
  });
});
