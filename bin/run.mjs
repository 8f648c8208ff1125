// The entry point of a bare checkout: installs the lockfile's packages, builds if a source has changed, and
// then becomes the requested program. It runs before any dependency is installed, so it uses none. Its own
// messages go to standard error: standard output belongs to the program.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(root, 'dist');
const sourceFolders = ['domain', 'application', 'projections', 'adapters', 'bin', 'test'];
const programs = {
  serve: 'dist/bin/serve.js',
  cli: 'dist/bin/cli.js',
  bench: 'dist/test/bench/main.js',
  engines: 'dist/test/engines/run.js',
  model: 'dist/test/simulation/money-model/main.js',
  simulate: 'dist/test/simulation/simulate.js',
  mutate: 'dist/test/simulation/mutate.js',
  soak: 'dist/test/soak/main.js',
  power: 'dist/test/power/main.js',
  clients: 'dist/test/clients/main.js',
  test: 'dist/test/support/runner/run-tests.js',
};
const lockTimeout = 300_000;

const say = (text) => process.stderr.write(`${text}\n`);

/** Ends the process with a message and no stack: the reader is a person at a terminal. */
class Stop extends Error {}

const readJson = (path) => JSON.parse(readFileSync(path, 'utf8'));

/**
 * Runs a program to its end, with its output on standard error. A signal that arrives meanwhile ends both.
 */
const run = (command, args, { quiet = false } = {}) =>
  new Promise((done, fail) => {
    const child = spawn(command, args, {
      cwd: root,
      env: { ...process.env, NODE_ENV: 'development' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const output = [];
    const signals = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 };
    const handlers = Object.entries(signals).map(([signal, code]) => {
      const handler = () => {
        child.kill('SIGTERM');
        child.once('close', () => {
          process.removeListener('exit', releaseAtExit);
          releaseAtExit();
          process.exit(code);
        });
      };
      process.on(signal, handler);
      return [signal, handler];
    });
    const removeHandlers = () =>
      handlers.forEach(([signal, handler]) => process.removeListener(signal, handler));
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk) => (quiet ? output.push(chunk) : process.stderr.write(chunk)));
    child.once('error', (error) => {
      removeHandlers();
      fail(error);
    });
    child.once('close', (code) => {
      removeHandlers();
      done({ code: code ?? 1, output: Buffer.concat(output).toString() });
    });
  });

// One process at a time installs and builds in this checkout. The lock is a file with the process id of its
// holder, so that the lock of a process that died can be removed.

const lockFile = join(dist, '.lock');
let lockHeld = false;
const releaseAtExit = () => {
  if (lockHeld) rmSync(lockFile, { force: true });
  lockHeld = false;
};

const isAlive = (pid) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
};

/** The process id of the lock's holder; null if there is no lock. */
const lockHolder = () => {
  try {
    return Number(readFileSync(lockFile, 'utf8'));
  } catch (error) {
    if (error.code === 'ENOENT') return null;
    throw error;
  }
};

