import { expect } from 'chai';
import type { Records, StoredRecord } from '../../application/ports/records.js';
import type { VirtualClock } from '../support/memory/clock.js';

interface Opened<Kind extends string> {
  readonly records: Records<Kind>;
  readonly clock: VirtualClock;
  /** The same records after a restart, if they are durable. */
  readonly reopen?: () => Promise<Records<Kind>>;
  readonly close: () => Promise<void>;
}

const minute = 60_000;

/** What every store of records promises, for three of its kinds. `open` is called for each test. */
export const recordsContract = <Kind extends string>(
  name: string,
  [first, second, third]: readonly [Kind, Kind, Kind],
  open: () => Promise<Opened<Kind>>,
): void => {
  describe(`the records contract: ${name}`, () => {
    const using = async (run: (opened: Opened<Kind>) => Promise<void>): Promise<void> => {
      const opened = await open();
      try {
        await run(opened);
      } finally {
        await opened.close();
      }
    };

    const one = (id: string, more: Partial<StoredRecord<Kind>> = {}): StoredRecord<Kind> => ({
      kind: first,
      id,
      owner: 'ada',
      data: { browser: 'Firefox', times: [1, { a: null }] },
      ends: null,
      ...more,
    });

    const idsOf = (found: readonly StoredRecord<Kind>[]): string[] => found.map(({ id }) => id);

    it('finds a record whole by its kind and id, also after a restart', () =>
      using(async ({ records, clock, reopen }) => {
        const ends = clock.now() + minute;
        expect(await records.add(one('a', { ends }))).to.equal(true);
        expect(await records.add(one('a', { kind: second, data: {} }))).to.equal(true);
        const read = (await reopen?.()) ?? records;
        expect(await read.find(first, 'a')).to.deep.equal({ ...one('a', { ends }), version: 0 });
        expect((await read.find(second, 'a'))?.data).to.deep.equal({});
        expect([await read.find(third, 'a'), await read.find(first, 'b')]).to.deep.equal([null, null]);
      }));

    it('adds one record for an id, of many that are added at once', () =>
      using(async ({ records }) => {
        const added = await Promise.all(
          Array.from({ length: 10 }, (_, number) => records.add(one('a', { data: { number } }))),
        );
        expect(added.filter(Boolean)).to.have.length(1);
        expect((await records.find(first, 'a'))?.data).to.deep.equal({ number: added.indexOf(true) });
      }));

    it('changes a record once from each version', () =>
      using(async ({ records, clock }) => {
        await records.add(one('a'));
        const found = await records.find(first, 'a');
        if (found === null) throw new Error('it was added');
        const changes = await Promise.all(
          [1, 2, 3].map((number) => records.change(found, { data: { number }, ends: clock.now() + minute })),
        );
        expect(changes.filter(Boolean)).to.have.length(1);
        const changed = await records.find(first, 'a');
        expect([changed?.data, changed?.ends, changed?.owner]).to.deep.equal([
          { number: changes.indexOf(true) + 1 },
          clock.now() + minute,
          'ada',
        ]);
        expect(await records.change(found, { data: {}, ends: null })).to.equal(false);
      }));

    it('removes a record for one caller alone', () =>
      using(async ({ records }) => {
        await records.add(one('a'));
        const removed = await Promise.all([1, 2, 3, 4].map(() => records.remove(first, 'a')));
        expect(removed.filter(Boolean)).to.have.length(1);
        expect(await records.find(first, 'a')).to.equal(null);
        expect(await records.remove(first, 'a')).to.equal(false);
      }));

    it('lists and removes what belongs to one owner, and leaves the rest', () =>
      using(async ({ records }) => {
        for (const id of ['c', 'a', 'b']) await records.add(one(id));
        await records.add(one('d', { owner: 'bo' }));
        await records.add(one('e', { kind: second }));
        expect(idsOf(await records.listOf(first, 'ada'))).to.deep.equal(['a', 'b', 'c']);
        await records.removeAllOf(first, 'ada', 'b');
        expect(idsOf(await records.listOf(first, 'ada'))).to.deep.equal(['b']);
        await records.removeAllOf(first, 'ada', null);
        expect(await records.listOf(first, 'ada')).to.deep.equal([]);
        expect(idsOf(await records.listOf(first, 'bo'))).to.deep.equal(['d']);
        expect(idsOf(await records.listOf(second, 'ada'))).to.deep.equal(['e']);
      }));

    it('knows nothing of a record from its end on, and gives its id away again', () =>
      using(async ({ records, clock }) => {
        await records.add(one('a', { ends: clock.now() + minute }));
        await records.add(one('b'));
        const found = await records.find(first, 'a');
        if (found === null) throw new Error('it was added');
        await clock.advance(minute);
        expect(await records.find(first, 'a')).to.equal(null);
        expect(idsOf(await records.listOf(first, 'ada'))).to.deep.equal(['b']);
        expect(await records.change(found, { data: {}, ends: null })).to.equal(false);
        expect(await records.remove(first, 'a')).to.equal(false);
        expect(await records.add(one('a', { data: { again: true } }))).to.equal(true);
        await records.removeEnded();
        expect(await records.find(first, 'a')).to.deep.include({ data: { again: true }, version: 0 });
        expect(idsOf(await records.listOf(first, 'ada'))).to.deep.equal(['a', 'b']);
      }));
  });
};
