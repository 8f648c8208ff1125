import { expect } from 'chai';
import { assertUndamaged } from '../../../application/log/damaged-log.js';
import { notarizeNow, runNotary, type Notarizing } from '../../../application/log/notarize.js';
import { scrubNow } from '../../support/fixtures/scrub-now.js';
import { inNewDirectory } from '../../adapters/sqlite/setup.js';
import { logFile, type LogAtRest } from '../../support/fixtures/log-file.js';
import { manipulations, sealedManipulations } from '../../support/fixtures/manipulations.js';
import { sealed, seventyHappenings, storedLog } from '../../support/fixtures/stored-log.js';
import { MemoryLogTiles } from '../../support/memory/log-tiles.js';
import { MemoryRawLog } from '../../support/memory/raw-log.js';
import { standingClock } from '../../support/time/standing-clock.js';
import { macs } from '../../support/fixtures/seal-events.js';

const clock = standingClock(Date.parse('2026-03-02T12:00:00.000Z'));

const notarizing = ({ log, tiles }: Pick<LogAtRest, 'log' | 'tiles'>): Notarizing => ({
  log,
  tiles,
  macs,
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

/** The error of the notary that begins now and reads everything back; null if it finds nothing. */
const found = (deps: Notarizing): Promise<unknown> => errorOf(notarizeNow(deps).then(() => scrubNow(deps)));

const inMemory = (): LogAtRest & { readonly tiles: MemoryLogTiles } => {
  const log = new MemoryRawLog([]);
  return {
    log,
    tiles: new MemoryLogTiles(),
    replace: (events) => void (log.events = [...events]),
    close: () => undefined,
  };
};

const kinds = {
  'in memory, with gaps between positions': {
    position: (index: number) => BigInt(index * 100 + 700),
    run: (test: (store: LogAtRest) => Promise<void>) => test(inMemory()),
    namesMissing: false,
  },
  'in events.db': {
    position: (index: number) => BigInt(index + 1),
    run: (test: (store: LogAtRest) => Promise<void>) =>
      inNewDirectory(async (directory) => {
        const store = logFile(directory);
        await test(store).finally(store.close);
      }),
    namesMissing: true,
  },
};

for (const [where, { position, run, namesMissing }] of Object.entries(kinds))
  describe(`a change behind the back of the service, ${where},`, () => {
    const inTheClear = storedLog(seventyHappenings(), position);
    const underSeal = storedLog(seventyHappenings(), position, sealed);
    const changes = [
      ...manipulations.map((each) => ({ ...each, events: inTheClear })),
      ...sealedManipulations.map((each) => ({ ...each, events: underSeal })),
    ];

    for (const [how, events] of Object.entries({ 'in the clear': inTheClear, sealed: underSeal }))
      it(`is not seen if there is none, with personal data ${how}`, () =>
        run(async (store) => {
          store.replace(events);
          expect(events).to.have.lengthOf(70);
          expect(await notarizeNow(notarizing(store))).to.equal(70);
          expect(await found(notarizing(store))).to.equal(null);
          expect(await store.tiles.newest()).to.have.property('size', 70);
        }));

    for (const { number, what, seenAt, to, tree, copy, events } of changes)
      it(`is seen: ${number}, ${what}`, () =>
        run(async (store) => {
          const { tiles } = store;
          const changed = to(events);
          store.replace(copy === 'older' ? changed : events);
          await notarizeNow(notarizing(store));
          const elsewhere = inMemory();
          elsewhere.replace(events);
          await notarizeNow(notarizing(elsewhere));
          store.replace(changed);
          if (tree === 'set back') {
            // As the tree was when the log ended there. What was signed is in other hands, too.
            const earlier = inMemory();
            earlier.replace(changed);
            await notarizeNow(notarizing(earlier));
            await tiles.reset();
            await tiles.extend(0, earlier.tiles.leafList, changed.at(-1)?.position ?? 0n, 9);
          }
          const before = await tiles.kept();
          const error = await found({
            ...notarizing(store),
            knownElsewhere: () => elsewhere.tiles.kept(),
          });
          expect(error).to.include({ name: 'DamagedLog' });
          const at = position(seenAt - 1);
          // Where positions have gaps, a place that is empty now can't be told from one that always was.
          const next = changed.find((event) => event.position >= at)?.position;
          const past = changed.at(-1)?.position ?? 0n;
          expect(error).to.have.property(
            'position',
            namesMissing && next !== undefined ? at : (next ?? past),
          );
          expect(await tiles.kept()).to.deep.equal(before);
          expect(await errorOf(assertUndamaged(tiles))).to.have.property('code', 'log_damaged');
        }));

    for (const { number, what, seenAt, to } of manipulations.filter(({ live }) => live))
      it(`is seen within one scrub while the notary runs, and at the next start: ${number}, ${what}`, () =>
        run(async (store) => {
          const changed = to(underSeal);
          store.replace(underSeal);
          const signed: number[] = [];
          let scrubs = 0;
          const stop = new AbortController();
          const running = await errorOf(
            runNotary(
              {
                ...notarizing(store),
                scrubEvery: 5_000,
                onCheckpoint: ({ size }) => signed.push(size),
                onScrubbed: () => {
                  scrubs += 1;
                  if (scrubs === 1) store.replace(changed);
                  else stop.abort();
                },
              },
              stop.signal,
            ),
          );
          const at = position(seenAt - 1);
          const next = changed.find((event) => event.position >= at)?.position;
          const past = changed.at(-1)?.position ?? 0n;
          const wanted = {
            name: 'DamagedLog',
            position: namesMissing && next !== undefined ? at : (next ?? past),
          };
          expect(running).to.include(wanted);
          expect([scrubs, signed]).to.deep.equal([1, [70]]);
          expect(await found(notarizing(store))).to.include(wanted);
          expect((await store.tiles.kept()).map(({ size }) => size)).to.deep.equal([70]);
          expect(await errorOf(assertUndamaged(store.tiles))).to.have.property('code', 'log_damaged');
        }));
  });
