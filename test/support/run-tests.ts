import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

/** How long mocha may take to end after its last test. What is open then is a leak. */
const graceMs = 20_000;

const root = fileURLToPath(new URL('../../../', import.meta.url));
const tool = (path: string): string => join(root, 'node_modules', path);

const Results = z.object({ passed: z.int(), failed: z.int(), skipped: z.int(), skippedFor: z.record(z.string(), z.array(z.string())) });
type Results = z.infer<typeof Results>;

const checks = [
  { name: 'format', repair: 'npm run format', args: [tool('prettier/bin/prettier.cjs'), '--check', '--log-level', 'warn', '.'] },
  { name: 'lint', repair: 'see the rule named above', args: [tool('oxlint/bin/oxlint'), '--type-aware', '--deny-warnings'] },
  { name: 'unused code', repair: 'delete what nothing uses', args: [tool('knip/bin/knip.js'), '--no-progress'] },
];

/** Runs one static check; its output is shown only where it fails. */
const passes = ({ name, repair, args }: (typeof checks)[number]): Promise<boolean> =>
  new Promise((done, fail) => {
    const started = performance.now();
    const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
    const output: Buffer[] = [];
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => output.push(chunk));
    child.once('error', fail);
    child.once('close', (code) => {
      const seconds = ((performance.now() - started) / 1000).toFixed(1);
      if (code === 0) console.log(`  ✔ ${name} (${seconds} s)`);
      else console.log(`  ✘ ${name} (${seconds} s): ${repair}\n\n${Buffer.concat(output).toString().trimEnd()}\n`);
      done(code === 0);
    });
  });

/** A test file by its source's path or by its output's path. */
const compiled = (argument: string): string => {
  const path = relative(root, resolve(argument));
  return existsSync(argument) && path.endsWith('.ts') ? join('dist', path.replace(/\.ts$/, '.js')) : argument;
};

const namesFile = (argument: string): boolean => argument.endsWith('.js') && existsSync(resolve(root, argument));

/** Runs mocha in processes of its own: two files at a time where everything is run. A run that ends without results, or never ends, is one failure. */
const runMocha = async (args: readonly string[]): Promise<Results> => {
  const folder = mkdtempSync(join(tmpdir(), 'card-tests-'));
  const output = join(folder, 'results.json');
  const read = (): Results | null => (existsSync(output) ? Results.parse(JSON.parse(readFileSync(output, 'utf8'))) : null);
  const specs = args.some(namesFile) ? [] : ['dist/test/**/*.{test,spec}.js'];
  const lanes = args.length === 0 ? ['--parallel', '--jobs', '2'] : [];
  const reporter = ['--reporter', 'dist/test/support/reporter.js', '--reporter-option', `output=${output}`];
  const child = spawn(process.execPath, [tool('mocha/bin/mocha.js'), ...reporter, ...lanes, ...args, ...specs], { cwd: root, stdio: 'inherit' });
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
    const known = results ?? { passed: 0, failed: 0, skipped: 0, skippedFor: {} };
    return code === 0 || known.failed > 0 ? known : { ...known, failed: 1 };
  } finally {
    stopped.abort();
    await watching;
    rmSync(folder, { recursive: true, force: true });
  }
};

const printSkipped = (skippedFor: Results['skippedFor']): void => {
  const entries = Object.entries(skippedFor);
  if (entries.length === 0) return;
  console.log('Skipped, because no engine was named:');
  for (const [variables, suites] of entries) console.log(`  set ${variables} to run: ${suites.join('; ')}`);
};

/** `npm test`: the static checks (counted as one test each) and every test; with arguments, mocha alone with these arguments. */
const main = async (args: readonly string[]): Promise<void> => {
  const checked: boolean[] = [];
  if (args.length === 0) {
    console.log('\n  static checks');
    for (const check of checks) checked.push(await passes(check));
  }
  const results = await runMocha(args.map(compiled));
  const passed = results.passed + checked.filter((ok) => ok).length;
  const failed = results.failed + checked.filter((ok) => !ok).length;
  printSkipped(results.skippedFor);
  console.log(`${passed} passed, ${failed} failed, ${results.skipped} skipped`);
  process.exitCode = failed === 0 ? 0 : 1;
};

await main(process.argv.slice(2));
