import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join, relative, sep } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import {
  effortVariable,
  isIntegration,
  isThorough,
  sampleNumber,
  sampleOf,
  sampleVariable,
} from './effort.js';
import { readArguments, WrongArguments, type Asked } from './arguments.js';
import { longFiles, longFilesDrawn } from './long-files.js';
import { nothingRun, root, runTests, sumOf, tool, type Failure, type Results } from './run-mocha.js';
import { wiringVariable } from './wiring-variable.js';

/** The exit code for arguments that mean nothing. */
const wrongUsage = 2;
/** How long an engine may take to start. */
const startTimeoutMs = 90_000;

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

/** Runs one static check; its output is shown only if it fails. */
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

const printFailures = (heading: string, failures: readonly Failure[]): void => {
  if (failures.length === 0) return;
  console.log(`\n${heading}:`);
  for (const { title, file, error } of failures)
    console.log(`\n  ✘ ${title} (${relative(root, file)})\n${error.trimEnd().replaceAll(/^/gm, '      ')}\n`);
};

const printSkipped = (skippedFor: Results['skippedFor']): void => {
  const entries = Object.entries(skippedFor);
  if (entries.length === 0) return;
  console.log('Skipped, because something is not here or was not named:');
  for (const [variables, suites] of entries) {
    const why = variables === '' ? 'not for this machine or wiring' : `set ${variables} to run`;
    console.log(`  ${why}: ${suites.join('; ')}`);
  }
};

const onPath = (program: string): boolean =>
  (process.env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, program)));

const startable = [
  { name: 'rabbitmq', variable: 'RABBITMQ_URL', isInstalled: () => existsSync('/usr/sbin/rabbitmq-server') },
  { name: 'mongodb', variable: 'MONGODB_URL', isInstalled: () => onPath('javac') && onPath('mvn') },
] as const;

/**
 * Starts an engine that is installed here and whose variable is not set, and puts its URL into the variable:
 * an empty one asks for no engine. Null if there is none to stop.
 */
