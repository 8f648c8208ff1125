import { expect } from 'chai';
import type { SignInRecord, SignInRecords } from '../../application/ports/sign-in-records.js';
import type { VirtualClock } from '../support/memory/clock.js';

interface Opened {
  readonly records: SignInRecords;
  readonly clock: VirtualClock;
  /** The same records after a restart, if they are durable. */
  readonly reopen?: () => Promise<SignInRecords>;
  readonly close: () => Promise<void>;
}

const minute = 60_000;

/** What every SignInRecords promises. `open` is called for each test. */
export const signInRecordsContract = (name: string, open: () => Promise<Opened>): void => {
  describe(`the sign-in records contract: ${name}`, () => {
    const using = async (run: (opened: Opened) => Promise<void>): Promise<void> => {
      const opened = await open();
      try {
        await run(opened);
      } finally {
        await opened.close();
      }
    };

    const session = (id: string, more: Partial<SignInRecord> = {}): SignInRecord => ({
      kind: 'session',
      id,
      owner: 'ada',
      data: { browser: 'Firefox', times: [1, { a: null }] },
      ends: null,
      ...more,
    });

    const idsOf = (found: readonly SignInRecord[]): string[] => found.map(({ id }) => id);

    it('finds a record whole by its kind and id, also after a restart', () =>
      using(async ({ records, clock, reopen }) => {
        const ends = clock.now() + minute;
        expect(await records.add(session('a', { ends }))).to.equal(true);
        expect(await records.add(session('a', { kind: 'link', data: {} }))).to.equal(true);
        const read = (await reopen?.()) ?? records;
        expect(await read.find('session', 'a')).to.deep.equal({ ...session('a', { ends }), version: 0 });
        expect((await read.find('link', 'a'))?.data).to.deep.equal({});
        expect([await read.find('form', 'a'), await read.find('session', 'b')]).to.deep.equal([null, null]);
      }));

    it('adds one record for an id, of many that are added at once', () =>
      using(async ({ records }) => {
        const added = await Promise.all(
          Array.from({ length: 10 }, (_, number) => records.add(session('a', { data: { number } }))),
        );
        expect(added.filter(Boolean)).to.have.length(1);
        expect((await records.find('session', 'a'))?.data).to.deep.equal({ number: added.indexOf(true) });
      }));

    it('changes a record once from each version', () =>
      using(async ({ records, clock }) => {
        await records.add(session('a'));
        const found = await records.find('session', 'a');
        if (found === null) throw new Error('it was added');
        const changes = await Promise.all(
          [1, 2, 3].map((number) => records.change(found, { data: { number }, ends: clock.now() + minute })),
        );
        expect(changes.filter(Boolean)).to.have.length(1);
        const changed = await records.find('session', 'a');
        expect([changed?.data, changed?.ends, changed?.owner]).to.deep.equal([
          { number: changes.indexOf(true) + 1 },
          clock.now() + minute,
          'ada',
        ]);
        expect(await records.change(found, { data: {}, ends: null })).to.equal(false);
      }));

    it('removes a record for one caller alone', () =>
      using(async ({ records }) => {
        await records.add(session('a'));
        const removed = await Promise.all([1, 2, 3, 4].map(() => records.remove('session', 'a')));
        expect(removed.filter(Boolean)).to.have.length(1);
        expect(await records.find('session', 'a')).to.equal(null);
        expect(await records.remove('session', 'a')).to.equal(false);
      }));

    it('lists and removes what belongs to one owner, and leaves the rest', () =>
      using(async ({ records }) => {
        for (const id of ['c', 'a', 'b']) await records.add(session(id));
        await records.add(session('d', { owner: 'bo' }));
        await records.add(session('e', { kind: 'link' }));
        expect(idsOf(await records.listOf('session', 'ada'))).to.deep.equal(['a', 'b', 'c']);
        await records.removeAllOf('session', 'ada', 'b');
        expect(idsOf(await records.listOf('session', 'ada'))).to.deep.equal(['b']);
        await records.removeAllOf('session', 'ada', null);
        expect(await records.listOf('session', 'ada')).to.deep.equal([]);
        expect(idsOf(await records.listOf('session', 'bo'))).to.deep.equal(['d']);
        expect(idsOf(await records.listOf('link', 'ada'))).to.deep.equal(['e']);
      }));

    it('knows nothing of a record from its end on, and gives its id away again', () =>
      using(async ({ records, clock }) => {
        await records.add(session('a', { ends: clock.now() + minute }));
        await records.add(session('b'));
        const found = await records.find('session', 'a');
        if (found === null) throw new Error('it was added');
        await clock.advance(minute);
        expect(await records.find('session', 'a')).to.equal(null);
        expect(idsOf(await records.listOf('session', 'ada'))).to.deep.equal(['b']);
        expect(await records.change(found, { data: {}, ends: null })).to.equal(false);
        expect(await records.remove('session', 'a')).to.equal(false);
        expect(await records.add(session('a', { data: { again: true } }))).to.equal(true);
        await records.removeEnded();
        expect((await records.find('session', 'a'))?.data).to.deep.equal({ again: true });
        expect(idsOf(await records.listOf('session', 'ada'))).to.deep.equal(['a', 'b']);
      }));
  });
};
