import { expect } from 'chai';
import type { Stored } from '../../../application/ports/read-models.js';
import { Projector } from '../../../application/projecting/project.js';
import type { ProjectorStatus } from '../../../application/projecting/projection-board.js';
import {
  runSpotChecks,
  spotCheck,
  type Difference,
  type SpotCheckDeps,
  type Subject,
} from '../../../application/projecting/spot-check.js';
import { sendCard } from '../../../application/cards/send-card.js';
import { allProjections } from '../../../projections/all.js';
import { cards } from '../../../projections/cards.js';
import { happened, notarized, storedEvents, type Action } from '../../support/fixtures/notarized.js';
import { sendRequest } from '../../support/fixtures/world.js';
import { SeededEntropy } from '../../support/memory/entropy.js';
import { MemoryReadModels } from '../../support/memory/read-models.js';
import { eventually } from '../../support/time/eventually.js';

const acts: readonly Action[] = [
  'send',
  'cancel',
  'another organization buys',
  'send',
  'hold',
  'buy',
  'send',
];

/** A log and its read models, kept up by a projector until `stop`. */
const projected = async () => {
  const { world, codes } = await happened(acts);
  const { raw, tiles, notarize } = await notarized(world, await storedEvents(world));
  const readModels = new MemoryReadModels();
  let status: ProjectorStatus = { down: 'not yet', projections: [] };
  const projector = new Projector({
    projections: allProjections,
    log: world.store,
    store: readModels,
    clock: world.clock,
    reports: {
      status: (now) => void (status = now),
      moved: (position) => {
        const projections = status.projections.map((known) => ({ ...known, checkpoint: position }));
        status = { ...status, projections };
      },
    },
    fail: (error) => {
      throw error;
    },
  });
  const stopped = new AbortController();
  const running = projector.run(stopped.signal);
  const stop = async (): Promise<void> => {
    stopped.abort();
    await running;
  };
  const { position: head } = await world.store.head();
  await eventually(
    () => status.projections.length > 0 && status.projections.every((p) => p.checkpoint >= head),
  );
  const checked = new Map<string, number>();
  const found: Difference[] = [];
  const deps: SpotCheckDeps = {
    store: world.store,
    raw,
    tiles,
    readModels,
    projections: allProjections,
    status: () => status,
    clock: world.clock,
    entropy: new SeededEntropy(5),
    checked: (name) => void checked.set(name, (checked.get(name) ?? 0) + 1),
    differs: (difference) => void found.push(difference),
  };
  const look = async (times: number): Promise<void> => {
    let suspects: readonly Subject[] = [];
    for (let n = 0; n < times; n++) suspects = await spotCheck(deps, suspects);
  };
  /** Puts a row beside what the projector does. */
  const put = async (row: Stored<unknown>): Promise<void> => {
    const { generation } = await readModels.active(cards);
    await readModels.save([{ projection: cards, generation, documents: [row], checkpoint: 0n }]);
  };
  const rowOf = async (code: string | undefined): Promise<Stored<object>> => {
    const row = await readModels.get(cards, code ?? '');
    if (row === null) throw new Error('there is no such card');
    return row;
  };
  return {
    world,
    notarized: async (): Promise<void> => {
      raw.events = await storedEvents(world);
      await notarize();
    },
    codes,
    readModels,
    deps,
    checked,
    found,
    look,
    put,
    rowOf,
    stop,
    setStatus: (s: ProjectorStatus) => void (status = s),
    status: () => status,
  };
};

