import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { kindOf, type Kind } from './perform.js';
import { digestOf, shrink, type Outcome, type Run, type Size } from './runs.js';
import type { Performed } from './worker.js';
import { performIn } from './workers.js';

// `npm run simulate`: runs of the simulated service, each under a seed that decides everything.

const usage = `Usage: npm run simulate -- --seeds A..B [options]

Runs the service under simulation, and says which seeds break an invariant. (docs/testing.md#simulation)

  --seeds A..B      these seeds; or A alone, which also prints its digest and its weather
  --whole           the whole service instead of its money alone
  --weather <name>  one trouble by name, in place of what the seed draws
  --clients <n>     how many clients there are, and
  --calls <n>       what each of them does: a smaller run of the seed
  --workers <n>     how many runs go on at once; by default one per processor
  --help            this text

A failure is made as small as possible; its log goes to dist/simulation/<seed>.log.
Exit codes: 0 nothing found, 1 an invariant was broken, 2 wrong usage.
`;

interface Asked {
  readonly from: number;
  readonly to: number;
  readonly whole: boolean;
  readonly weather: string | null;
  readonly clients: number | null;
  readonly calls: number | null;
  readonly workers: number;
}

class WrongUsage extends Error {}

const wholeNumber = (name: string, text: string | undefined): number | null => {
  if (text === undefined) return null;
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(Number(text)))
    throw new WrongUsage(`--${name} must be a whole number, not "${text}".`);
  return Number(text);
};

const readAsked = (args: readonly string[]): Asked | null => {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  const { values } = parseArgs({
    args: [...args],
    options: {
      seeds: text,
      weather: text,
      clients: text,
      calls: text,
      workers: text,
      whole: flag,
      help: flag,
    },
  });
  if (values.help === true) return null;
  const [first, last = first, ...more] = (values.seeds ?? '').split('..');
  const from = wholeNumber('seeds', first === '' ? undefined : first);
  const to = wholeNumber('seeds', last);
  if (from === null || to === null || more.length > 0) throw new WrongUsage('Name the seeds: --seeds 1..100');
  return {
    from,
    to,
    whole: values.whole === true,
    weather: values.weather ?? null,
    clients: wholeNumber('clients', values.clients),
    calls: wholeNumber('calls', values.calls),
    workers: wholeNumber('workers', values.workers) ?? availableParallelism(),
  };
};

const say = (line: string): void => void process.stdout.write(`${line}\n`);

const logFolder = 'dist/simulation';

/** The log and the calls of a run, one JSON text a line. */
const writeLog = ({ seed }: Run, { log, history }: Outcome): string => {
  mkdirSync(logFolder, { recursive: true });
  const path = join(logFolder, `${seed}.log`);
  const plain = (_name: string, value: unknown): unknown =>
    typeof value === 'bigint' ? String(value) : value;
  const lines = [...log, ...history].map((each) => JSON.stringify(each, plain));
  writeFileSync(path, `${lines.join('\n')}\n`);
  return path;
};

const commandFor = ({ whole, weather }: Asked, { seed, size }: Run): string =>
  [
    `npm run simulate -- --seeds ${seed}${whole ? ' --whole' : ''}`,
    ...(weather === null ? [] : [`--weather '${weather}'`]),
    `--clients ${size.clients} --calls ${size.calls}`,
  ].join(' ');

const explain = (asked: Asked, run: Run, outcome: Outcome): void => {
  say(`seed ${run.seed} (${outcome.weather.join(', ')}; ${outcome.embedded ? 'embedded' : 'distributed'})`);
  for (const line of outcome.wrong) say(`    ${line}`);
  say(`    again: ${commandFor(asked, run)}`);
  say(`    log: ${writeLog(run, outcome)}`);
};

const sizeOf = ({ from, clients, calls }: Asked, { usualSize }: Kind): Size => {
  const usual = usualSize(from);
  return { clients: clients ?? usual.clients, calls: calls ?? usual.calls };
};

const runOne = async (asked: Asked, kind: Kind): Promise<number> => {
  const { from: seed, weather } = asked;
  const run = { seed, weather, size: sizeOf(asked, kind) };
  const outcome = await kind.perform(run);
  const { wrong, digest } = outcome;
  if (wrong.length > 0) explain(asked, run, outcome);
  say(`seed ${seed}: ${outcome.weather.join(', ')}; ${wrong.length} violations, digest ${digest}`);
  return wrong.length === 0 ? 0 : 1;
};

const runMany = async (asked: Asked, kind: Kind): Promise<number> => {
  const started = performance.now();
  const failed: Performed[] = [];
  const digests: string[] = [];
  const { from, to, whole, weather } = asked;
  let seed = from;
  const next = () => (seed > to ? null : { seed: seed++, whole, weather });
  await performIn({ workers: Math.min(asked.workers, to - from + 1), next }, (performed) => {
    digests.push(`${performed.seed} ${performed.digest}`);
    if (performed.wrong.length === 0) return;
    failed.push(performed);
    say(`seed ${performed.seed}: ${performed.wrong[0]}`);
  });
  const seconds = (performance.now() - started) / 1_000;
  for (const { seed: found, wrong } of failed.slice(0, maxExplained)) {
    const run = { seed: found, weather, size: kind.usualSize(found) };
    const { run: small, outcome } = await shrink(run, { wrong }, kind.perform);
    explain(asked, small, outcome);
  }
  const count = to - from + 1;
  say(
    `${count} seeds in ${seconds.toFixed(1)} s, ${(count / seconds).toFixed(1)} a second; ${failed.length} failed; digest ${digestOf([], [], digests.toSorted().join())}`,
  );
  return failed.length === 0 ? 0 : 1;
};

/** Making a failure small takes a while. */
const maxExplained = 3;

const main = async (args: readonly string[]): Promise<number> => {
  try {
    const asked = readAsked(args);
    if (asked === null) say(usage);
    if (asked === null) return 0;
    const kind = await kindOf(asked.whole);
    const isOne = asked.from === asked.to || asked.clients !== null || asked.calls !== null;
    return await (isOne ? runOne(asked, kind) : runMany(asked, kind));
  } catch (error) {
    if (!(error instanceof WrongUsage || (error instanceof TypeError && 'code' in error))) throw error;
    process.stderr.write(`${error.message}\n\n${usage}`);
    return 2;
  }
};

process.exit(await main(process.argv.slice(2)));
