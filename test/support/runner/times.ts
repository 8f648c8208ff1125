import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { z } from 'zod';

/** The variable that names the file to which each process of mocha adds what its test files took. */
export const timesVariable = 'TEST_TIMES';

const FileTimes = z.object({
  /** Empty if its tests were all skipped. */
  file: z.string(),
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

// A file is loaded before its first hook, so what that takes lies between the files before and their
// successor's end.
let before = now();
let began = before.elapsed;

/**
 * Hooks of mocha around all tests of a file; of several files, where one process runs them all one after the
 * other.
 */
export const mochaHooks: Mocha.RootHookObject = {
  beforeAll() {
    began = performance.now() / 1000;
  },
  afterAll(this: Mocha.Context) {
    const after = now();
    const line: FileTimes = {
      file: this.test?.parent?.suites[0]?.file ?? '',
      own: after.own - before.own,
      started: after.started - before.started,
      elapsed: after.elapsed - began,
    };
    before = after;
    appendFileSync(process.env[timesVariable] ?? '', `${JSON.stringify(line)}\n`);
  },
};

export const readTimes = (path: string): readonly FileTimes[] =>
  existsSync(path)
    ? readFileSync(path, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => FileTimes.parse(JSON.parse(line)))
    : [];
