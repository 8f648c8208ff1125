import { expect } from 'chai';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../time/eventually.js';
import { root, runTests, type Failure } from './run-mocha.js';

describe('a run of the tests', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'card-run-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const file = (name: string, text: string): string => {
    const path = join(folder, `${name}.test.cjs`);
    writeFileSync(path, text);
    return path;
  };
  const good = () =>
    file('good', `describe('good', () => { it('passes', () => {}); it('passes, too', () => {}); });`);
  const bad = () => file('bad', `describe('bad', () => it('fails', () => { throw new Error('always'); }));`);
  /** Fails until it has failed once. */
  const flaky = () =>
    file(
      'flaky',
      `const fs = require('node:fs');
       const seen = ${JSON.stringify(join(folder, 'seen'))};
       describe('flaky', () => it('fails once', () => {
         if (fs.existsSync(seen)) return;
         fs.writeFileSync(seen, '');
         throw new Error('once');
       }));`,
    );
  /** Works for a while. */
  const busy = () =>
    file(
      'busy',
      `describe('busy', () => it('works', () => {
         const until = process.cpuUsage().user + 300_000;
         while (process.cpuUsage().user < until);
       }));`,
    );
  const run = async (isIntegration: boolean, files: readonly string[], options: readonly string[] = []) => {
    // In one process: more of them would take most of the time.
    const found = await runTests({ files, options: ['--jobs=1', ...options], isShown: false }, isIntegration);
    const titles = (of: readonly Failure[]) => of.map(({ title, file: path }) => [title, path]);
    return [found.passed, found.failed, titles(found.failures), titles(found.flaky)];
  };

  it('counts and names the tests that failed', async () => {
    const files = [good(), flaky()];
    expect(await run(false, files)).to.deep.equal([2, 1, [['flaky fails once', files[1]]], []]);
  });

  it('names a test that failed over a position of the log, which no JSON holds', async () => {
    const position = file(
      'position',
      `describe('a position', () => it('differs', () => {
         throw Object.assign(new Error('another'), { actual: { position: 1n }, expected: undefined });
       }));`,
    );
    const found = await runTests(
      { files: [good(), position], options: ['--parallel', '--jobs=2'], isShown: false },
      false,
    );
    expect([found.passed, found.failures.map(({ title }) => title)]).to.deep.equal([
      2,
      ['a position differs'],
    ]);
  });

  it('on continuous integration calls a test flaky if it passes alone, and fails if it fails again', async () => {
    const files = [good(), bad(), flaky()];
    expect(await run(true, files)).to.deep.equal([
      3,
      1,
      [['bad fails', files[1]]],
      [['flaky fails once', files[2]]],
    ]);
  });

  it('passes options on to the first and the second run', async () => {
    const files = [flaky(), bad()];
    const counted = await run(true, files, ['--grep=once|too']);
    expect(counted).to.deep.equal([1, 0, [], [['flaky fails once', files[0]]]]);
  });

  it('kills a file that never ends, with what it has started, and runs the others', async () => {
    // It blocks its process, and with it mocha's time limits.
    const endless = file(
      'endless',
      `const { spawn } = require('node:child_process');
       const { writeFileSync } = require('node:fs');
       describe('endless', () => it('blocks', () => {
         const { pid } = spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'inherit' });
         writeFileSync(${JSON.stringify(join(folder, 'pid'))}, String(pid));
         for (;;);
       }));`,
    );
    const found = await runTests(
      { files: [endless, good()], options: ['--jobs=2'], isShown: false, endlessAfterMs: 2_000 },
      false,
    );
    expect([found.passed, found.failed]).to.deep.equal([2, 1]);
    const pid = Number(readFileSync(join(folder, 'pid'), 'utf8'));
    await eventually(() => expect(() => process.kill(pid, 0)).to.throw(/ESRCH/));
  });

  it('begins no test after the longest time for a run', async () => {
    const found = await runTests(
      { files: [good()], options: ['--jobs=1'], isShown: false, timeoutMs: 0 },
      false,
    );
    expect([found.passed, found.failed]).to.deep.equal([0, 1]);
    expect(found.failures[0]?.error).to.contain('All tests together took over 35 minutes');
  });

  it('tells what each file took', async () => {
    const files = [busy()];
    const { times } = await runTests({ files, options: ['--jobs=1'], isShown: false }, false);
    expect(times.map((taken) => taken.file)).to.deep.equal(files);
    expect(times[0]?.own).to.be.greaterThan(0.2);
    expect(times[0]?.elapsed).to.be.greaterThan(0.2);
  });
});

describe('npm test', () => {
  const program = join(root, 'dist/test/support/runner/run-tests.js');
  const start = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], {
      cwd: root,
      encoding: 'utf8',
    });
    return { status, last: stdout.trimEnd().split('\n').at(-1), stderr };
  };

  it('runs only the tests that are named', () => {
    const { status, last } = start(
      'test/engines',
      'test/support/runner/arguments.test.ts',
      '--dry-run',
      '--jobs=1',
    );
    expect(status).to.equal(0);
    expect(last).to.match(/^\d\d passed, 0 failed, \d skipped$/);
  });

  it('refuses an unknown argument with exit code 2', () => {
    const { status, last, stderr } = start('test/domains');
    expect([status, last]).to.deep.equal([2, '']);
    expect(stderr).to.match(/^There is no test\/domains\.\nUsage: npm test /);
  });
});
