import type { StreamName } from '../../domain/ids.js';
import { leafHash, tileWidth, type Hash } from '../../domain/merkle.js';
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

/** An event of the log, and its leaf: the hash of its entry. */
export interface Entry {
  readonly event: StoredEvent;
  readonly index: number;
  readonly orgSeq: number;
  readonly entry: Buffer;
  readonly hash: Hash;
}

export const notNotarized = 'it is not the event that was notarized';

/**
 * The first events of a tile, made from the log; fewer if the tile has fewer. Throws DamagedLog if one of
 * them is not the event that was notarized.
 */
export const entriesIn = async (
  { tiles, raw }: Pick<NotarizedLog, 'tiles' | 'raw'>,
  n: number,
  width: number,
): Promise<readonly Entry[]> => {
  const tile = await tiles.leaves(n);
  const hashes = tile?.hashes.slice(0, width) ?? [];
  if (tile === null || hashes.length === 0) return [];
  const events = await raw.readStored(tile.after, hashes.length);
  return hashes.map((hash, at) => {
    const [event, orgSeq = 0] = [events[at], tile.orgSeqs[at]];
    const entry = event === undefined ? null : entryOf(event, orgSeq);
    if (event === undefined || entry === null || !leafHash(entry).equals(hash))
      throw new DamagedLog(event?.position ?? tile.after, notNotarized);
    return { event, index: n * tileWidth + at, orgSeq, entry, hash };
  });
};

/** All events of a tile. Refuses with `log_damaged` if one of them is not the event that was notarized. */
const entriesOf = (log: NotarizedLog, n: number): Promise<readonly Entry[]> =>
  entriesIn(log, n, tileWidth).catch((error: unknown) => {
    throw error instanceof DamagedLog ? logDamaged(error.position) : error;
  });

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
