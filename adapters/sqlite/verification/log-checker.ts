import { LazyLru } from '../../../application/memory/lazy-lru.js';
import { verifiedHash, whyDamaged } from '../../../application/log/hash-chain.js';
import { errcodeOf, isDamage, prepareArrays, type Database } from '../database.js';
import { DamagedLog } from '../../../application/log/damaged-log.js';
import type { StreamName } from '../../../domain/ids.js';
import { assertInPlace, checkedRows, type CheckedRow } from '../log/event-rows.js';

/**
 * Reads at most `limit` events after a position back and checks them. Returns the position of the last one.
 * Throws DamagedLog with the first position that is wrong.
 */
export type LogChecker = (after: number, limit: number) => number;

const rememberedHashes = 50_000;

/**
 * Checks that positions have no gap, that the index by stream leads to the same rows, and that each event's
 * hash follows from its stored texts and the event before it in its stream.
 */
export const logChecker = (database: Database): LogChecker => {
  const rows = prepareArrays(database, checkedRows);
  const metadataOf = database.prepare(
    'select metadata from events where stream = ? and revision = ? and position < ?',
  );
  const hashes = new LazyLru<string, { readonly revision: number; readonly hash: string }>(rememberedHashes);

  /** The hash of the event before this one: null if it is its stream's first, undefined if it is missing. */
  const hashBefore = (stream: string, revision: number, position: number): string | null | undefined => {
    if (revision === 0) return null;
    const known = hashes.get(stream);
    if (known?.revision === revision - 1) return known.hash;
    const before: { readonly metadata: string } | undefined = metadataOf.get(stream, revision - 1, position);
    return before === undefined ? undefined : hashOf(before.metadata);
  };

  const checkRow = (row: CheckedRow, expected: number): void => {
    assertInPlace(row, expected);
    const [position, stream, revision, id, type, data, personal, metadata] = row;
    const previous = hashBefore(stream, revision, position);
    if (previous === undefined)
      throw new DamagedLog(BigInt(position), `${stream} has no revision ${revision - 1} before it`);
    const event = { stream: stream as StreamName, revision, id, type, data, personal, metadata };
    const hash = verifiedHash(previous, event);
    if (hash === null) throw new DamagedLog(BigInt(position), whyDamaged(event));
    hashes.set(stream, { revision, hash });
  };

  return (after, limit) => {
    let checked = after;
    try {
      const found: Iterable<CheckedRow> = rows.iterate(after, limit);
      for (const row of found) {
        checkRow(row, checked + 1);
        checked += 1;
      }
      return checked;
    } catch (error) {
      if (isDamage(errcodeOf(error))) throw new DamagedLog(BigInt(checked + 1), "the event can't be read");
      throw error;
    }
  };
};

/** The hash in an event's metadata. */
export const hashOf = (metadata: string): string => (JSON.parse(metadata) as { readonly hash: string }).hash;
