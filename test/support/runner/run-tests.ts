import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, relative, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { wiringVariable } from './wiring-variable.js';

/** How long mocha may take to end after its last test. What is open then is a leak. */
const graceMs = 20_000;
/** How long an engine may take to start. */
const longestStartMs = 90_000;

const root = fileURLToPath(new URL('../../../../', import.meta.url));
const tool = (path: string): string => join(root, 'node_modules', path);

const Results = z.object({
  passed: z.int(),
  failed: z.int(),
  skipped: z.int(),
  skippedFor: z.record(z.string(), z.array(z.string())),
  failures: z.array(z.object({ title: z.string(), file: z.string(), error: z.string() })),
});
type Results = z.infer<typeof Results>;

interface MochaRun {
  /** What mocha's process gets beside this one's environment. */
  readonly variables?: Readonly<Record<string, string>>;
  /** Written behind the names of suites. */
  readonly where?: string;
  /** How long a test may take, where that is not mocha's own setting. */
  readonly timeoutMs?: number;
}

const checks = [
  {
    name: 'format',
    repair: 'npm run format',
    args: [
      tool('prettier/bin/prettier.cjs'),
      '--check',
      '--cache',
      '--cache-strategy',
      'content',
      '--log-level',
      'warn',
      '.',
    ],
  },
  {
    name: 'lint',
    repair: 'see the rule named above',
    args: [tool('oxlint/bin/oxlint'), '--type-aware', '--deny-warnings'],
  },
  {
    name: 'unused code',
    repair: 'delete what nothing uses',
    args: [tool('knip/bin/knip.js'), '--no-progress'],
  },
];

/** Runs one static check; its output is shown only where it fails. */
const passes = ({ name, repair, args }: (typeof checks)[number]): Promise<boolean> =>
  new Promise((done, fail) => {
    const started = performance.now();
    const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
    const output: Buffer[] = [];
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => output.push(chunk));
    child.once('error', fail);
    child.once('close', (code) => {
      const seconds = ((performance.now() - started) / 1000).toFixed(1);
      if (code === 0) console.log(`  ✔ ${name} (${seconds} s)`);
      else
        console.log(
          `  ✘ ${name} (${seconds} s): ${repair}\n\n${Buffer.concat(output).toString().trimEnd()}\n`,
        );
      done(code === 0);
    });
  });

/** A test file by its source's path or by its output's path. */
const compiled = (argument: string): string => {
  const path = relative(root, resolve(argument));
  return existsSync(argument) && path.endsWith('.ts') ? join('dist', path.replace(/\.ts$/, '.js')) : argument;
};

/**
 * Files that run at a time. More than two processors: half of the tests wait for servers most of their time.
 */
const lanes = 3;

/** Folders with tests that take long come first, so that the others fill the time beside them. */
const longFirst = ['faults', 'crash', 'bin'];

const allFiles = (): readonly string[] => {
  const rank = (file: string): number =>
    longFirst.findIndex((folder) => file.startsWith(`${folder}/`)) + 1 || longFirst.length + 1;
  const files = readdirSync(join(root, 'dist/test'), { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.test.js'),
  );
  return files
    .toSorted((a, b) => rank(a) - rank(b) || a.localeCompare(b))
    .map((file) => join('dist/test', file));
};

const namesFile = (argument: string): boolean =>
  argument.endsWith('.js') && (argument.includes('*') || existsSync(resolve(root, argument)));

const nothingRun: Results = { passed: 0, failed: 0, skipped: 0, skippedFor: {}, failures: [] };

/**
 * Runs mocha in processes of its own, several files at a time where everything is run. A run that ends
 * without results, or never ends, is one failure.
 */
const runMocha = async (
  args: readonly string[],
  { variables = {}, where = '', timeoutMs }: MochaRun,
): Promise<Results> => {
  const folder = mkdtempSync(join(tmpdir(), 'card-tests-'));
  const output = join(folder, 'results.json');
  const read = (): Results | null =>
    existsSync(output) ? Results.parse(JSON.parse(readFileSync(output, 'utf8'))) : null;
  const specs = args.some(namesFile) ? [] : allFiles();
  const inLanes = args.length === 0 ? ['--parallel', '--jobs', String(lanes)] : [];
  const patience = timeoutMs === undefined ? [] : ['--timeout', String(timeoutMs)];
  const reporter = [
    '--reporter',
    'dist/test/support/runner/reporter.js',
    '--reporter-option',
    `output=${output},where=${where}`,
  ];
  const child = spawn(
    process.execPath,
    [tool('mocha/bin/mocha.js'), ...reporter, ...inLanes, ...patience, ...args, ...specs],
    {
      cwd: root,
      stdio: 'inherit',
      env: { ...process.env, ...variables },
    },
  );
  const interrupt = (signal: NodeJS.Signals): void => void child.kill(signal);
  process.on('SIGTERM', interrupt).on('SIGINT', interrupt);
  const ended = new Promise<number>((done, fail) => {
    child.once('error', fail);
    child.once('close', (code) => done(code ?? 1));
  });
  const stopped = new AbortController();
  const watch = async (): Promise<void> => {
    while (!existsSync(output)) await pause(200, undefined, { signal: stopped.signal });
    await pause(graceMs, undefined, { signal: stopped.signal });
    console.log(
      `\n  ✘ The tests ended, their process did not: something is still open (a server, a timer, a subscription). It was killed after ${graceMs / 1000} s.`,
    );
    child.kill('SIGKILL');
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
    stopped.abort();
    await watching;
    rmSync(folder, { recursive: true, force: true });
  }
};

/** More files than this do not fail because the machine stalled. */
const mostDoubtful = 5;

/**
 * Runs mocha; where something failed on continuous integration, whose machines may stall for seconds, its
 * files once more with nothing beside them. What fails again has failed; what does not is named and has
 * passed.
 */
const runPatiently = async (args: readonly string[], run: MochaRun = {}): Promise<Results> => {
  const first = await runMocha(args, run);
  const files = [...new Set(first.failures.map(({ file }) => file))];
  const isDoubtful = files.length > 0 && files.length <= mostDoubtful && files.every((file) => file !== '');
  if ((process.env['CI'] ?? '') === '' || !isDoubtful) return first;
  printFailures('Failed once, and run again with nothing beside it', first.failures);
  const second = await runMocha(files, run);
  const passed = first.passed + Math.max(0, first.failed - second.failed);
  return { ...first, passed, failed: second.failed, failures: second.failures };
};

const printFailures = (heading: string, failures: Results['failures']): void => {
  if (failures.length === 0) return;
  console.log(`\n${heading}:`);
  for (const { title, file, error } of failures)
    console.log(`\n  ✘ ${title} (${relative(root, file)})\n${error.trimEnd().replaceAll(/^/gm, '      ')}\n`);
};

const printSkipped = (skippedFor: Results['skippedFor']): void => {
  const entries = Object.entries(skippedFor);
  if (entries.length === 0) return;
  console.log('Skipped, because no engine was named:');
  for (const [variables, suites] of entries) console.log(`  set ${variables} to run: ${suites.join('; ')}`);
};

const onPath = (program: string): boolean =>
  (process.env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, program)));

