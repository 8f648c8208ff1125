import { expect } from 'chai';
import { UnknownEvent } from '../../../domain/events.js';
import fc from 'fast-check';
import { VirtualClock } from '../../support/memory/clock.js';
import { MemoryEventStore } from '../../support/memory/event-store.js';
import { MemoryReadModels } from '../../support/memory/read-models.js';
import { EventStoreUnavailable, noStream, type LogReader } from '../../../application/ports/event-store.js';
import type { ProjectionStore, Stored } from '../../../application/ports/read-models.js';
import { Projector, type ProjectorOptions } from '../../../application/projecting/project.js';
import { ProjectionBoard } from '../../../application/projecting/projection-board.js';
import { streamName } from '../../../domain/ids.js';
import type { Projection } from '../../../projections/projection.js';
import { eventually } from '../../support/time/eventually.js';
import {
  counts,
  noteEvent,
  notes,
  noteStream,
  type Note,
  type NoteChange,
} from '../../support/fixtures/notes.js';

interface Scripted {
  readonly id: string;
  readonly change: NoteChange;
}

const append = async (log: MemoryEventStore, { id, change }: Scripted): Promise<void> => {
  const revision = ((await log.readLast(noteStream(id)))?.revision ?? noStream) + 1;
  await log.append([
    { stream: noteStream(id), expected: revision - 1, events: [noteEvent(id, revision, change)] },
  ]);
};

/** An event that no projection here folds. */
const appendOther = async (log: MemoryEventStore, id: string): Promise<void> => {
  await log.append([
    { stream: streamName('hook', id), expected: noStream, events: [noteEvent(id, 0, {}, 'Ignored')] },
  ]);
};

const script = fc.array(
  fc.record({
    id: fc.constantFrom('a', 'b', 'c', 'd'),
    change: fc.record(
      {
        org: fc.constantFrom('o', 'p'),
        text: fc.string(),
        status: fc.constantFrom('open', 'done'),
        tag: fc.constantFrom(null, 'x', 'y'),
        due: fc.constantFrom(null, '1'),
      },
      { requiredKeys: [] },
    ),
  }),
  { maxLength: 40 },
);

/** What the projection must hold: a fold of the whole log. */
const folded = async <Document>(
  log: MemoryEventStore,
  projection: Projection<Document>,
  upTo: bigint,
): Promise<Stored<Document>[]> => {
  const documents = new Map<string, Stored<Document>>();
  for (const event of await log.readLog(0n, Number(upTo))) {
    if (!event.stream.startsWith(`${projection.category}-`)) continue;
    const key = projection.key(event);
    const before = documents.get(key);
    const document = projection.evolve(before?.document ?? null, event);
    if (document !== null && document !== before?.document)
      documents.set(key, {
        key,
        created: before?.created ?? event.position,
        position: event.position,
        document,
      });
  }
  return [...documents.values()];
};

const held = async <Document>(
  readModels: MemoryReadModels,
  projection: Projection<Document>,
): Promise<readonly Stored<Document>[]> => {
  const pages = await Promise.all(
    ['o', 'p', null].map((org) => readModels.page(projection, { org, limit: 100_000 })),
  );
  return pages.flat().sort((a, b) => Number(a.created - b.created));
};

/** A log that returns three events at a time. */
const inSmallSteps = (log: MemoryEventStore): LogReader => ({
  readLog: (after, limit) => log.readLog(after, Math.min(limit, 3)),
  head: () => log.head(),
  markAt: (position) => log.markAt(position),
  follow: (after, { signal }) => log.follow(after, { signal, batch: 3 }),
});

/** A log that returns everything twice, and then the beginning once more. */
const repeating = (log: MemoryEventStore): LogReader => ({
  readLog: () => Promise.resolve([]),
  head: () => log.head(),
  markAt: (position) => log.markAt(position),
  follow: async function* (after, { signal }) {
    for await (const events of log.follow(after, { signal, batch: 2 })) {
      yield events;
      yield events;
      yield log.readLog(0n, 3);
    }
  },
});

