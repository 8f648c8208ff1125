import { expect } from 'chai';
import type { EventMark } from '../../application/ports/event-store.js';
import type { ProjectedBatch, ProjectionStore, Stored } from '../../application/ports/read-models.js';
import { derivedUuid, Instant } from '../../domain/ids.js';
import { counts, notes, storedNote } from '../support/fixtures/notes.js';
import type { OpenedReadModels } from './read-models.js';

/** What every ProjectionStore promises. `open` is called for each test. */
export const projectionStoreContract = (name: string, open: () => Promise<OpenedReadModels>): void => {
  describe(`the projection store contract: ${name}`, () => {
    const using = async (run: (store: ProjectionStore) => Promise<void>): Promise<void> => {
      const { store, close } = await open();
      try {
        await run(store);
      } finally {
        await close();
      }
    };

    const batch = (
      generation: number,
      checkpoint: bigint,
      ...documents: readonly Stored<unknown>[]
    ): ProjectedBatch => ({
      projection: notes,
      generation,
      documents,
      checkpoint,
    });

    const markAt = (position: bigint): EventMark => ({
      id: derivedUuid('event', String(position)),
      hash: `hash ${position}`,
      at: Instant.parse('2026-03-01T12:00:00.000Z'),
    });

    const loaded = async (store: ProjectionStore, generation: number, ...keys: readonly string[]) => [
      ...(await store.load(notes, generation, keys)).entries(),
    ];

    it('starts a projection from the beginning of the log, once', () =>
      using(async (store) => {
        const first = await store.active(notes);
        expect(first.checkpoint).to.equal(0n);
        expect(await store.active(notes)).to.deep.equal(first);
        expect((await store.active(counts)).checkpoint).to.equal(0n);
      }));

    it('loads saved documents, and nothing for other keys', () =>
      using(async (store) => {
        const { generation } = await store.active(notes);
        const note = storedNote('a', 2, { org: 'o', text: 'Zoë — “ß”\n', tag: 't' }, 2 ** 40);
        await store.save([batch(generation, 7n, note, storedNote('b', 3))]);
        expect(await loaded(store, generation, 'x', 'a')).to.deep.equal([['a', note]]);
        expect(await store.active(notes)).to.deep.equal({ generation, checkpoint: 7n });
      }));

    it('keeps the document of the latest position, in any order and however often documents are saved', () =>
      using(async (store) => {
        const { generation } = await store.active(notes);
        const at = (position: number) =>
          storedNote('a', 1, { org: 'o', text: `at ${position}`, status: `s${position % 2}` }, position);
        await store.save([batch(generation, 1n, at(1))]);
        for (const position of [3, 2, 1, 3, 2]) await store.save([batch(generation, 1n, at(position))]);
        expect(await loaded(store, generation, 'a')).to.deep.equal([['a', at(3)]]);
        await store.save([batch(generation, 9n, at(4), at(2))]);
        await store.save([batch(generation, 9n, at(4))]);
        expect(await loaded(store, generation, 'a')).to.deep.equal([['a', at(4)]]);
      }));

    it('keeps the event of a checkpoint, and never gives it that of a late save', () =>
      using(async (store) => {
        const { generation } = await store.active(notes);
        const save = (checkpoint: bigint) =>
          store.save([{ ...batch(generation, checkpoint), event: markAt(checkpoint) }]);
        await save(5n);
        const saved = { generation, checkpoint: 5n };
        expect(await store.active(notes)).to.deep.equal({ ...saved, event: markAt(5n) });
        await save(4n);
        const { event, ...late } = await store.active(notes);
        expect(late).to.deep.equal(saved);
        expect(event ?? markAt(5n)).to.deep.equal(markAt(5n));
        await save(6n);
        expect(await store.active(notes)).to.deep.equal({ generation, checkpoint: 6n, event: markAt(6n) });
      }));

    it('never moves a checkpoint back', () =>
      using(async (store) => {
        const { generation } = await store.active(notes);
        await store.save([batch(generation, 5n)]);
        await store.save([batch(generation, 4n)]);
        expect((await store.active(notes)).checkpoint).to.equal(5n);
        await store.save([batch(generation, 6n)]);
        expect((await store.active(notes)).checkpoint).to.equal(6n);
      }));

    it('saves several projections at once', () =>
      using(async (store) => {
        const builds = { notes: await store.active(notes), counts: await store.active(counts) };
        const count = { key: 'a', created: 1n, position: 2n, document: { count: 2 } };
        await store.save([
          batch(builds.notes.generation, 2n, storedNote('a', 1)),
          { projection: counts, generation: builds.counts.generation, documents: [count], checkpoint: 2n },
        ]);
        expect((await store.active(notes)).checkpoint).to.equal(2n);
        expect((await store.active(counts)).checkpoint).to.equal(2n);
        expect(await store.load(counts, builds.counts.generation, ['a'])).to.deep.equal(
          new Map([['a', count]]),
        );
      }));

    it('builds beside the active build, and switches', () =>
      using(async (store) => {
        const active = await store.active(notes);
        await store.save([batch(active.generation, 5n, storedNote('a', 1))]);
        const build = await store.startBuild(notes);
        expect(build.checkpoint).to.equal(0n);
        expect(build.generation).to.be.greaterThan(active.generation);
        expect(await loaded(store, build.generation, 'a')).to.deep.equal([]);
        await store.save([batch(build.generation, 3n, storedNote('b', 2))]);
        await store.save([batch(active.generation, 6n, storedNote('c', 6))]);
        expect(await store.active(notes)).to.deep.equal({ generation: active.generation, checkpoint: 6n });
        await store.activate(notes, build.generation);
        expect(await store.active(notes)).to.deep.equal({ generation: build.generation, checkpoint: 3n });
        await store.activate(notes, build.generation);
        expect(await store.active(notes)).to.deep.equal({ generation: build.generation, checkpoint: 3n });
        expect(await loaded(store, build.generation, 'a', 'b')).to.deep.equal([['b', storedNote('b', 2)]]);
      }));

    it('drops an unfinished build for a new one', () =>
      using(async (store) => {
        const active = await store.active(notes);
        const first = await store.startBuild(notes);
        await store.save([batch(first.generation, 3n, storedNote('b', 2))]);
        const second = await store.startBuild(notes);
        expect(second.checkpoint).to.equal(0n);
        expect(second.generation).to.be.greaterThan(first.generation);
        expect(await loaded(store, second.generation, 'b')).to.deep.equal([]);
        const late = await store.save([batch(first.generation, 9n, storedNote('z', 9))]).then(
          () => 'saved',
          () => 'refused',
        );
        expect(late).to.equal('refused');
        expect((await store.active(notes)).generation).to.equal(active.generation);
      }));
  });
};