const startable = [
  { name: 'rabbitmq', variable: 'RABBITMQ_URL', isInstalled: () => existsSync('/usr/sbin/rabbitmq-server') },
  { name: 'mongodb', variable: 'MONGODB_URL', isInstalled: () => onPath('javac') && onPath('mvn') },
] as const;

/**
 * Starts an engine that is installed here and that no variable names, and puts its URL into the variable.
 * Null: there is none to be stopped.
 */
const startEngine = async ({
  name,
  variable,
  isInstalled,
}: (typeof startable)[number]): Promise<(() => Promise<void>) | null> => {
  if ((process.env[variable] ?? '') !== '' || !isInstalled()) return null;
  const child = spawn(join(root, 'test/engines/start'), [name], {
    stdio: ['ignore', 'pipe', 'ignore'],
    detached: true,
  });
  process.once('exit', () => child.kill('SIGTERM'));
  const ended = new Promise<void>((done) => child.once('close', () => done()).once('error', () => done()));
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await ended;
  };
  const found = new Promise<string>((done) =>
    child.stdout.once('data', (chunk: Buffer) => done(chunk.toString().split('\n')[0] ?? '')),
  );
  const url = await Promise.race([found, ended.then(() => ''), pause(longestStartMs, '', { ref: false })]);
  if (url === '') {
    console.log(
      `  ${name} is installed and does not start: its suites are skipped (test/engines/start ${name} tells why)`,
    );
    await stop();
    return null;
  }
  process.env[variable] = url;
  return stop;
};

/** What every engine of the distributed deployment needs: the stand-in plays the event store. */
const forDistribution = ['MONGODB_URL', 'RABBITMQ_URL'] as const;

/** The tests over HTTP once more, on servers. */
const runDistributed = async (): Promise<Results> => {
  const missing = forDistribution.filter((variable) => (process.env[variable] ?? '') === '');
  const title = 'all tests over HTTP on the distributed wiring';
  if (missing.length > 0) return { ...nothingRun, skipped: 1, skippedFor: { [missing.join(', ')]: [title] } };
  return runPatiently(['--parallel', '--jobs', String(lanes), 'dist/test/http/**/*.test.js'], {
    variables: { [wiringVariable]: 'distributed' },
    where: 'on the distributed wiring',
    timeoutMs: 90_000,
  });
};

const runChecks = async (): Promise<readonly boolean[]> => {
  console.log('\n  static checks');
  const passed: boolean[] = [];
  for (const check of checks) passed.push(await passes(check));
  return passed;
};

const sum = (runs: readonly Results[], of: (run: Results) => number): number =>
  runs.reduce((total, run) => total + of(run), 0);

/**
 * `npm test`: the static checks (counted as one test each) and every test, with the engines that are
 * installed here; with arguments, mocha alone with these arguments.
 */
const main = async (args: readonly string[]): Promise<void> => {
  const isWhole = args.length === 0;
  const starting = isWhole ? startable.map(startEngine) : [];
  const checked = isWhole ? await runChecks() : [];
  const engines = await Promise.all(starting);
  try {
    const runs = [await runPatiently(args.map(compiled))];
    if (isWhole) runs.push(await runDistributed());
    const passed = sum(runs, (run) => run.passed) + checked.filter((ok) => ok).length;
    const failed = sum(runs, (run) => run.failed) + checked.filter((ok) => !ok).length;
    const skippedFor: Record<string, string[]> = {};
    for (const run of runs)
      for (const [variables, suites] of Object.entries(run.skippedFor))
        (skippedFor[variables] ??= []).push(...suites);
    printSkipped(skippedFor);
    printFailures(
      'Failed',
      runs.flatMap((run) => run.failures),
    );
    console.log(`${passed} passed, ${failed} failed, ${sum(runs, (run) => run.skipped)} skipped`);
    process.exitCode = failed === 0 ? 0 : 1;
  } finally {
    for (const stop of engines) await stop?.();
  }
};

await main(process.argv.slice(2));