const boundStore = (store: MemoryReadModels): ProjectionStore => ({
  active: (projection) => store.active(projection),
  startBuild: (projection) => store.startBuild(projection),
  activate: (projection, generation) => store.activate(projection, generation),
  load: (projection, generation, keys) => store.load(projection, generation, keys),
  save: (batches) => store.save(batches),
});

/**
 * A store that dies in the middle of a save, after the given number of saves. It keeps nothing of that one,
 * its documents without the checkpoint, or all of it.
 */
const dyingAfter = (
  store: MemoryReadModels,
  saves: number,
  keeps: 'nothing' | 'documents' | 'all',
): ProjectionStore => {
  let left = saves;
  return {
    ...boundStore(store),
    save: async (batches) => {
      left -= 1;
      if (left >= 0) return store.save(batches);
      if (left === -1 && keeps !== 'nothing')
        await store.save(batches.map((batch) => (keeps === 'all' ? batch : { ...batch, checkpoint: 0n })));
      throw new Error('killed');
    },
  };
};

/** What every projection has passed; 0 before the projector has begun. */
const projectedUpTo = (board: ProjectionBoard): bigint =>
  board
    .current()
    .projections.reduce<bigint | null>(
      (least, { checkpoint }) => (least === null || checkpoint < least ? checkpoint : least),
      null,
    ) ?? 0n;

const world = (
  options: Partial<ProjectorOptions> & {
    readonly readModels?: MemoryReadModels;
    readonly events?: MemoryEventStore;
  } = {},
) => {
  const {
    events: log = new MemoryEventStore({ atomic: true }),
    readModels = new MemoryReadModels(),
    ...rest
  } = options;
  const clock = new VirtualClock();
  const board = new ProjectionBoard(clock);
  const failures: Error[] = [];
  const projector = new Projector({
    projections: [notes, counts],
    store: readModels,
    log,
    clock,
    reports: board,
    fail: (error) => failures.push(error),
    ...rest,
  });
  const stop = new AbortController();
  let running = Promise.resolve();
  return {
    log,
    readModels,
    clock,
    board,
    failures,
    projector,
    start: () => {
      running = projector.run(stop.signal);
    },
    stop: async () => {
      stop.abort();
      await running;
      board.close();
    },
    /** Everything in the log is projected. */
    caughtUp: () =>
      eventually(
        async () => projectedUpTo(board) >= (await log.head()).position && board.current().down === null,
      ),
  };
};

type World = ReturnType<typeof world>;

const running = async (
  run: (world: World) => Promise<void>,
  options: Parameters<typeof world>[0] = {},
): Promise<void> => {
  const made = world(options);
  try {
    await run(made);
  } finally {
    await made.stop();
  }
};

/** A process that projects the log, and stops. */
const projectedOnce = (options: Parameters<typeof running>[1]): Promise<void> =>
  running(async (made) => {
    made.start();
    await made.caughtUp();
  }, options);

const expectFolded = async (
  { log, readModels }: Pick<World, 'log' | 'readModels'>,
  upTo?: bigint,
): Promise<void> => {
  const { position } = await log.head();
  expect(await held(readModels, notes)).to.deep.equal(await folded(log, notes, upTo ?? position));
  expect(await held(readModels, counts)).to.deep.equal(await folded(log, counts, upTo ?? position));
};

