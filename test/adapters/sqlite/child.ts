import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DataDirectoryInUse } from '../../../adapters/sqlite/errors.js';
import { openEventsFile, type EventsFile } from '../../../adapters/sqlite/log/events-file.js';
import { EventStoreUnavailable } from '../../../application/ports/event-store.js';
import { appendNotes, firstNote } from './notes.js';
import { standingClock } from '../../support/time/standing-clock.js';
import { start } from './setup.js';

/**
 * Runs a scenario in a process of its own: `child.js SCENARIO DIRECTORY [NUMBER]`. Prints its results as one
 * line of JSON.
 */
const [, , scenario = '', directory = '', number = '0'] = process.argv;

/** More than fits on the disk of any scenario. */
const huge = 'x'.repeat(8_000_000);

const say = (what: object) => process.stdout.write(`${JSON.stringify(what)}\n`);

let acknowledged = 0;

const open = (): Promise<EventsFile> =>
  openEventsFile({
    directory,
    clock: standingClock(start),
    onDamage: (error) => {
      say({ damaged: error.message });
      process.exit(1);
    },
    onUnknownOutcome: () => {
      say({ acknowledged });
      process.exit(75);
    },
  });

/** Appends one by one until an append is refused. Returns the id of that append. */
const appendUntilRefused = async (
  { eventStore }: EventsFile,
  from: number,
  size: number,
): Promise<number> => {
  for (let id = from; ; id += 1) {
    try {
      await eventStore.append([firstNote(id, { id, text: 'x'.repeat(size) })]);
    } catch (error) {
      if (error instanceof EventStoreUnavailable) return id;
      throw error;
    }
  }
};

const resultsOf = (outcomes: readonly PromiseSettledResult<unknown>[]) =>
  outcomes.map((outcome) =>
    outcome.status === 'fulfilled'
      ? 'appended'
      : outcome.reason instanceof EventStoreUnavailable
        ? 'unavailable'
        : String(outcome.reason),
  );

const appendable = async ({ eventStore }: EventsFile, id: string): Promise<boolean> => {
  const [outcome] = resultsOf(await Promise.allSettled([eventStore.append([firstNote(id)])]));
  return outcome === 'appended';
};

const scenarios: Readonly<Record<string, () => Promise<void>>> = {
  /** Appends, then closes. */
  append: async () => {
    const file = await open();
    await appendNotes(file.eventStore, Number(number));
    await file.close();
    say({ appended: Number(number) });
  },

  /** Appends and holds the directory until it is killed. */
  hold: async () => {
    const file = await open();
    await appendNotes(file.eventStore, Number(number));
    say({ holding: true });
    process.stdin.resume();
  },

  /** Says whether the directory can be opened. */
  knock: async () => {
    try {
      await (await open()).close();
      say({ opened: true });
    } catch (error) {
      if (!(error instanceof DataDirectoryInUse)) throw error;
      say({ refused: error.message });
    }
  },

  /** Appends until a commit has no known outcome. */
  sync: async () => {
    const file = await open();
    for (;;) {
      await appendNotes(file.eventStore, 1, acknowledged);
      acknowledged += 1;
    }
  },

  /** Fills the disk of the directory, tries what still works, then makes room. */
  full: async () => {
    const file = await open();
    const ballast = join(directory, 'ballast');
    writeFileSync(ballast, Buffer.alloc(Number(number)));
    const stored = await appendUntilRefused(file, 0, 3000);
    const whileFull = {
      read: (await file.eventStore.readLog(0n, 100_000)).length,
      head: Number((await file.eventStore.head()).position),
    };
    const group = resultsOf(
      await Promise.allSettled([
        file.eventStore.append([firstNote('huge', { text: huge })]),
        file.eventStore.append([firstNote('huge too', { text: huge })]),
      ]),
    );
    rmSync(ballast);
    const mixed = resultsOf(
      await Promise.allSettled([
        file.eventStore.append([firstNote('small')]),
        file.eventStore.append([firstNote('huge', { text: huge })]),
        file.eventStore.append([firstNote('small too')]),
      ]),
    );
    const after = { head: Number((await file.eventStore.head()).position) };
    await file.close();
    const again = await open();
    const reopened = Number((await again.eventStore.head()).position);
    await again.close();
    say({ stored, whileFull, group, mixed, after, reopened });
  },

  /** Appends one by one while writing fails for a time. Says the result of each append. */
  interrupted: async () => {
    const file = await open();
    const outcomes: string[] = [];
    const reads: boolean[] = [];
    for (let id = 0; id < Number(number); id += 1) {
      outcomes.push(...resultsOf(await Promise.allSettled([file.eventStore.append([firstNote(id)])])));
      const stored = outcomes.filter((outcome) => outcome === 'appended').length;
      reads.push((await file.eventStore.readLog(0n, 1000)).length === stored);
    }
    await file.close();
    say({ outcomes, reads });
  },

  /** Appends until the file may not grow any more, then lifts the limit. */
  limited: async () => {
    const file = await open();
    const stored = await appendUntilRefused(file, 0, 20_000);
    const head = Number((await file.eventStore.head()).position);
    execFileSync('prlimit', ['--pid', String(process.pid), '--fsize=unlimited:unlimited']);
    const appended = await appendable(file, 'after');
    const log = (await file.eventStore.readLog(0n, 100_000)).length;
    await file.close();
    say({ stored, head, appended, log });
  },
};

await scenarios[scenario]?.();
