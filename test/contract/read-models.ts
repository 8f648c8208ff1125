import { expect } from 'chai';
import {
  everyOrganization,
  ReadModelsUnavailable,
  type PageQuery,
  type ProjectionStore,
  type ReadModels,
  type Stored,
} from '../../application/ports/read-models.js';
import type { Projection } from '../../projections/projection.js';
import { counts, notes, storedNote, type Note } from '../support/fixtures/notes.js';

export interface OpenedReadModels {
  readonly readModels: ReadModels;
  readonly store: ProjectionStore;
  /** Lets at least 5 s pass for a reader that needs them to see that another build is active. */
  readonly later: () => Promise<void>;
  readonly close: () => Promise<void>;
}

export const saveAll = async <Document>(
  store: ProjectionStore,
  projection: Projection<Document>,
  documents: readonly Stored<Document>[],
  checkpoint = 0n,
) => {
  const { generation } = await store.active(projection);
  await store.save([{ projection, generation, documents, checkpoint }]);
};

/** What every ReadModels promises. `open` is called for each test. */
export const readModelsContract = (name: string, open: () => Promise<OpenedReadModels>): void => {
  describe(`the read models contract: ${name}`, () => {
    const using = async (run: (opened: OpenedReadModels) => Promise<void>): Promise<void> => {
      const opened = await open();
      try {
        await opened.store.active(notes);
        await run(opened);
      } finally {
        await opened.close();
      }
    };

    const keysOf = (page: readonly Stored<unknown>[]) => page.map(({ key }) => key);

    const pages = async (
      readModels: ReadModels,
      query: PageQuery,
      between: () => Promise<void> = () => Promise.resolve(),
    ) => {
      const found: string[][] = [];
      for (let before = query.before; ;) {
        const page = await readModels.page(notes, before === undefined ? query : { ...query, before });
        found.push(keysOf(page));
        const last = page.at(-1);
        if (last === undefined) return found;
        before = last.created;
        await between();
      }
    };

    it('finds a document by its exact key, or nothing', () =>
      using(async ({ readModels, store }) => {
        const note = storedNote('a', 3, { org: 'o', text: 'Zoë — “ß”\n', tag: 't', due: '2026-03-02' }, 9);
        await saveAll(store, notes, [note]);
        expect(await readModels.get(notes, 'a')).to.deep.equal(note);
        expect(await readModels.get(notes, 'b')).to.equal(null);
        expect(await readModels.get(notes, 'A')).to.equal(null);
      }));

    it('shows a page and a document as they are by now, however often they were read before', () =>
      using(async ({ readModels, store, later }) => {
        const at = (position: number, text: string) => storedNote('a', 3, { org: 'o', text }, position);
        const other = storedNote('b', 4, { org: 'o' }, 4);
        const read = async () => [
          ...(await readModels.page(notes, { org: 'o', limit: 10 })),
          await readModels.get(notes, 'a'),
        ];
        for (const [position, text] of [
          [5, 'first'],
          [9, 'second'],
        ] as const) {
          const note = at(position, text);
          await saveAll(store, notes, [note, other]);
          for (let time = 0; time < 3; time += 1) expect(await read()).to.deep.equal([other, note, note]);
        }
        const { generation } = await store.startBuild(notes);
        const rebuilt = at(9, 'rebuilt');
        await store.save([{ projection: notes, generation, documents: [rebuilt, other], checkpoint: 9n }]);
        await store.activate(notes, generation);
        await later();
        expect(await read()).to.deep.equal([other, rebuilt, rebuilt]);
      }));

    it('finds nothing before anything is projected', () =>
      using(async ({ readModels, store }) => {
        await store.active(notes);
        await store.active(counts);
        expect(await readModels.page(notes, { org: 'o', limit: 10 })).to.deep.equal([]);
        expect(await readModels.get(counts, 'a')).to.equal(null);
        expect(await readModels.page(counts, { org: null, limit: 10 })).to.deep.equal([]);
      }));

    it('refuses a reader for whom there is no build yet, rather than find nothing', () =>
      using(async ({ readModels, store, later }) => {
        const [first, second] = [1, 2].map((version) => ({ ...notes, name: 'letters', version }));
        if (first === undefined || second === undefined) throw new Error('there are two');
        await saveAll(store, second, [storedNote('a', 1, { org: 'o' })]);
        expect((await store.active(first)).hidden).to.equal(true);
        await later();
        for (const query of [
          () => readModels.get(first, 'a'),
          () => readModels.page(first, { org: 'o', limit: 10 }),
          () => readModels.agenda(first, { upTo: '9', limit: 10 }),
        ]) {
          const outcome = await query().catch((error: unknown) => error);
          expect(outcome).to.be.instanceOf(ReadModelsUnavailable);
        }
        expect((await readModels.get(second, 'a'))?.key).to.equal('a');
      }));

    it('refuses an agenda that a build of an earlier version can’t give, rather than find nothing', () =>
      using(async ({ readModels, store, later }) => {
        const first: Projection<Note> = {
          name: 'memos',
          version: 1,
          category: notes.category,
          key: (event) => notes.key(event),
          evolve: (note, event) => notes.evolve(note, event),
          org: (note) => note.org,
          indexes: notes.indexes,
        };
        const second: Projection<Note> = { ...first, version: 2, agenda: ({ due }) => due };
        await saveAll(store, first, [storedNote('a', 1, { org: 'o' })], 1n);
        const { generation } = await store.active(second);
        const agenda = () => readModels.agenda(second, { upTo: 'z', limit: 10 });
        expect(await agenda().catch((error: unknown) => error)).to.be.instanceOf(ReadModelsUnavailable);
        expect((await readModels.get(second, 'a'))?.key).to.equal('a');
        expect(keysOf(await readModels.page(first, { org: 'o', limit: 10 }))).to.deep.equal(['a']);
        await store.save([{ projection: second, generation, documents: [], checkpoint: 1n }]);
        await store.activate(second, generation);
        await later();
        expect(await agenda()).to.deep.equal([]);
      }));

    it('lists the documents of one organization, latest created first', () =>
      using(async ({ readModels, store }) => {
        const all = [
          storedNote('a', 3, { org: 'o' }, 50),
          storedNote('b', 1, { org: 'o' }, 60),
          storedNote('c', 2, { org: 'o' }),
          storedNote('x', 4, { org: 'p' }),
        ];
        await saveAll(store, notes, [...all, storedNote('n', 5)]);
        expect(keysOf(await readModels.page(notes, { org: 'o', limit: 10 }))).to.deep.equal(['a', 'c', 'b']);
        expect(keysOf(await readModels.page(notes, { org: 'o', limit: 2 }))).to.deep.equal(['a', 'c']);
        expect(keysOf(await readModels.page(notes, { org: 'o', limit: 10, before: 3n }))).to.deep.equal([
          'c',
          'b',
        ]);
        expect(keysOf(await readModels.page(notes, { org: 'o', limit: 10, before: 1n }))).to.deep.equal([]);
        expect(keysOf(await readModels.page(notes, { org: null, limit: 10 }))).to.deep.equal(['n']);
        expect(keysOf(await readModels.page(notes, { org: '', limit: 10 }))).to.deep.equal([]);
      }));

    it('filters by exact values, and by several fields at once', () =>
      using(async ({ readModels, store }) => {
        const note = (key: string, created: number, status: string, tag: string | null) =>
          storedNote(key, created, { org: 'o', status, tag });
        await saveAll(store, notes, [
          note('a', 1, 'open', 'x'),
          note('b', 2, 'done', 'x'),
          note('c', 3, 'open', 'X'),
          note('d', 4, 'open', null),
          note('e', 5, 'open', 'x'),
          storedNote('f', 6, { org: 'p', tag: 'x' }),
        ]);
        const found = async (where: Readonly<Record<string, string>>) =>
          keysOf(await readModels.page(notes, { org: 'o', where, limit: 10 }));
        expect(await found({ status: 'open' })).to.deep.equal(['e', 'd', 'c', 'a']);
        expect(await found({ tag: 'x' })).to.deep.equal(['e', 'b', 'a']);
        expect(await found({ tag: 'X' })).to.deep.equal(['c']);
        expect(await found({ tag: 'x', status: 'open' })).to.deep.equal(['e', 'a']);
        expect(await found({ status: 'done', tag: 'X' })).to.deep.equal([]);
        expect(await found({ tag: "x' or 1=1 --" })).to.deep.equal([]);
        expect(await found({ tag: '$x' })).to.deep.equal([]);
      }));

    it('finds a changed document by its new fields only', () =>
      using(async ({ readModels, store }) => {
        await saveAll(store, notes, [storedNote('a', 1, { org: 'o', status: 'open' })], 1n);
        await saveAll(store, notes, [storedNote('a', 1, { org: 'o', status: 'done', tag: 'x' }, 2)], 2n);
        const found = async (where: Readonly<Record<string, string>>) =>
          keysOf(await readModels.page(notes, { org: 'o', where, limit: 10 }));
        expect(await found({ status: 'open' })).to.deep.equal([]);
        expect(await found({ status: 'done' })).to.deep.equal(['a']);
        expect(await found({ tag: 'x', status: 'done' })).to.deep.equal(['a']);
      }));

    it('pages without a skip or a repeat while documents are added and changed', () =>
      using(async ({ readModels, store }) => {
        const note = (number: number, position = number) =>
          storedNote(
            `n${number}`,
            number,
            { org: 'o', status: position % 2 === 0 ? 'even' : 'odd' },
            position,
          );
        await saveAll(
          store,
          notes,
          Array.from({ length: 10 }, (_, index) => note(index + 1)),
        );
        let next = 11;
        const add = async () => {
          await saveAll(store, notes, [note(next), note(next + 1), note(1 + (next % 10), next + 2)]);
          next += 3;
        };
        expect(await pages(readModels, { org: 'o', limit: 3 }, add)).to.deep.equal([
          ['n10', 'n9', 'n8'],
          ['n7', 'n6', 'n5'],
          ['n4', 'n3', 'n2'],
          ['n1'],
          [],
        ]);
      }));

    it('lists the documents of all organizations together by the fields that it is indexed for, in pages', () =>
      using(async ({ readModels, store }) => {
        await saveAll(store, notes, [
          storedNote('a', 1, { org: 'o', tag: 'x' }),
          storedNote('b', 2, { org: 'p', tag: 'x' }),
          storedNote('c', 3, { org: 'p', status: 'done', tag: 'x' }),
          storedNote('d', 4, { org: 'q' }),
          storedNote('e', 5, { org: 'o', tag: 'y' }),
        ]);
        const across = async (where: Readonly<Record<string, string>>, limit = 9, before?: bigint) =>
          keysOf(await readModels.page(notes, { org: everyOrganization, where, limit, before }));
        expect(await across({ status: 'open' })).to.deep.equal(['e', 'd', 'b', 'a']);
        expect(await across({ status: 'open' }, 2, 5n)).to.deep.equal(['d', 'b']);
        expect(await across({ tag: 'x', status: 'open' })).to.deep.equal(['b', 'a']);
        expect(await across({ status: 'done' })).to.deep.equal(['c']);
        expect(await across({ status: 'none' })).to.deep.equal([]);
        await saveAll(store, notes, [storedNote('d', 4, { org: 'q', status: 'done', tag: 'x' }, 6)]);
        expect(await across({ status: 'open' })).to.deep.equal(['e', 'b', 'a']);
        expect(await across({ tag: 'x', status: 'done' })).to.deep.equal(['d', 'c']);
        const count = (where: Readonly<Record<string, string>>) =>
          readModels.count(notes, { org: everyOrganization, where });
        expect([await count({ status: 'open' }), await count({ status: 'done', tag: 'x' })]).to.deep.equal([
          3, 2,
        ]);
        expect(await count({ status: 'none' })).to.equal(0);
        for (const where of [{}, { tag: 'x' }])
          expect(await across(where).catch((error: unknown) => String(error))).to.match(/not listed across/);
      }));

    it('counts the documents of one organization by exact values', () =>
      using(async ({ readModels, store }) => {
        await store.active(counts);
        const many = Array.from({ length: 40 }, (_, index) =>
          storedNote(`n${index}`, index + 1, {
            org: 'o',
            status: index % 4 === 0 ? 'done' : 'open',
            tag: 'x',
          }),
        );
        await saveAll(store, notes, [...many, storedNote('p', 99, { org: 'p' })]);
        const count = (where: Readonly<Record<string, string>>, of: string | null = 'o') =>
          readModels.count(notes, { org: of, where });
        expect([await count({ status: 'done' }), await count({ status: 'open', tag: 'x' })]).to.deep.equal([
          10, 30,
        ]);
        expect([await count({ status: 'none' }), await count({}), await count({}, 'p')]).to.deep.equal([
          0, 40, 1,
        ]);
        expect(await readModels.count(counts, { org: null, where: {} })).to.equal(0);
      }));

    it('returns what is on the agenda of every organization, by agenda and creation', () =>
      using(async ({ readModels, store }) => {
        await saveAll(store, notes, [
          storedNote('c', 1, { org: 'o', due: '2026-03-02' }),
          storedNote('a', 2, { org: 'p', due: '2026-03-02' }),
          storedNote('b', 3, { org: 'o', due: '2026-03-01' }),
          storedNote('d', 4, { org: 'o', due: '2026-03-03' }),
          storedNote('e', 5, { org: 'o' }),
        ]);
        expect(keysOf(await readModels.agenda(notes, { upTo: '2026-03-02', limit: 10 }))).to.deep.equal([
          'b',
          'c',
          'a',
        ]);
        expect(keysOf(await readModels.agenda(notes, { upTo: '2026-03-02', limit: 2 }))).to.deep.equal([
          'b',
          'c',
        ]);
        const after = (agenda: string, created: bigint) =>
          readModels.agenda(notes, { upTo: '2026-03-09', after: { agenda, created }, limit: 10 });
        expect(keysOf(await after('2026-03-02', 1n))).to.deep.equal(['a', 'd']);
        expect(keysOf(await after('2026-03-01', 9n))).to.deep.equal(['c', 'a', 'd']);
        await saveAll(store, notes, [storedNote('a', 2, { org: 'p' }, 6)]);
        expect(keysOf(await readModels.agenda(notes, { upTo: '2026-03-02', limit: 10 }))).to.deep.equal([
          'b',
          'c',
        ]);
      }));

    it('shows a build only once it is active', () =>
      using(async ({ readModels, store, later }) => {
        const old = storedNote('a', 1, { org: 'o', text: 'old' });
        const rebuilt: Stored<Note> = storedNote('a', 1, { org: 'o', text: 'new' });
        await saveAll(store, notes, [old], 1n);
        const { generation } = await store.startBuild(notes);
        await store.save([{ projection: notes, generation, documents: [rebuilt], checkpoint: 1n }]);
        await later();
        expect(await readModels.get(notes, 'a')).to.deep.equal(old);
        expect(await readModels.page(notes, { org: 'o', limit: 5 })).to.deep.equal([old]);
        await store.activate(notes, generation);
        await later();
        expect(await readModels.get(notes, 'a')).to.deep.equal(rebuilt);
        expect(await readModels.page(notes, { org: 'o', limit: 5 })).to.deep.equal([rebuilt]);
      }));

    it('shows the previous version until the new one is active', () =>
      using(async ({ readModels, store, later }) => {
        const second = { ...notes, version: 2 };
        const old = storedNote('a', 1, { org: 'o', text: 'old' });
        await saveAll(store, notes, [old], 1n);
        const { generation, checkpoint } = await store.active(second);
        expect(checkpoint).to.equal(0n);
        expect(await readModels.get(second, 'a')).to.deep.equal(old);
        const rebuilt = storedNote('a', 1, { org: 'o', text: 'new' });
        await store.save([{ projection: second, generation, documents: [rebuilt], checkpoint: 1n }]);
        expect(await store.active(second)).to.deep.equal({ generation, checkpoint: 1n, hidden: true });
        expect(await readModels.get(second, 'a')).to.deep.equal(old);
        await store.activate(second, generation);
        await later();
        expect(await readModels.get(second, 'a')).to.deep.equal(rebuilt);
      }));
  });
};
