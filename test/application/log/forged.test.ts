import { expect } from 'chai';
import { assertUndamaged } from '../../../application/log/damaged-log.js';
import { withoutMac } from '../../../application/log/hash-chain.js';
import { notarizeNow, rebuildTree, runNotary, type Notarizing } from '../../../application/log/notarize.js';
import { scrubNow } from '../../support/fixtures/scrub-now.js';
import type { RawLog, StoredEvent } from '../../../application/ports/raw-log.js';
import { eventMacs, type EventMacs } from '../../../domain/event-mac.js';
import type { MasterKey } from '../../../domain/webhook-signing.js';
import { inNewDirectory } from '../../adapters/sqlite/setup.js';
import { logFile, type LogAtRest } from '../../support/fixtures/log-file.js';
import { eventKeys, macs } from '../../support/fixtures/seal-events.js';
import { addLeaves, minted } from '../../support/fixtures/minted.js';
import { seventyHappenings, storedLog } from '../../support/fixtures/stored-log.js';
import { MemoryLogTiles } from '../../support/memory/log-tiles.js';
import { MemoryRawLog } from '../../support/memory/raw-log.js';
import { standingClock } from '../../support/time/standing-clock.js';

const clock = standingClock(Date.parse('2026-03-02T12:00:00.000Z'));
const notarizing = (
  { log, tiles }: Pick<LogAtRest, 'log' | 'tiles'>,
  by: Pick<EventMacs, 'verifies'> = macs,
): Notarizing => ({
  log,
  tiles,
  macs: by,
  clock,
  sign: ({ size, root }) => `${size} ${root.toString('base64')}`,
  scrubEvery: 86_400_000,
  restoreHint: 'the log',
});
const errorOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => null,
    (error: unknown) => error,
  );

const all = storedLog(seventyHappenings());

const mintedBy = (mac: (hash: string) => string | undefined): readonly StoredEvent[] => [
  ...all,
  minted(all, mac).stored,
];
const macOf = (event: StoredEvent | undefined): string =>
  (JSON.parse(event?.metadata ?? '{}') as { readonly mac: string }).mac;
const stranger: MasterKey = { id: 'test', key: Buffer.alloc(32, 66) };

const kinds: Readonly<Record<string, (test: (store: LogAtRest) => Promise<void>) => Promise<void>>> = {
  'in memory': (test) => {
    const log = new MemoryRawLog([]);
    return test({
      log,
      tiles: new MemoryLogTiles(),
      replace: (events) => void (log.events = [...events]),
      close: () => undefined,
    });
  },
  'in events.db': (test) =>
    inNewDirectory(async (directory) => {
      const store = logFile(directory);
      await test(store).finally(store.close);
    }),
};

