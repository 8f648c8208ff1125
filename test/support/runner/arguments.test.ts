import { expect } from 'chai';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { readArguments, WrongArguments } from './arguments.js';

describe('the arguments of npm test', () => {
  let root: string;
  before(() => {
    root = mkdtempSync(join(tmpdir(), 'card-arguments-'));
    const tests = ['domain/card', 'domain/cards/pen', 'http/cards', 'bin/serve', 'faults/rabbitmq', 'readme'];
    const sources = [
      ...tests.map((name) => `test/${name}.test.ts`),
      'test/support/ports.ts',
      'domain/card.ts',
    ];
    const output = sources.map((source) => `dist/${source.replace('.ts', '.js')}`);
    for (const path of [...sources, ...output]) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), '');
    }
  });
  after(() => rmSync(root, { recursive: true, force: true }));

  const read = (...args: readonly string[]) => readArguments(args, root);
  const refusal = (...args: readonly string[]): string => {
    try {
      readArguments(args, root);
    } catch (error) {
      if (error instanceof WrongArguments) return error.message.split('\n')[0] ?? '';
      throw error;
    }
    return 'taken';
  };
  const all = [
    'dist/test/faults/rabbitmq.test.js',
    'dist/test/bin/serve.test.js',
    'dist/test/domain/card.test.js',
    'dist/test/domain/cards/pen.test.js',
    'dist/test/http/cards.test.js',
    'dist/test/readme.test.js',
  ];
  const domain = all.slice(2, 4);

  it('run every test if there are none, starting with those that take long', () => {
    expect(read()).to.deep.equal({ files: all, isWhole: true, times: false, thorough: false, options: [] });
  });

  it('run exactly the tests below a folder that they name', () => {
    for (const folder of [
      'test/domain',
      'test/domain/',
      './test/domain',
      join(root, 'test/domain'),
      'dist/test/domain',
    ])
      expect(read(folder), folder).to.deep.equal({
        files: domain,
        isWhole: false,
        times: false,
        thorough: false,
        options: [],
      });
    expect(read('test').files).to.deep.equal(all);
    expect(read('.').files).to.deep.equal(all);
  });

  it('may name a file by its source or by its output', () => {
    for (const file of ['test/domain/card.test.ts', 'dist/test/domain/card.test.js'])
      expect(read(file).files, file).to.deep.equal(['dist/test/domain/card.test.js']);
  });

  it('run each test once if they name several files and folders', () => {
    expect(read('test/domain', 'test/readme.test.ts', 'test/domain/card.test.ts').files).to.deep.equal([
      ...domain,
      'dist/test/readme.test.js',
    ]);
  });

  it('are relative to the folder where the command was given', () => {
    expect(readArguments(['domain'], root, join(root, 'test')).files).to.deep.equal(domain);
  });

  it('are passed on if they are options of mocha, in any place', () => {
    expect(read('--grep', 'arrival window')).to.deep.equal({
      files: all,
      isWhole: false,
      times: false,
      thorough: false,
      options: ['--grep=arrival window'],
    });
    expect(read('-b', 'test/domain', '-g', 'a', '--timeout=5000')).to.deep.equal({
      files: domain,
      isWhole: false,
      times: false,
      thorough: false,
      options: ['--bail', '--grep=a', '--timeout=5000'],
    });
  });

  it('may ask what each file takes, of a whole run and of a part', () => {
    expect(read('--times')).to.deep.equal({
      files: all,
      isWhole: true,
      times: true,
      thorough: false,
      options: [],
    });
    expect(read('test/domain', '--times')).to.deep.equal({
      files: domain,
      isWhole: false,
      times: true,
      thorough: false,
      options: [],
    });
  });

  it('are refused if there is no such file or folder', () => {
    expect(refusal('test/nothing')).to.equal('There is no test/nothing.');
    expect(refusal('test/domain', 'test/domain/nothing.test.ts')).to.equal(
      'There is no test/domain/nothing.test.ts.',
    );
    expect(refusal('http')).to.equal('There is no http. Did you mean test/http?');
  });

  it('are refused if there are no tests in it', () => {
    const why = 'tests are files named *.test.ts in the folder test.';
    expect(refusal('domain')).to.equal(`There are no tests in domain: ${why} Did you mean test/domain?`);
    expect(refusal('test/support')).to.equal(`There are no tests in test/support: ${why}`);
    expect(refusal('test/support/ports.ts')).to.equal(`There are no tests in test/support/ports.ts: ${why}`);
    expect(refusal('../')).to.equal(`There are no tests in ../: ${why}`);
  });

  it('are refused if mocha has no such option or npm test sets it itself', () => {
    for (const option of ['--nonsense', '--reporter', '-x'])
      expect(refusal(option)).to.equal(`Unknown option '${option}'.`);
    expect(refusal('--grep')).to.match(/argument missing/);
    expect(refusal('--bail=1')).to.match(/does not take an argument/);
  });
});
