import { expect } from 'chai';
import { existsSync, readFileSync } from 'node:fs';
import { settingNames } from '../bin/settings.js';

const at = (path: string): URL => new URL(`../../${path}`, import.meta.url);
const readme = readFileSync(at('README.md'), 'utf8');

describe('the README', () => {
  it('has every setting in its table', () => {
    const rows = readme.split('\n').filter((line) => line.startsWith('| `'));
    expect(settingNames.filter((name) => !rows.some((row) => row.includes(`\`${name}\``)))).to.deep.equal([]);
  });
  it('names files and scripts that are there', () => {
    const files = [
      ...readme.matchAll(/`((?:domain|application|projections|adapters|bin|test)\/[\w/.-]*)/g),
    ].map(([, path]) => path ?? '');
    expect(files.length).to.be.greaterThan(15);
    expect(files.filter((path) => !existsSync(at(path)))).to.deep.equal([]);
    const { scripts } = JSON.parse(readFileSync(at('package.json'), 'utf8')) as {
      readonly scripts: Readonly<Record<string, string>>;
    };
    const named = [...readme.matchAll(/npm run (?:-s )?(\w+)/g)].map(([, name]) => name ?? '');
    expect(named.filter((name) => !(name in scripts))).to.deep.equal([]);
  });
});