for (const [where, run] of Object.entries(kinds))
  describe(`an event that the service did not write, ${where},`, () => {
    const forged: Readonly<Record<string, [(hash: string) => string | undefined, fault: string]>> = {
      'without a MAC': [() => undefined, 'has no MAC'],
      'with a MAC by another key of the same id': [
        eventMacs([stranger]).sign,
        'has a MAC that is not its own',
      ],
      'with the MAC of another event': [() => macOf(all[2]), 'has a MAC that is not its own'],
      'with the MAC of the event before it': [() => macOf(all[69]), 'has a MAC that is not its own'],
      'with a MAC that goes on': [(hash) => `${macs.sign(hash)}A`, 'has a MAC that is not its own'],
    };
    for (const [how, [mac, fault]] of Object.entries(forged))
      it(`is not signed, and is named with its stream, revision and position: ${how}`, () =>
        run(async (store) => {
          store.replace(all);
          expect(await notarizeNow(notarizing(store))).to.equal(70);
          const events = mintedBy(mac);
          store.replace(events);
          const name = `${events.at(-1)?.stream}@${events.at(-1)?.revision}`;
          const wanted = {
            name: 'DamagedLog',
            position: 71n,
            reason: `${name} ${fault}: the service did not write it`,
          };
          expect(await errorOf(notarizeNow(notarizing(store)))).to.include(wanted);
          expect(await store.tiles.newest()).to.have.property('size', 70);
          expect(await errorOf(assertUndamaged(store.tiles))).to.have.property('code', 'log_damaged');
          expect(await errorOf(rebuildTree(notarizing(store), () => undefined))).to.include(wanted);
        }));

    it('is not signed although the tree has a leaf for it, at the next start', () =>
      run(async (store) => {
        store.replace(all);
        await notarizeNow(notarizing(store));
        const events = mintedBy(() => undefined);
        store.replace(events);
        await addLeaves(store, events);
        const error = await errorOf(notarizeNow(notarizing(store)));
        expect(error).to.include({ name: 'DamagedLog', position: 71n });
        expect(error).to.have.property('message').that.includes('has no MAC: the service did not write it');
        expect((await store.tiles.kept()).map(({ size }) => size)).to.deep.equal([70]);
      }));

    it('is not signed although the tree has a leaf for it, while the notary runs', () =>
      run(async (store) => {
        store.replace(all);
        const events = mintedBy(() => undefined);
        const sleep = async (): Promise<void> => {
          if ((await store.tiles.tree()).size > 70) return;
          store.replace(events);
          await addLeaves(store, events);
        };
        const deps = { ...notarizing(store), clock: { ...clock, sleep } };
        const error = await errorOf(runNotary(deps, AbortSignal.timeout(5_000)));
        expect(error).to.include({ name: 'DamagedLog', position: 71n });
        expect((await store.tiles.kept()).map(({ size }) => size)).to.deep.equal([70]);
      }));

    it('is not signed, nor found right by the scrub, with the MAC of a retired key and a leaf', () =>
      run(async (store) => {
        const [old] = eventKeys;
        const newest = { id: 'newest', key: Buffer.alloc(32, 9) };
        const retired = notarizing(store, eventMacs([newest, { ...old, isRetired: true }]));
        store.replace(all);
        await notarizeNow(notarizing(store));
        const events = mintedBy(macs.sign);
        store.replace(events);
        await addLeaves(store, events);
        for (const work of [scrubNow, notarizeNow]) {
          expect(await errorOf(work(retired))).to.include({ name: 'DamagedLog', position: 71n });
          await store.tiles.reportDamage(null);
        }
        expect((await store.tiles.kept()).map(({ size }) => size)).to.deep.equal([70]);
      }));

    it('is signed if the MAC is its own', () =>
      run(async (store) => {
        store.replace(mintedBy(macs.sign));
        expect(await notarizeNow(notarizing(store))).to.equal(71);
        expect(await scrubNow(notarizing(store))).to.equal(71);
      }));

    it('is found by the scrub in what was signed, if a MAC is taken away or exchanged there', () =>
      run(async (store) => {
        store.replace(all);
        await notarizeNow(notarizing(store));
        const [three, four] = [all[3], all[4]];
        if (three === undefined || four === undefined) throw new Error('there are events');
        const exchanged = `${withoutMac(three.metadata).slice(0, -1)},"mac":"${macOf(four)}"}`;
        for (const metadata of [withoutMac(three.metadata), exchanged]) {
          store.replace(all.with(3, { ...three, metadata }));
          expect(await errorOf(scrubNow(notarizing(store)))).to.include({ name: 'DamagedLog', position: 4n });
        }
        store.replace(all);
        expect(await scrubNow(notarizing(store))).to.equal(70);
      }));

    it('is neither signed nor called damage if EVENT_KEY_FILE lacks the key that it names, but the id is named', () =>
      run(async (store) => {
        store.replace(mintedBy(eventMacs([{ ...stranger, id: 'lost' }]).sign));
        const error = await errorOf(notarizeNow(notarizing(store)));
        expect(error).to.include({ id: 'lost' });
        expect((error as Error).message).to.match(
          /lacks the key lost, which the event credits-\S+@\d+ at position 71/,
        );
        expect(await store.tiles.newest()).to.equal(null);
        expect(await store.tiles.damage()).to.equal(null);
      }));

    it('is told from those of the service after the key was rotated, and counts no more once the old one is retired', () =>
      run(async (store) => {
        const [old] = eventKeys;
        const newest = { id: 'newest', key: Buffer.alloc(32, 9) };
        const rotated = notarizing(store, eventMacs([newest, old]));
        const retired = notarizing(store, eventMacs([newest, { ...old, isRetired: true }]));
        store.replace(all);
        expect(await notarizeNow(rotated)).to.equal(70);
        // Made with the old key, which got into other hands.
        store.replace(mintedBy(macs.sign));
        expect(await errorOf(notarizeNow(retired))).to.include({ name: 'DamagedLog', position: 71n });
        await store.tiles.reportDamage(null);
        // Also if the tree was lost, and is made again from the first event.
        expect(await errorOf(rebuildTree(retired, () => undefined))).to.include({ position: 71n });
        await store.tiles.reportDamage(null);
        store.replace(mintedBy(eventMacs([newest]).sign));
        expect(await notarizeNow(retired)).to.equal(71);
        expect(await scrubNow(retired)).to.equal(71);
        expect(await rebuildTree(retired, () => undefined)).to.equal(71);
      }));

    it('counts as another leaf that the tree has for an event of the service, numbered otherwise', () =>
      run(async (store) => {
        store.replace(all.slice(0, 60));
        await notarizeNow(notarizing(store));
        store.replace(all);
        await addLeaves(store, all.slice(0, 61));
        await addLeaves(store, all, (orgSeq) => orgSeq + 1);
        expect(await errorOf(notarizeNow(notarizing(store)))).to.have.property('name', 'DamagedLog');
        expect((await store.tiles.kept()).map(({ size }) => size)).to.deep.equal([60]);
      }));

    it('does not hinder: what another notary has made and not signed is checked, and signed', () =>
      run(async (store) => {
        store.replace(all.slice(0, 60));
        await notarizeNow(notarizing(store));
        store.replace(all);
        await addLeaves(store, all);
        const read: number[] = [];
        const readStored: RawLog['readStored'] = async (after, limit) => {
          const events = await store.log.readStored(after, limit);
          read.push(events.length);
          return events;
        };
        const log = { readStored, readStoredStream: store.log.readStoredStream.bind(store.log) };
        expect(await notarizeNow({ ...notarizing(store), log })).to.equal(70);
        expect((await store.tiles.newest())?.size).to.equal(70);
        // Those of the last tile that was signed, those that were not, the first for their numbers, none.
        expect(read).to.deep.equal([60, 10, 60, 0]);
        expect(await scrubNow(notarizing(store))).to.equal(70);
      }));
  });
