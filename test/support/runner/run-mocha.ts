import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import {
  deadlineVariable,
  fileTimeoutMs,
  runTimeoutMs,
  progressVariable,
  readTimes,
  underWay,
  type FileTimes,
} from './progress.js';

/** How long mocha may take to end after its last test. What is open then is a leak. */
const graceMs = 20_000;

/** If no file has been under way for so long, mocha itself never ends. */
const idleMs = 5 * 60_000;

/** A file that has not ended by then never will: a test that blocks its process has no time limit. */
const endlessMs = fileTimeoutMs + 5 * 60_000;

/**
 * Files that run at a time. More than two processors: half of the tests wait for servers most of their time.
 */
const lanes = 3;

export const root = fileURLToPath(new URL('../../../../', import.meta.url));
export const tool = (path: string): string => join(root, 'node_modules', path);

const Failure = z.object({ title: z.string(), file: z.string(), error: z.string() });
export type Failure = z.infer<typeof Failure>;

const Results = z.object({
  passed: z.int(),
  failed: z.int(),
  skipped: z.int(),
  skippedFor: z.record(z.string(), z.array(z.string())),
  failures: z.array(Failure),
});

export type Results = z.infer<typeof Results> & {
  /** Tests that failed while others ran, and passed alone. */
  readonly flaky: readonly Failure[];
  /** What each file took. */
  readonly times: readonly FileTimes[];
};

export const nothingRun: Results = {
  passed: 0,
  failed: 0,
  skipped: 0,
  skippedFor: {},
  failures: [],
  flaky: [],
  times: [],
};

export interface MochaRun {
  /** Compiled test files, relative to the root or absolute. */
  readonly files: readonly string[];
  /** Options for mocha. */
  readonly options?: readonly string[];
  /** Variables for mocha's process in addition to this one's environment. */
  readonly variables?: Readonly<Record<string, string>>;
  /** Appended to the names of suites. */
  readonly where?: string;
  /** Whether its output is shown. */
  readonly isShown?: boolean;
  /** After how long a file's process is killed. */
  readonly endlessAfterMs?: number;
  /** After how long no test begins any more. */
  readonly timeoutMs?: number;
}

const has = (options: readonly string[], name: string): boolean =>
  options.some((option) => option === `--${name}` || option.startsWith(`--${name}=`));

/** The default options of a run, except those that the given ones replace. */
const usualOptions = (files: readonly string[], given: readonly string[]): string[] => [
  ...(files.length > 1 && !has(given, 'parallel') ? ['--parallel'] : []),
  ...(files.length > 1 && !has(given, 'jobs') ? [`--jobs=${lanes}`] : []),
];

/** Kills a process, or a group of them, unless it has ended. */
const kill = (pid: number): void => {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
};

/**
 * Runs mocha in processes of its own, several files at a time. A run that ends without results, or never
 * ends, is one failure.
 */
