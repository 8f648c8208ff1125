import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { z } from 'zod';

/** The variable that names the file to which each process of mocha adds which test files begin and end. */
export const progressVariable = 'TEST_PROGRESS';

/**
 * How long the tests of a file may go on: where each one waits in vain for its time limit, they would for
 * hours. The test that runs by then may end.
 */
export const fileTimeoutMs = 15 * 60_000;

/** The variable with the time, in milliseconds since 1970, after which no test begins. */
export const deadlineVariable = 'TEST_DEADLINE';

/** How long a run may take: one that takes longer, such as one whose server has died, would take hours. */
export const runTimeoutMs = 35 * 60_000;

const Begun = z.object({
  /** Empty if its tests were all skipped. */
  file: z.string(),
  pid: z.int(),
  /** In milliseconds since 1970. */
  at: z.number(),
});
type Begun = z.infer<typeof Begun>;

const FileTimes = Begun.extend({
  /** Seconds of processors, of the tests themselves. */
  own: z.number(),
  /** Seconds of processors, of the processes that the tests have started and seen end. */
  started: z.number(),
  /** Seconds from its first hook to its last. */
  elapsed: z.number(),
});
export type FileTimes = z.infer<typeof FileTimes>;

const ticksPerSecond = 100;

/** What processes that this one has started, and that have ended, took. Only Linux tells. */
const secondsOfChildren = (): number => {
  if (!existsSync('/proc/self/stat')) return 0;
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[13]) + Number(fields[14])) / ticksPerSecond;
};

const now = () => {
  const { user, system } = process.cpuUsage();
  return { own: (user + system) / 1e6, started: secondsOfChildren(), elapsed: performance.now() / 1000 };
};

const wordOf = (_key: string, value: unknown): unknown => (typeof value === 'bigint' ? `${value}n` : value);

const record = (line: Begun | FileTimes): void =>
  appendFileSync(process.env[progressVariable] ?? '', `${JSON.stringify(line)}\n`);

const fileOf = (context: Mocha.Context): string => context.test?.parent?.suites[0]?.file ?? '';

// A file is loaded before its first hook, so what that takes lies between the files before and their
// successor's end.
let before = now();
let began = before.elapsed;

/**
 * Hooks of mocha around all tests of a file; of several files, where one process runs them all one after the
 * other.
 */
export const mochaHooks: Mocha.RootHookObject = {
  beforeAll(this: Mocha.Context) {
    began = performance.now() / 1000;
    record({ file: fileOf(this), pid: process.pid, at: Date.now() });
  },
  beforeEach() {
    if (Date.now() > Number(process.env[deadlineVariable]))
      throw new Error(`All tests together took over ${runTimeoutMs / 60_000} minutes: they end here.`);
    if (performance.now() > began * 1000 + fileTimeoutMs)
      throw new Error(`The tests of this file took over ${fileTimeoutMs / 60_000} minutes: it ends here.`);
  },
  afterEach(this: Mocha.Context) {
    // Mocha sends failures between processes as JSON, which has no word for positions of the log.
    const error = (this.currentTest?.err ?? {}) as { actual?: unknown; expected?: unknown };
    for (const side of ['actual', 'expected'] as const)
      if (side in error) error[side] = JSON.parse(JSON.stringify(error[side] ?? null, wordOf));
  },
  afterAll(this: Mocha.Context) {
    const after = now();
    record({
      file: fileOf(this),
      pid: process.pid,
      at: Date.now(),
      own: after.own - before.own,
      started: after.started - before.started,
      elapsed: after.elapsed - began,
    });
    before = after;
  },
};

const linesOf = (path: string): readonly unknown[] =>
  existsSync(path)
    ? readFileSync(path, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as unknown)
    : [];

const timesOf = (line: unknown): FileTimes | null => FileTimes.safeParse(line).data ?? null;

/** What each file that has ended took. */
export const readTimes = (path: string): readonly FileTimes[] =>
  linesOf(path).flatMap((line) => timesOf(line) ?? []);

/** The files that have begun and have not ended, by process. */
export const underWay = (path: string): readonly Begun[] => {
  const byProcess = new Map<number, Begun>();
  for (const line of linesOf(path)) {
    const begun = Begun.parse(line);
    if (timesOf(line) === null) byProcess.set(begun.pid, begun);
    else byProcess.delete(begun.pid);
  }
  return [...byProcess.values()];
};