const startEngine = async ({
  name,
  variable,
  isInstalled,
}: (typeof startable)[number]): Promise<(() => Promise<void>) | null> => {
  if (process.env[variable] !== undefined || !isInstalled()) return null;
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
  const url = await Promise.race([found, ended.then(() => ''), pause(startTimeoutMs, '', { ref: false })]);
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

/** What the distributed wiring needs: if EVENTSTORE_URL names no server, a stand-in replaces it. */
const forDistribution = ['MONGODB_URL', 'RABBITMQ_URL'] as const;

/** Tests over HTTP that would show the same on servers as on files. */
const sameOnServers = [
  // What asks no store: the documentation's pages, the shape of a request, its limits, and who may call.
  'card-fields',
  'docs/every-page',
  'docs/in-a-browser',
  'edge',
  'fields',
  'ignored-names',
  'limits',
  'matrix',
  'own-host',
].map((name) => join('dist/test/http', `${name}.test.js`));

const long = new Set(longFiles.map((name) => join('dist/test', `${name}.test.js`)));

/** It takes minutes: only a run of everything has it on servers, too. */
const pulse = join('dist/test/http/pulse.test.js');

/** How many files with tests over HTTP a run repeats on servers: continuous integration has half an hour. */
const usuallyOnServers = isIntegration() ? 10 : 8;

/** Whether nothing is left out. */
const isEverythingWanted = (): boolean => process.env[effortVariable] === 'thorough';

/** The other tests over HTTP once more, on servers: a sample, or all if a thorough run is asked for. */
const runDistributed = async (all: readonly string[]): Promise<Results> => {
  const missing = forDistribution.filter((variable) => (process.env[variable] ?? '') === '');
  const title = 'the tests over HTTP on the distributed wiring';
  if (missing.length > 0) return { ...nothingRun, skipped: 1, skippedFor: { [missing.join(', ')]: [title] } };
  const files = all.filter(
    (file) =>
      file.startsWith(join('dist/test/http') + sep) &&
      !sameOnServers.includes(file) &&
      (isThorough() || !long.has(file)) &&
      (isEverythingWanted() || file !== pulse),
  );
  const results = await runTests({
    files: isEverythingWanted()
      ? files
      : sampleOf(files, usuallyOnServers, { environment: { ...process.env, [effortVariable]: 'usual' } }),
    variables: { [wiringVariable]: 'distributed' },
    where: 'on the distributed wiring',
  });
  if ((process.env['EVENTSTORE_URL'] ?? '') !== '') return results;
  const onStandIn = 'the distributed wiring, faults and processes on that server instead of its stand-in';
  return sumOf([results, { ...nothingRun, skippedFor: { EVENTSTORE_URL: [onStandIn] } }]);
};

/** A run draws some of the files that take long, and another draws others; all else is in each. */
const withoutMostLong = (files: readonly string[]): readonly string[] => {
  if (isEverythingWanted()) return files;
  const { usually, onIntegration } = longFilesDrawn;
  const chosen = sampleOf([...long], usually, { of: 'files that take long', thoroughly: onIntegration });
  return files.filter((file) => !long.has(file) || chosen.includes(file));
};

/** That a run has left something out, and how to repeat it. */
const printSample = (leftOut: number): void => {
  if (isEverythingWanted()) return;
  if (leftOut > 0)
    console.log(`\n${leftOut} of the ${longFiles.length} files that take longest were left out this time.`);
  console.log(
    `\nA sample of what is repeated: ${sampleVariable}=${sampleNumber()} draws the same again, npm test -- --thorough leaves none out`,
  );
};

const runChecks = (): Promise<readonly boolean[]> => {
  console.log('\n  static checks');
  return Promise.all(checks.map(passes));
};

const printFlaky = (flaky: Results['flaky']): void => {
  if (flaky.length === 0) return;
  printFailures('Flaky: failed beside other tests, passed alone', flaky);
  console.log(`${flaky.length} flaky`);
};

/** How many files are listed: those that took most. */
const maxListed = 60;

const printTimes = (times: Results['times']): void => {
  const sum = (of: (each: Results['times'][number]) => number): number =>
    times.reduce((total, each) => total + of(each), 0);
  const line = (own: number, started: number, elapsed: number, name: string): void =>
    console.log(`${[own, started, elapsed].map((each) => each.toFixed(1).padStart(9)).join('')}  ${name}`);
  console.log('\nSeconds of processors (own, of processes started), seconds elapsed:');
  for (const { own, started, elapsed, file } of times
    .toSorted((a, b) => b.own + b.started - a.own - a.started)
    .slice(0, maxListed))
    line(own, started, elapsed, relative(root, file));
  line(
    sum(({ own }) => own),
    sum(({ started }) => started),
    sum(({ elapsed }) => elapsed),
    `${times.length} files`,
  );
};

const wantedOf = (args: readonly string[]): Asked | null => {
  try {
    return readArguments(args, root, process.cwd());
  } catch (error) {
    if (!(error instanceof WrongArguments)) throw error;
    console.error(error.message);
    return null;
  }
};

/**
 * `npm test`: the static checks (counted as one test each) and every test, with the engines that are
 * installed here. With arguments: these files and folders alone, with these options for mocha.
 */
const main = async (args: readonly string[]): Promise<number> => {
  const asked = wantedOf(args);
  if (asked === null) return wrongUsage;
  const { options, isWhole, times, thorough } = asked;
  if (thorough) process.env[effortVariable] = 'thorough';
  process.env[sampleVariable] = sampleNumber();
  const files = isWhole ? withoutMostLong(asked.files) : asked.files;
  // Not beside the tests: they leave no processor to those that start and kill a dozen processes.
  const checked = isWhole ? await runChecks() : [];
  const engines = isWhole ? await Promise.all(startable.map(startEngine)) : [];
  try {
    const runs = [await runTests({ files, options })];
    if (isWhole) runs.push(await runDistributed(files));
    const { passed, failed, skipped, skippedFor, failures, flaky, times: taken } = sumOf(runs);
    const brokenChecks = checked.filter((ok) => !ok).length;
    printSkipped(skippedFor);
    printFailures('Failed', failures);
    printFlaky(flaky);
    printSample(asked.files.length - files.length);
    if (times) printTimes(taken);
    console.log(
      `${passed + checked.length - brokenChecks} passed, ${failed + brokenChecks} failed, ${skipped} skipped`,
    );
    return failed + brokenChecks === 0 ? 0 : 1;
  } finally {
    for (const stop of engines) await stop?.();
  }
};

process.exitCode = await main(process.argv.slice(2));