const runMocha = async ({
  files,
  options = [],
  variables = {},
  where = '',
  isShown = true,
  endlessAfterMs = endlessMs,
  timeoutMs = runTimeoutMs,
}: MochaRun): Promise<Results> => {
  const folder = mkdtempSync(join(tmpdir(), 'card-tests-'));
  const output = join(folder, 'results.json');
  const read = (): Results | null =>
    existsSync(output)
      ? { ...Results.parse(JSON.parse(readFileSync(output, 'utf8'))), flaky: [], times: readTimes(progress) }
      : null;
  const progress = join(folder, 'progress.jsonl');
  writeFileSync(progress, '');
  const environment = {
    ...process.env,
    ...variables,
    [progressVariable]: progress,
    [deadlineVariable]: String(Date.now() + timeoutMs),
  };
  const reporter = [
    '--reporter=dist/test/support/runner/reporter.js',
    `--reporter-option=output=${output},where=${where}`,
  ];
  const usual = [
    ...usualOptions(files, options),
    `--require=${join(root, 'dist/test/support/runner/progress.js')}`,
  ];
  const shown = isShown ? 'inherit' : 'ignore';
  const child = spawn(
    process.execPath,
    [tool('mocha/bin/mocha.js'), ...reporter, ...usual, ...options, ...files],
    // A group of its own: whatever tests have left behind ends with them.
    { cwd: root, stdio: ['ignore', shown, shown], env: environment, detached: true },
  );
  const group = -(child.pid ?? 0);
  const interrupt = (signal: NodeJS.Signals): void => void child.kill(signal);
  process.on('SIGTERM', interrupt).on('SIGINT', interrupt);
  const ended = new Promise<number>((done, fail) => {
    child.once('error', fail);
    child.once('close', (code) => done(code ?? 1));
  });
  const stopped = new AbortController();
  const killed = new Set<number>();
  const killEndless = (): void => {
    for (const { file, pid, at } of underWay(progress)) {
      if (killed.has(pid) || Date.now() < at + endlessAfterMs) continue;
      console.log(
        `\n  ✘ ${relative(root, file)} did not end within ${endlessAfterMs / 1000} s. It was killed.`,
      );
      killed.add(pid);
      kill(pid);
    }
  };
  const isIdle = (): boolean =>
    underWay(progress).length === 0 && Date.now() > statSync(progress).mtimeMs + idleMs;
  const watch = async (): Promise<void> => {
    while (!existsSync(output)) {
      await pause(200, undefined, { signal: stopped.signal });
      killEndless();
      if (!isIdle()) continue;
      console.log(`\n  ✘ No file was under way for ${idleMs / 60_000} minutes. Mocha was killed.`);
      return kill(group);
    }
    await pause(graceMs, undefined, { signal: stopped.signal });
    console.log(
      `\n  ✘ The tests ended, their process did not: something is still open (a server, a timer, a subscription). It was killed after ${graceMs / 1000} s.`,
    );
    kill(group);
  };
  const watching = watch().catch((error: unknown) => {
    if (!stopped.signal.aborted) throw error;
  });
  try {
    const code = await ended;
    const results = read();
    if (results === null) console.log(`\n  ✘ mocha ended with exit code ${code} before its last test.`);
    const known = results ?? nothingRun;
    return code === 0 || known.failed > 0 ? known : { ...known, failed: 1 };
  } finally {
    process.off('SIGTERM', interrupt).off('SIGINT', interrupt);
    stopped.abort();
    await watching;
    kill(group);
    rmSync(folder, { recursive: true, force: true });
  }
};

/** If more files than this fail, it is not because the machine stalled. */
const maxDoubtful = 5;

/**
 * Runs mocha. On continuous integration, whose machines may stall for seconds, runs the files with failures
 * once more, one at a time. A test that fails again has failed; one that passes has passed and is called
 * flaky.
 */
export const runTests = async (
  run: MochaRun,
  isIntegration = (process.env['CI'] ?? '') !== '',
): Promise<Results> => {
  const first = await runMocha(run);
  const files = [...new Set(first.failures.map(({ file }) => file))];
  const isDoubtful = files.length > 0 && files.length <= maxDoubtful && files.every((file) => file !== '');
  if (!isIntegration || !isDoubtful) return first;
  if (run.isShown !== false) console.log(`\n${first.failed} failed: running their files again, alone`);
  let repeated = nothingRun;
  for (const file of files) repeated = sumOf([repeated, await runMocha({ ...run, files: [file] })]);
  // Tests that ran beside others are named without the wiring.
  const { where } = run;
  const plain = (title: string): string => (where === undefined ? title : title.replace(`, ${where}`, ''));
  const failedAgain = new Set(repeated.failures.map(({ title }) => plain(title)));
  return {
    ...first,
    passed: first.passed + Math.max(0, first.failed - repeated.failed),
    failed: repeated.failed,
    failures: repeated.failures,
    flaky: first.failures.filter(({ title }) => !failedAgain.has(plain(title))),
  };
};

export const sumOf = (runs: readonly Results[]): Results => {
  const skippedFor: Record<string, string[]> = {};
  for (const run of runs)
    for (const [variables, suites] of Object.entries(run.skippedFor))
      (skippedFor[variables] ??= []).push(...suites);
  const sum = (of: (run: Results) => number): number => runs.reduce((total, run) => total + of(run), 0);
  return {
    passed: sum((run) => run.passed),
    failed: sum((run) => run.failed),
    skipped: sum((run) => run.skipped),
    skippedFor,
    failures: runs.flatMap((run) => run.failures),
    flaky: runs.flatMap((run) => run.flaky),
    times: runs.flatMap((run) => run.times),
  };
};
