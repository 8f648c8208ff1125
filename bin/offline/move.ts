import { hash as digestOf } from 'node:crypto';
import { SystemEntropy } from '../../adapters/system/entropy.js';
import { copyLog, NoCopy, type CopiedLog } from '../../application/log/copy-log.js';
import { assertUndamaged } from '../../application/log/damaged-log.js';
import { logPages } from '../../application/ports/event-store.js';
import { pictureSizes, type Artwork } from '../../application/ports/artwork.js';
import { countSealedIn, missingBlocks } from '../../application/personal/own-keys.js';
import type { Checkpoint } from '../../application/ports/log-tiles.js';
import type { PersonalKeys } from '../../application/ports/personal-keys.js';
import { streamName } from '../../domain/ids.js';
import { OpenMoney } from '../../domain/open-money.js';
import { macsOfLog } from '../settings/secret-files.js';
import type { Settings } from '../settings/settings.js';
import { kinds, type Fields, type Kind } from './moved-records.js';
import { assertStopped, closing } from './offline-log.js';
import { openPlace, type Place } from './places.js';

/**
 * Copies a service from files to servers, or back: every event, the keys of personal data, records, fronts
 * of cards. It can be stopped anywhere and resumed. At its end what was copied from is a rehearsal. No
 * process of either may run. Throws NoCopy, and the errors of `openPlace` and `copyLog`.
 */
export const moveService = async (
  from: Settings,
  to: Settings,
  onProgress: (events: number) => void,
): Promise<CopiedLog> =>
  closing(await openPlace(from, false), async (source) => {
    await assertSettled(source);
    return closing(await openPlace(to, true), async (target) => {
      await assertFree(source, target);
      for (const { running } of [source, target]) await assertStopped(running);
      await target.setMark({ why: 'it is an unfinished copy', state: 'unfinished' });
      await target.clear();
      const positions = new Map([[0, 0]]);
      const logs = { from: source.log, to: target.log, writer: target.store };
      const macs = macsOfLog(from, new SystemEntropy());
      const onCopied = (before: bigint, after: bigint) => void positions.set(Number(before), Number(after));
      const signed = await newestOf(source);
      const copied = await copyLog({ ...logs, macs, signed, onCopied }, onProgress);
      await copyKeys(source.personalKeyStore, target.personalKeyStore);
      await assertKeysOf(source, target);
      await copyArtwork(source.artwork, target.artwork);
      for (const checkpoint of await source.tiles.kept()) await target.tiles.keep(checkpoint);
      await target.write(kinds.map((kind) => [kind, carried(kind, source, positions)]));
      // First: never are both the service.
      await source.setMark({ why: `it was moved to ${target.name}`, state: 'moved' });
      // One that was started meanwhile ends by the mark.
      await assertStopped(source.running);
      await assertNothingAfter([...positions.keys()].at(-1) ?? 0, source);
      await target.setMark(null);
      return copied;
    });
  });

/**
 * Throws NoCopy unless the source is the service, or was until now, and the target is empty, or what a copy
 * has left.
 */
const assertFree = async (source: Place, target: Place): Promise<void> => {
  const [mark, there] = [await source.mark(), await target.mark()];
  if (mark !== null && !(mark.state === 'moved' && there?.state === 'unfinished'))
    throw new NoCopy(`${source.name}: this is not the service, ${mark.why}.`);
  const isEmpty = (await target.log.readStored(0n, 1)).length === 0 && !(await target.hasRecords());
  if (there?.state === undefined && !isEmpty)
    throw new NoCopy(`${target.name}: another service is there. Copy to an empty place.`);
};

const assertNothingAfter = async (position: number, { log }: Place): Promise<void> => {
  if ((await log.readStored(BigInt(position), 1)).length > 0)
    throw new NoCopy('Events were written meanwhile. Run this again.');
};

/** The newest checkpoint of a log, null if it is empty. Throws NoCopy if it has events, and none. */
const newestOf = async ({ name, log, tiles }: Place): Promise<Checkpoint | null> => {
  const newest = await tiles.newest();
  if (newest === null && (await log.readStored(0n, 1)).length > 0)
    throw new NoCopy(
      `${name}: no checkpoint of this log is there. Check DATA_DIR or MONGODB_URL; or start the service once, with its notary.`,
    );
  return newest;
};

/** Throws NoCopy if events were copied whose keys were not. */
const assertKeysOf = async (source: Place, { store, personalKeyStore }: Place): Promise<void> => {
  const missing = await missingBlocks({ log: store, store: personalKeyStore });
  const { events } = await countSealedIn(store, missing);
  if (events > 0)
    throw new NoCopy(
      `${source.name}: keys of personal data are missing for ${events} events. Start the service there: it says what to restore, or to give up.`,
    );
};

/** Throws NoCopy for half-done work on servers: in files, where nothing is, no reconciler would finish it. */
const assertSettled = async ({ records, store, tiles, read }: Place): Promise<void> => {
  await assertUndamaged(tiles);
  for await (const _ of read('redrives'))
    throw new NoCopy('A redrive is not finished. Start the service, let it finish, and copy then.');
  if ('files' in records) return;
  const work = new OpenMoney();
  for await (const page of logPages(store, 0n)) for (const event of page) work.observe(event);
  if (work.spends.length + work.debts.length + work.orders.length > 0)
    throw new NoCopy(
      'Work is half-done. Start the role reconciler alone until open_work_oldest_seconds is 0, and copy then.',
    );
};

const copyKeys = async (from: PersonalKeys, to: PersonalKeys): Promise<void> => {
  let [block] = await from.after(-1, 1);
  while (block !== undefined) {
    const [there] = await to.load([block.number]);
    await (there === undefined ? to.add([block]) : to.replace({ ...block, version: there.version }));
    [block] = await from.after(block.number, 1);
  }
};

const copyArtwork = async (from: Artwork, to: Artwork): Promise<void> => {
  for await (const { digest } of from.list()) {
    const [master, preview, thumbnail] = await Promise.all(
      pictureSizes.map((size) => from.get(digest, size)),
    );
    const isWhole = (picture: Buffer | null | undefined): boolean =>
      !!picture && digestOf('sha256', picture) === digest;
    if (!master || !preview || !thumbnail || !isWhole(master))
      throw new NoCopy(`The front ${digest} is damaged. Restore it from a backup.`);
    await to.put(digest, { master, preview, thumbnail });
    if (!isWhole(await to.get(digest, 'master')))
      throw new NoCopy(`The copy of the front ${digest} is damaged. Begin with an empty place.`);
  }
};

/** The records that mean something in the other place, with its positions. */
async function* carried(
  { name, carries = () => true, set }: Kind,
  { read, log }: Place,
  positions: ReadonlyMap<number, number>,
): AsyncGenerator<Fields> {
  const placed = (position: unknown): number =>
    positions.get(Number(position)) ??
    [...positions].findLast(([before]) => before < Number(position))?.[1] ??
    0;
  const keyOf = async (card: string): Promise<unknown> => {
    const [first] = await log.readStoredStream(streamName('card', card), 0, 1);
    return (JSON.parse(first?.data ?? '{}') as { readonly order?: Fields }).order?.['request'];
  };
  for await (const document of read(name)) {
    const { position } = document;
    if (await carries(document, keyOf))
      yield { ...document, ...(position !== undefined && { position: BigInt(placed(position)) }), ...set };
  }
}
