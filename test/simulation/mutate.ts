import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { z } from 'zod';
import { messageOf } from '../../domain/errors.js';
import { tool } from '../support/runner/run-mocha.js';
import { buildMutant, removeMutant } from './mutants.js';
import { mutations, type Mutation } from './mutations.js';
import { performIn } from './workers.js';

// `npm run mutate`: leaves out one rule at a time, and counts the seeds that it takes to notice.

const usage = `Usage: npm run mutate -- [options] [names]

Leaves out one rule at a time, and says within how many seeds the simulation notices, or which test does. (docs/testing.md#mutations)

  --seeds <n>    how many seeds are tried; 2000 by default
  --workers <n>  how many runs go on at once; 1 by default
  --help         this text

Exit codes: 0 every rule is noticed, 1 one is not, 2 wrong usage.

Rules:
${Object.entries(mutations)
  .map(([name, { rule }]) => `  ${name.padEnd(20)} ${rule}`)
  .join('\n')}
`;

interface Noticed {
  /** How many seeds it took, or `tests` if those did; null if nothing noticed. */
  readonly seeds: number | 'tests' | null;
  readonly by: string;
}

/** The first test that fails in a build; null if none does. */
const failingTest = async (folder: string, tests: readonly string[]): Promise<string | null> => {
  const run = promisify(execFile);
  const args = ['--exit', '--bail', '--reporter', 'json', ...tests.map((each) => join(folder, 'test', each))];
  const options = { cwd: folder, maxBuffer: 64 * 1024 * 1024 };
  const failed = await run(
    process.execPath,
    [tool('mocha/bin/mocha.js'), ...args, '--recursive'],
    options,
  ).then(
    () => null,
    (error: unknown) => Failed.parse(error).stdout,
  );
  return failed === null ? null : (Report.parse(JSON.parse(failed)).failures[0]?.fullTitle ?? 'a failed run');
};
const Failed = z.object({ stdout: z.string() });
const Report = z.object({ failures: z.array(z.object({ fullTitle: z.string() })) });

const notice = async (
  name: string,
  mutation: Mutation,
  { seeds, workers }: { readonly seeds: number; readonly workers: number },
): Promise<Noticed> => {
  const folder = buildMutant(name, mutation);
  const { weather = null, money } = mutation;
  let tried = 0;
  let found: Noticed | null = null;
  try {
    if (mutation.tests !== undefined) {
      const by = await failingTest(folder, mutation.tests);
      return by === null ? { seeds: null, by: '' } : { seeds: 'tests', by };
    }
    await performIn(
      {
        workers,
        program: join(folder, 'test/simulation/worker.js'),
        next: () =>
          found !== null || tried >= seeds ? null : { seed: (tried += 1), whole: money !== true, weather },
      },
      ({ seed, wrong: [first] }) => {
        if (first !== undefined && (found === null || seed < Number(found.seeds)))
          found = { seeds: seed, by: first };
      },
    );
  } catch (error) {
    // A process that ends by itself has noticed, too.
    return { seeds: tried, by: messageOf(error) };
  } finally {
    removeMutant(folder);
  }
  return found ?? { seeds: null, by: '' };
};

const main = async (args: readonly string[]): Promise<number> => {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { seeds: { type: 'string' }, workers: { type: 'string' }, help: { type: 'boolean' } },
  });
  const unknown = positionals.filter((name) => mutations[name] === undefined);
  if (values.help === true || unknown.length > 0) {
    process.stdout.write(usage);
    return unknown.length > 0 ? 2 : 0;
  }
  const bounds = { seeds: Number(values.seeds ?? 2_000), workers: Number(values.workers ?? 1) };
  let missed = 0;
  for (const [name, mutation] of Object.entries(mutations)) {
    if (positionals.length > 0 && !positionals.includes(name)) continue;
    const { seeds, by } = await notice(name, mutation, bounds);
    if (seeds === null) missed += 1;
    const within =
      seeds === null ? `not within ${bounds.seeds}` : seeds === 'tests' ? 'by a test' : `within ${seeds}`;
    process.stdout.write(`${name.padEnd(20)} ${within.padEnd(16)} ${by.slice(0, 110)}\n`);
  }
  return missed === 0 ? 0 : 1;
};

process.exit(await main(process.argv.slice(2)));