describe('spot checks of read models', () => {
  it('find nothing wrong in what the projector has made, of every projection whose rows come from one stream', async () => {
    const { checked, found, look, stop } = await projected();
    await look(200);
    await stop();
    expect(found).to.deep.equal([]);
    expect([...checked.keys()].toSorted()).to.deep.equal([
      'balances', 'cards', 'collection_cards', 'handwritings', 'organizations', 'public_events',
    ]); // prettier-ignore
  });

  it('find a row that was changed, and name its projection, key and fields, and nothing that it says', async () => {
    const { codes, found, look, put, rowOf, stop } = await projected();
    const row = await rowOf(codes[1]);
    await put({ ...row, position: row.position + 1n, document: { ...row.document, status: 'posted' } });
    await look(200);
    await stop();
    expect(found.length).to.be.greaterThan(0);
    expect(new Set(found.map((each) => JSON.stringify(each)))).to.deep.equal(
      new Set([JSON.stringify({ projection: 'cards', key: codes[1], fields: ['status'] })]),
    );
  });

  it('find a row that is gone, and one that no event has made', async () => {
    const { codes, found, look, put, rowOf, readModels, deps, stop } = await projected();
    const row = await rowOf(codes[0]);
    await put({
      ...row,
      key: 'HC-2222222',
      created: row.created + 1n,
      document: { ...row.document, code: 'HC-2222222' },
    });
    const without: SpotCheckDeps['readModels'] = {
      get: async (projection, key) => (key === codes[2] ? null : readModels.get(projection, key)),
      page: (projection, query) => readModels.page(projection, query),
    };
    Object.assign(deps, { readModels: without });
    await look(300);
    await stop();
    expect([...new Set(found.map(({ key, fields }) => `${key} ${fields.join()}`))].toSorted()).to.deep.equal(
      ['HC-2222222 ', `${codes[2]} `].toSorted(),
    );
  });

  it('take no row for wrong that is late, or that an erasure is about to change', async () => {
    const { world, codes, found, look, put, rowOf, stop, deps, notarized: notarize } = await projected();
    await stop();
    // The log goes on; the projector does not, and its checkpoint stays.
    await sendCard(world, sendRequest(world));
    await notarize();
    await look(100);
    expect(found).to.deep.equal([]);
    const row = await rowOf(codes[1]);
    const wrong = { ...row, position: row.position + 1n, document: { ...row.document, status: 'posted' } };
    await put(wrong);
    let suspects: readonly Subject[] = [];
    for (let n = 0; n < 200 && suspects.length === 0; n++) suspects = await spotCheck(deps, []);
    expect(suspects[0]?.key).to.equal(codes[1]);
    await put({ ...wrong, position: wrong.position + 1n, document: row.document });
    await spotCheck(deps, suspects);
    expect(found).to.deep.equal([]);
  });

  it('say nothing while the projector is down, or another build is shown', async () => {
    const { codes, found, checked, look, put, rowOf, stop, status, setStatus } = await projected();
    await stop();
    const row = await rowOf(codes[1]);
    await put({ ...row, position: row.position + 1n, document: {} });
    const { projections } = status();
    for (const now of [
      { down: 'gone', projections },
      { down: null, projections: projections.map((known) => ({ ...known, live: false })) },
    ]) {
      setStatus(now);
      await look(50);
    }
    expect([found, checked.size]).to.deep.equal([[], 0]);
  });

  it('rest a hundred times as long as they take', async () => {
    const { world, deps, stop } = await projected();
    await stop();
    const began: number[] = [];
    const clock = world.clock;
    const tiles = {
      tree: async () => {
        began.push(clock.monotonic());
        await clock.sleep(300);
        return deps.tiles.tree();
      },
      leaves: (n: number) => deps.tiles.leaves(n),
    };
    const stopped = new AbortController();
    const errors: unknown[] = [];
    const running = runSpotChecks({ ...deps, tiles }, stopped.signal, (error) => errors.push(error));
    for (let n = 0; n < 200 && began.length < 3; n++) await clock.advance(1_000);
    stopped.abort();
    await clock.advance(60_000);
    await running;
    expect(errors).to.deep.equal([]);
    const [first = 0, second = 0, third = 0] = began;
    expect([second - first, third - second].every((gap) => gap >= 30_000)).to.equal(true);
  });

  it('read nothing of an empty log', async () => {
    const { deps, stop } = await projected();
    await stop();
    const empty = {
      tree: async () => ({ ...(await deps.tiles.tree()), size: 0 }),
      leaves: deps.tiles.leaves,
    };
    expect(await spotCheck({ ...deps, tiles: empty }, [])).to.deep.equal([]);
  });
});
