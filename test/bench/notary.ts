import { statSync } from 'node:fs';
import { join } from 'node:path';
import { openLogFile } from '../support/fixtures/offline-log.js';
import { SystemClock } from '../../adapters/system/clock.js';
import { notarizeNow, type Notarizing } from '../../application/log/notarize.js';
import { scrubNow } from '../support/fixtures/scrub-now.js';
import { checkpointText, signerFrom, signNote } from '../../domain/signed-note.js';
import type { Figure } from './report.js';
import { streamName, type Instant, type OrganizationId } from '../../domain/ids.js';
import { storedLog, type Happening } from '../support/fixtures/stored-log.js';
import { makeDirectory, openForWriting } from '../../adapters/sqlite/database.js';
import { appendOperations } from '../../adapters/sqlite/writer/append.js';
import { macs } from '../support/fixtures/seal-events.js';

const figure = (
  what: string,
  value: number,
  unit: string,
  target: string | null,
  met: boolean | null,
): Figure => ({
  what,
  value,
  unit,
  ratio: null,
  comparedWith: null,
  target,
  met,
});

/** Microseconds of this process's processor time for each event. */
const costOf = async (events: number, work: () => Promise<unknown>): Promise<number> => {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / events;
};

const cardsTogether = 1_000;
const eventsPerCard = 15;

/** Writes the cards of a hundred organizations, fifteen events each, as the service stores them. */
const fill = (directory: string, path: string, cards: number): number => {
  makeDirectory(directory);
  const database = openForWriting(path);
  const { operations } = appendOperations(database, () => undefined);
  let written = 0;
  for (let done = 0; done < cards; done += cardsTogether) {
    const happenings = Array.from(
      { length: Math.min(cardsTogether, cards - done) * eventsPerCard },
      (_, at): Happening => {
        const number = done + Math.floor(at / eventsPerCard);
        return {
          stream: streamName('card', `HC-${number}`),
          type: 'StepCompleted',
          org: `org ${number % 100}` as OrganizationId,
          data: {
            step: 'addressed',
            machine: `machine ${number % 7}`,
            order: { reference: `order ${number}` },
          },
          occurredAt: '2026-03-01T12:00:00.000Z' as Instant,
        };
      },
    );
    const first = written;
    database.exec('begin');
    for (const event of storedLog(happenings, (index) => BigInt(first + index + 1)))
      operations.append({
        writes: [
          {
            stream: event.stream,
            expected: event.revision - 1,
            events: [[event.id, event.type, event.data, event.personal, event.metadata]],
          },
        ],
        completing: [],
      });
    database.exec('commit');
    written += happenings.length;
  }
  database.exec('pragma wal_checkpoint(truncate)');
  database.close();
  return written;
};

const origin = 'bench.example/log';
const signer = signerFrom(origin, 'note', Buffer.alloc(32, 1));

/** What the tree over a log costs: to make it, to read the log back against it, on disk and in memory. */
export const measureNotary = async (directory: string, cards: number): Promise<Figure[]> => {
  const place = join(directory, 'notary');
  const path = join(place, 'events.db');
  const events = fill(place, path, cards);
  const file = openLogFile(path);
  try {
    const { log } = file;
    const clock = new SystemClock();
    const deps: Notarizing = {
      ...file,
      macs,
      clock,
      sign: ({ size, root }) => signNote(checkpointText({ origin, size, root }), [signer]),
      scrubEvery: 86_400_000,
      restoreHint: 'events.db',
    };
    const reading = await costOf(events, async () => {
      for (let position = 0n, last = 1; last > 0;) {
        const read = await log.readStored(position, 500);
        last = read.length;
        position = read.at(-1)?.position ?? position;
      }
    });
    const size = statSync(path).size;
    const heap = process.memoryUsage().rss;
    const began = clock.monotonic();
    const notarizing = await costOf(events, () => notarizeNow(deps));
    const seconds = (clock.monotonic() - began) / 1_000;
    const scrubbing = await costOf(events, () => scrubNow(deps));
    const grown = Math.max(0, process.memoryUsage().rss - heap);
    file.close();
    const disk = (statSync(path).size - size) / events;
    return [
      figure('notary: reading the stored log, each event', reading, 'µs', null, null),
      figure('notary: its tree, each event, reading included', notarizing, 'µs', null, null),
      figure(`notary: the tree over ${events} events`, seconds, 's', null, null),
      figure('notary: reading back against the tree, each event', scrubbing, 'µs', null, null),
      figure('notary: on disk, each event', disk, 'bytes', '≤ 45', disk <= 45),
      figure('notary: memory that it takes', grown / 2 ** 20, 'MiB', '≤ 100', grown / 2 ** 20 <= 100),
    ];
  } catch (error) {
    file.close();
    throw error;
  }
};
