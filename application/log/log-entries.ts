import type { StreamName } from '../../domain/ids.js';
import { leafHash, tileWidth } from '../../domain/merkle.js';
import type { EventStore } from '../ports/event-store.js';
import { entryOf } from './checked-leaves.js';
import { DamagedLog, logDamaged } from './damaged-log.js';
import type { LogTiles } from '../ports/log-tiles.js';
import type { RawLog, StoredEvent } from '../ports/raw-log.js';

export interface NotarizedLog {
  readonly tiles: Pick<LogTiles, 'leaves' | 'tileOf'>;
  readonly raw: RawLog;
  readonly store: Pick<EventStore, 'positionBefore'>;
}

/** An event of the log, and the entry that its leaf is the hash of. */
export interface Entry {
  readonly event: StoredEvent;
  readonly index: number;
  readonly entry: Buffer;
}

/**
 * The events of a tile, made from the log. Refuses with `log_damaged` if one of them is not the event that
 * was notarized.
 */
const entriesOf = async ({ tiles, raw }: NotarizedLog, n: number): Promise<readonly Entry[]> => {
  const tile = await tiles.leaves(n);
  if (tile === null) return [];
  const { after, hashes, orgSeqs } = tile;
  const events = await raw.readStored(after, hashes.length).catch((error: unknown) => {
    throw error instanceof DamagedLog ? logDamaged(error.position) : error;
  });
  return hashes.map((hash, at) => {
    const event = events[at];
    const entry = event === undefined ? null : entryOf(event, orgSeqs[at] ?? 0);
    if (event === undefined || entry === null || !leafHash(entry).equals(hash))
      throw logDamaged(event?.position ?? null);
    return { event, index: n * tileWidth + at, entry };
  });
};

/** The first entries of a tile, each after its length in two bytes: c2sp.org/tlog-tiles. */
export const entryBundle = async (log: NotarizedLog, n: number, width: number): Promise<Buffer> =>
  Buffer.concat(
    (await entriesOf(log, n)).slice(0, width).flatMap(({ entry }) => {
      const length = Buffer.alloc(2);
      length.writeUInt16BE(entry.length);
      return [length, entry];
    }),
  );

/** The place of an event in the notarized log; null until it is notarized, and if there is none. */
export const placeOf = async (
  log: NotarizedLog,
  stream: StreamName,
  revision: number,
): Promise<Entry | null> => {
  const [event] = await log.raw.readStoredStream(stream, revision, 1);
  if (event?.revision !== revision) return null;
  const { occurredAt } = JSON.parse(event.metadata) as { readonly occurredAt: string };
  const from = event.position ?? (await log.store.positionBefore({ time: Date.parse(occurredAt) }));
  // If the place is not known, it is looked for from a place before it on.
  for (let n = await log.tiles.tileOf(from); ; n += 1) {
    const entries = await entriesOf(log, n);
    const found = entries.find((entry) => entry.event.stream === stream && entry.event.revision === revision);
    if (found !== undefined || entries.length === 0 || event.position !== null) return found ?? null;
  }
};