describe('a projector', () => {
  it('makes every read model equal to a fold of the log', () =>
    fc.assert(
      fc.asyncProperty(script, async (events) =>
        running(async (made) => {
          for (const event of events) await append(made.log, event);
          made.start();
          await made.caughtUp();
          await expectFolded(made);
        }),
      ),
      { numRuns: 30 },
    ));

  it('makes the same read models if events come twice or late', () =>
    fc.assert(
      fc.asyncProperty(script, async (events) => {
        const log = new MemoryEventStore({ atomic: true });
        await running(
          async (made) => {
            made.start();
            for (const event of events) await append(log, event);
            await made.caughtUp();
            await expectFolded(made);
          },
          { events: log, log: repeating(log) },
        );
      }),
      { numRuns: 30 },
    ));

  it('makes every read model equal to a fold of the log whose positions are bytes, over a restart and a rebuild', () =>
    fc.assert(
      fc.asyncProperty(script, fc.nat(3_000), async (events, bytesPerEvent) => {
        const log = new MemoryEventStore({ atomic: false, bytesPerEvent: bytesPerEvent + 1 });
        const readModels = new MemoryReadModels();
        for (const part of [events.slice(0, 3), events.slice(3)])
          await running(
            async (made) => {
              made.start();
              for (const event of part) await append(log, event);
              await made.caughtUp();
              const { generation } = await readModels.active(notes);
              void made.projector.rebuild('notes');
              await eventually(async () => (await readModels.active(notes)).generation > generation);
              await made.caughtUp();
              await expectFolded({ log, readModels });
            },
            { events: log, readModels },
          );
      }),
      { numRuns: 15 },
    ));

  it('projects new events, and moves past events that no projection reads', () =>
    running(async (made) => {
      made.start();
      await append(made.log, { id: 'a', change: { org: 'o', text: '1' } });
      await made.caughtUp();
      await append(made.log, { id: 'a', change: { text: '2' } });
      await appendOther(made.log, 'h');
      await made.board.waitUntilProjected(3n);
      expect(projectedUpTo(made.board)).to.equal(3n);
      const note: Note = { org: 'o', texts: ['1', '2'], status: 'open', tag: null, due: null };
      expect(await made.readModels.get(notes, 'a')).to.deep.equal({
        key: 'a',
        created: 1n,
        position: 2n,
        document: note,
      });
      expect((await made.readModels.active(notes)).checkpoint).to.equal(3n);
    }));

  it('resumes from any stop, whichever part of the last save was kept', () =>
    fc.assert(
      fc.asyncProperty(
        script,
        fc.array(fc.record({ after: fc.nat(6), keeps: fc.constantFrom('nothing', 'documents', 'all') }), {
          maxLength: 6,
        }),
        async (events, stops) => {
          const log = new MemoryEventStore({ atomic: true });
          const readModels = new MemoryReadModels();
          for (const event of events) await append(log, event);
          for (const { after, keeps } of stops) {
            await running(
              async (made) => {
                made.start();
                await eventually(
                  () =>
                    made.board.current().down === 'killed' ||
                    projectedUpTo(made.board) === BigInt(events.length),
                );
              },
              {
                events: log,
                log: inSmallSteps(log),
                readModels,
                store: dyingAfter(readModels, after, keeps),
              },
            );
          }
          await running(
            async (made) => {
              made.start();
              await made.caughtUp();
              await expectFolded({ log, readModels });
            },
            { events: log, readModels },
          );
        },
      ),
      { numRuns: 30 },
    ));

  it('rebuilds while the current build stays in use and up to date, with the same result byte for byte', () =>
    running(async (made) => {
      for (let number = 0; number < 3_000; number++)
        await append(made.log, { id: `n${number % 700}`, change: { org: 'o', text: String(number % 7) } });
      made.start();
      await made.caughtUp();
      const before = JSON.stringify(await held(made.readModels, notes), (_, value: unknown) =>
        typeof value === 'bigint' ? String(value) : value,
      );
      const { generation } = await made.readModels.active(notes);
      let isActive = false;
      void made.projector.rebuild('notes')?.then(() => (isActive = true));
      await eventually(async () => (await made.readModels.active(notes)).generation > generation);
      await eventually(() => isActive);
      await made.caughtUp();
      const after = JSON.stringify(await held(made.readModels, notes), (_, value: unknown) =>
        typeof value === 'bigint' ? String(value) : value,
      );
      expect(after).to.equal(before);
      expect(
        made.board.current().projections.map(({ name, live, rebuilding }) => ({ name, live, rebuilding })),
      ).to.have.deep.members([
        { name: 'notes', live: true, rebuilding: null },
        { name: 'counts', live: true, rebuilding: null },
      ]);
      await append(made.log, { id: 'n1', change: { text: 'later' } });
      await made.board.waitUntilProjected(3_001n);
      await expectFolded(made);
    }));

  it('projects new events while it rebuilds', async () => {
    const log = new MemoryEventStore({ atomic: true });
    const readModels = new MemoryReadModels();
    const seen: bigint[] = [];
    const watched: ProjectionStore = {
      ...boundStore(readModels),
      save: async (batches) => {
        await readModels.save(batches);
        const { generation, checkpoint } = await readModels.active(notes);
        if (!batches.some((batch) => batch.projection === notes && batch.generation > generation)) return;
        seen.push(checkpoint);
        if (seen.length < 4)
          await append(log, { id: 'live', change: { org: 'o', text: String(seen.length) } });
      },
    };
    await running(
      async (made) => {
        for (let number = 0; number < 2_500; number++)
          await append(log, { id: `n${number}`, change: { org: 'o' } });
        made.start();
        await made.caughtUp();
        void made.projector.rebuild('notes');
        await eventually(() => seen.length >= 4);
        await made.caughtUp();
        await expectFolded({ log, readModels });
      },
      { events: log, readModels, store: watched },
    );
    expect(seen.slice(0, 4)).to.deep.equal([2_500n, 2_501n, 2_502n, 2_503n]);
  });

  it('ends a rebuild although events keep coming', async () => {
    const log = new MemoryEventStore({ atomic: true });
    const readModels = new MemoryReadModels();
    let isBusy = false;
    const store: ProjectionStore = {
      ...boundStore(readModels),
      save: async (batches) => {
        await readModels.save(batches);
        if (isBusy) await append(log, { id: 'a', change: { org: 'o' } });
      },
    };
    for (let number = 0; number < 1_500; number++)
      await append(log, { id: `n${number}`, change: { org: 'o' } });
    await running(
      async (made) => {
        made.start();
        await made.caughtUp();
        isBusy = true;
        await made.projector.rebuild('notes');
        isBusy = false;
        await made.caughtUp();
        await expectFolded({ log, readModels });
      },
      { events: log, readModels, store },
    );
  });

  it('starts a rebuild over if it is requested again, and refuses an unknown projection', () =>
    running(async (made) => {
      await append(made.log, { id: 'a', change: { org: 'o' } });
      made.start();
      await made.caughtUp();
      expect(made.projector.rebuild('nobody')).to.equal(null);
      const { generation } = await made.readModels.active(notes);
      const rebuilt = Promise.all([made.projector.rebuild('notes'), made.projector.rebuild('notes')]);
      await rebuilt;
      expect((await made.readModels.active(notes)).generation).to.be.greaterThan(generation);
      await made.caughtUp();
      await expectFolded(made);
    }));

  for (const fails of ['read', 'save'] as const)
    it(`goes on with a rebuild after a ${fails} that failed`, async () => {
      const log = new MemoryEventStore({ atomic: true });
      const readModels = new MemoryReadModels();
      let isAway = false;
      const refused = (what: typeof fails) => {
        if (!isAway || what !== fails) return;
        isAway = false;
        throw new Error('away');
      };
      await running(
        async (made) => {
          for (let number = 0; number < 1_500; number++)
            await append(log, { id: `n${number}`, change: { org: 'o' } });
          made.start();
          await made.caughtUp();
          const { generation } = await readModels.active(notes);
          isAway = true;
          const rebuilt = made.projector.rebuild('notes');
          await eventually(() => made.board.current().down === 'away');
          await made.clock.advance(1_000);
          await rebuilt;
          expect((await readModels.active(notes)).generation).to.be.greaterThan(generation);
          await made.caughtUp();
          await expectFolded({ log, readModels });
        },
        {
          events: log,
          readModels,
          log: {
            ...inSmallSteps(log),
            readLog: async (after, limit) => {
              if (after > 0n && after < 1_500n) refused('read');
              return log.readLog(after, limit);
            },
          },
          store: {
            ...boundStore(readModels),
            save: async (batches) => {
              const { generation } = await readModels.active(notes);
              if (batches.some((batch) => batch.projection === notes && batch.generation > generation))
                refused('save');
              await readModels.save(batches);
            },
          },
        },
      );
    });

  it('builds a new version while the old one serves, and switches when it has caught up', async () => {
    const log = new MemoryEventStore({ atomic: true });
    const readModels = new MemoryReadModels();
    const second: Projection<Note> = {
      ...notes,
      version: 2,
      evolve: (note, event) => notes.evolve(note, { ...event, data: { ...event.data, tag: 'v2' } }),
    };
    const served: (string | null | undefined)[] = [];
    const watched: ProjectionStore = {
      ...boundStore(readModels),
      save: async (batches) => {
        await readModels.save(batches);
        served.push((await readModels.get(second, 'a'))?.document.tag);
      },
    };
    for (let number = 0; number < 2_500; number++)
      await append(log, { id: 'a', change: { org: 'o', tag: 'v1' } });
    const first = { events: log, readModels };
    await projectedOnce({ ...first, projections: [notes] });
    await running(
      async (made) => {
        made.start();
        await made.caughtUp();
        await eventually(async () => (await readModels.get(second, 'a'))?.document.tag === 'v2');
      },
      { ...first, store: watched, projections: [second] },
    );
    expect(new Set(served)).to.deep.equal(new Set(['v1']));
  });

  it('rebuilds a new version that is asked for while all projections have one that is built first', async () => {
    const log = new MemoryEventStore({ atomic: true });
    const readModels = new MemoryReadModels();
    const second: Projection<Note> = { ...notes, version: 2 };
    for (let number = 0; number < 20; number++) await append(log, { id: `n${number}`, change: { org: 'o' } });
    const first = { events: log, readModels };
    await projectedOnce({ ...first, projections: [notes] });
    await running(
      async (made) => {
        const rebuilt = made.projector.rebuild('notes');
        made.start();
        await rebuilt;
        await made.caughtUp();
        expect((await readModels.page(second, { org: 'o', limit: 50 })).length).to.equal(20);
      },
      { ...first, projections: [second] },
    );
  });

  it('makes no write wait while all projections have a new version that is built first', async () => {
    const log = new MemoryEventStore({ atomic: true });
    const readModels = new MemoryReadModels();
    const second: Projection<Note> = { ...notes, version: 2 };
    for (let number = 0; number < 10_500; number++)
      await append(log, { id: `n${number}`, change: { org: 'o' } });
    const { position } = await log.head();
    const first = { events: log, readModels };
    await projectedOnce({ ...first, projections: [notes] });
    let wait: (position: bigint) => Promise<void> = () => Promise.resolve();
    const areOver: boolean[] = [];
    const watched: ProjectionStore = {
      ...boundStore(readModels),
      save: async (batches) => {
        let isOver = false;
        void wait(position).then(() => (isOver = true));
        await new Promise(setImmediate);
        areOver.push(isOver);
        await readModels.save(batches);
      },
    };
    await running(
      async (made) => {
        wait = (awaited) => made.board.waitUntilProjected(awaited);
        made.start();
        await eventually(async () => (await readModels.active(second)).hidden !== true);
      },
      { ...first, store: watched, projections: [second] },
    );
    expect(areOver.length).to.be.greaterThan(1);
    expect(areOver).not.to.include(false);
  });

  it('leaves the version before as it is while a new version is built, and makes nobody wait for the new one', async () => {
    const log = new MemoryEventStore({ atomic: true });
    const readModels = new MemoryReadModels();
    const second: Projection<Note> = { ...notes, version: 2 };
    const list = async (projection: Projection<Note>) =>
      (await readModels.page(projection, { org: 'live', limit: 10 })).map(({ key }) => key);
    for (let number = 0; number < 2_500; number++)
      await append(log, { id: `n${number}`, change: { org: 'o' } });
    await projectedOnce({ events: log, readModels, projections: [notes, counts] });
    const seen: unknown[] = [];
    let added = 0;
    let wait: (position: bigint) => Promise<void> = () => Promise.resolve();
    const watched: ProjectionStore = {
      ...boundStore(readModels),
      save: async (batches) => {
        await readModels.save(batches);
        const isBuilding = (await readModels.active(second)).hidden === true;
        if (!isBuilding || added === 3 || !batches.some(({ projection }) => projection === second)) return;
        const id = `live${added}`;
        added += 1;
        await append(log, { id, change: { org: 'live' } });
        const { position } = await log.head();
        // A writer has waited, and reads what it has written.
        void wait(position).then(async () =>
          seen.push([(await readModels.get(counts, id))?.key, await list(second)]),
        );
      },
    };
    await running(
      async (made) => {
        wait = (position) => made.board.waitUntilProjected(position);
        made.start();
        await eventually(async () => (await readModels.active(second)).hidden !== true);
        await made.caughtUp();
        expect(await list(second)).to.deep.equal(['live2', 'live1', 'live0']);
        expect(await list(notes)).to.deep.equal([]);
      },
      { events: log, readModels, store: watched, projections: [second, counts] },
    );
    expect(seen).to.deep.equal(['live0', 'live1', 'live2'].map((id) => [id, []]));
  });

  it('lets a new projection catch up while the others stay up to date', async () => {
    const log = new MemoryEventStore({ atomic: true });
    const readModels = new MemoryReadModels();
    for (let number = 0; number < 6_000; number++)
      await append(log, { id: `n${number % 50}`, change: { org: 'o' } });
    await running(async (made) => (made.start(), void (await made.caughtUp())), {
      events: log,
      readModels,
      projections: [counts],
    });
    await running(
      async (made) => {
        made.start();
        await append(log, { id: 'n1', change: { text: 'live' } });
        await made.caughtUp();
        await expectFolded({ log, readModels });
      },
      { events: log, readModels },
    );
  });

  it('rebuilds from the beginning if the store has lost everything', () =>
    running(async (made) => {
      await append(made.log, { id: 'a', change: { org: 'o', text: '1' } });
      made.start();
      await made.caughtUp();
      made.readModels.clear();
      made.projector.restart();
      await eventually(async () => (await made.readModels.get(notes, 'a')) !== null);
      await made.caughtUp();
      await expectFolded(made);
    }));

  it('reports that it is down while the log or the read models are unavailable, retries, and misses nothing', () =>
    running(async (made) => {
      await append(made.log, { id: 'a', change: { org: 'o', text: '1' } });
      made.readModels.away = true;
      made.start();
      await eventually(() => made.board.current().down === 'the read models are away');
      made.readModels.away = false;
      made.log.away = true;
      await made.clock.advance(200);
      expect(made.board.current().down).to.equal('the event store is away');
      made.log.away = false;
      await made.clock.advance(5_000);
      await made.caughtUp();
      await expectFolded(made);
    }));

  it('ends its process for an event of a newer version, and does not seem to work in between', () =>
    running(
      async (made) => {
        const downs: (string | null)[] = [];
        const status = made.board.status.bind(made.board);
        made.board.status = (now) => {
          downs.push(now.down);
          status(now);
        };
        await append(made.log, { id: 'a', change: {} });
        made.start();
        await eventually(() => made.failures.length > 0);
        await made.clock.advance(2_000);
        const [error] = made.failures;
        expect(error).to.be.instanceOf(UnknownEvent);
        expect(downs.filter((down) => down !== error?.message)).to.deep.equal([null]);
      },
      {
        projections: [
          {
            ...notes,
            evolve: (_, event) => {
              throw new UnknownEvent(event, 1);
            },
          },
        ],
      },
    ));

  it('waits longer after each failure, up to 5 s, and starts over after a success', () =>
    running(async (made) => {
      const attempts: number[] = [];
      const start = made.clock.now();
      let failing = true;
      const readLog = made.log.readLog.bind(made.log);
      made.log.readLog = (after, limit) => {
        if (!failing) return readLog(after, limit);
        attempts.push(made.clock.now() - start);
        return Promise.reject(new EventStoreUnavailable('away'));
      };
      await append(made.log, { id: 'a', change: {} });
      made.start();
      await made.clock.advance(20_000);
      expect(attempts).to.deep.equal([0, 100, 300, 700, 1_500, 3_100, 6_300, 11_300, 16_300]);
      failing = false;
      await made.clock.advance(5_000);
      await made.caughtUp();
    }));
});