/** Makes the file; false if it exists. */
const makeLock = (path) => {
  try {
    writeFileSync(path, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
};

const holderIsGone = () => {
  const holder = lockHolder();
  return holder !== null && holder > 0 && !isAlive(holder);
};

/**
 * Removes the lock of a dead holder. One process at a time does, so that none removes the next holder's lock.
 */
const removeDeadLock = () => {
  const removal = `${lockFile}.removal`;
  if (!holderIsGone() || !makeLock(removal)) return;
  if (holderIsGone()) rmSync(lockFile);
  rmSync(removal);
};

const withLock = async (work) => {
  mkdirSync(dist, { recursive: true });
  const deadline = Date.now() + lockTimeout;
  process.on('exit', releaseAtExit);
  while (!makeLock(lockFile)) {
    removeDeadLock();
    if (Date.now() > deadline)
      throw new Stop(
        `Another process (${lockHolder()}) has been building for too long. If it is gone, delete ${lockFile}* and try again.`,
      );
    await new Promise((next) => setTimeout(next, 50));
  }
  lockHeld = true;
  try {
    return await work();
  } finally {
    releaseAtExit();
    process.removeListener('exit', releaseAtExit);
  }
};

// Installing

/** The programs that run without the packages that build and test. */
const production = new Set(['serve', 'cli']);

/**
 * Whether node_modules holds every package of the lockfile in its version. Optional ones may be missing, and
 * those for development, too, if `withDev` is false.
 */
const isInstalled = (withDev = true) => {
  const record = join(root, 'node_modules', '.package-lock.json');
  if (!existsSync(record)) return false;
  const installed = readJson(record).packages;
  return Object.entries(readJson(join(root, 'package-lock.json')).packages).every(([path, wanted]) => {
    if (path === '') return true;
    const found = installed[path];
    return found === undefined
      ? wanted.optional === true || (wanted.dev === true && !withDev)
      : found.version === wanted.version && found.integrity === wanted.integrity;
  });
};

const install = async () => {
  say('Installing dependencies from package-lock.json …');
  const args = [
    'ci',
    '--include=dev',
    '--include=optional',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
  ];
  const npm = process.env.npm_execpath;
  const { code } =
    npm !== undefined && basename(npm).startsWith('npm')
      ? await run(process.execPath, [npm, ...args])
      : await run('npm', args);
  if (code !== 0)
    throw new Stop(
      `npm ci failed with exit code ${code}. It needs the npm registry once; after that everything runs without a network.`,
    );
};

// Building

const filesIn = (folder, ...endings) =>
  existsSync(folder)
    ? readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && endings.some((ending) => entry.name.endsWith(ending)))
        .map((entry) => join(entry.parentPath, entry.name))
        .sort()
    : [];

const sources = () => [
  ...sourceFolders.flatMap((folder) => filesIn(join(root, folder), '.ts', '.tsx', '.css')),
  ...filesIn(join(root, 'adapters'), '.mjs', '.svg'),
  ...filesIn(join(root, 'domain'), '.json'),
];

const outputOf = (source) => join(dist, relative(root, source).replace(/\.tsx?$/, '.js'));

const builder = join(root, 'bin', 'build.mjs');
const settings = ['tsconfig.json', 'adapters/http/web/browser/tsconfig.json', 'package-lock.json'];

/** A hash of everything that the build depends on. */
const fingerprint = (paths) => {
  const hash = createHash('sha256');
  for (const path of [builder, ...settings.map((name) => join(root, name)), ...paths])
    hash.update(relative(root, path)).update('\0').update(readFileSync(path)).update('\0');
  return hash.digest('hex');
};

const stampFile = join(dist, '.built');

const isBuilt = () => {
  const paths = sources();
  return (
    existsSync(stampFile) &&
    readFileSync(stampFile, 'utf8') === fingerprint(paths) &&
    paths.every((path) => existsSync(outputOf(path)))
  );
};

/** Removes output without a source, or a deleted test would go on running. */
const removeStaleOutput = () => {
  const wanted = new Set(sources().flatMap((source) => [outputOf(source), `${outputOf(source)}.map`]));
  for (const path of filesIn(dist, '.js', '.js.map', '.css', '.svg')) if (!wanted.has(path)) rmSync(path);
};

const build = async () => {
  const paths = sources();
  const stamp = fingerprint(paths);
  // Without its build info tsc writes everything: otherwise it would leave out files that were deleted.
  if (!paths.every((path) => existsSync(outputOf(path))))
    for (const name of ['.tsbuildinfo', '.tsbuildinfo-browser']) rmSync(join(dist, name), { force: true });
  const { code, output } = await run(process.execPath, [builder], { quiet: true });
  if (code !== 0) throw new Stop(`${output.trimEnd()}\nThe build failed.`);
  removeStaleOutput();
  writeFileSync(stampFile, stamp);
};

const prepare = async (name) => {
  // After `npm prune --omit=dev` nothing can be built, but what is built runs.
  if (isBuilt() && isInstalled(!production.has(name))) return;
  await withLock(async () => {
    if (!isInstalled()) await install();
    if (!isBuilt()) await build();
  });
};

const usage = `Usage: node bin/run.mjs <build | ${Object.keys(programs).join(' | ')}> [arguments]`;

const main = async () => {
  const [, , name = '', ...args] = process.argv;
  const program = Object.hasOwn(programs, name) ? resolve(root, programs[name]) : null;
  if (program === null && name !== 'build') throw new Stop(usage);
  await prepare(name);
  if (name === 'build') return;
  if (!existsSync(program)) throw new Stop(`There is no ${relative(root, program)} in this build.`);
  process.argv.splice(1, process.argv.length, program, ...args);
  await import(pathToFileURL(program).href);
};

try {
  await main();
} catch (error) {
  if (!(error instanceof Stop)) throw error;
  say(error.message);
  process.exitCode = 1;
}
