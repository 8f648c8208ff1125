import { expect } from 'chai';
import { waitTimeout, ProjectionBoard } from '../../../application/projecting/projection-board.js';
import {
  currentReadModels,
  readsWait,
  writesWait,
  upToDate,
  type ReadYourWrites,
} from '../../../application/projecting/read-your-writes.js';
import { notes } from '../../support/fixtures/notes.js';
import { VirtualClock } from '../../support/memory/clock.js';
import { MemoryReadModels } from '../../support/memory/read-models.js';

const queries = ['get', 'page', 'agenda'];

/** Projections that have passed position 5 of a log that ends at 7. */
const setUp = (
  make: (board: ProjectionBoard, head: () => bigint) => ReadYourWrites,
  { live }: { readonly live: boolean },
) => {
  const clock = new VirtualClock();
  const board = new ProjectionBoard(clock);
  board.status({
    down: null,
    projections: [{ name: 'notes', checkpoint: 5n, live, rebuilding: null }],
  });
  const readYourWrites = make(board, () => 7n);
  const readModels = currentReadModels(new MemoryReadModels(), readYourWrites);
  const done: string[] = [];
  const begin = (name: string, work: Promise<unknown>) => void work.then(() => done.push(name));
  const query = () => {
    begin('get', readModels.get(notes, 'a'));
    begin('page', readModels.page(notes, { org: 'o', limit: 5 }));
    begin('agenda', readModels.agenda(notes, { upTo: '2030', limit: 5 }));
  };
  const write = () => begin('write', readYourWrites.afterWrite(7n));
  return { clock, board, readYourWrites, readModels, done, query, write };
};

describe('read-your-writes in one process', () => {
  it('makes queries wait until earlier writes are projected, and no write wait', async () => {
    const { clock, board, done, query, write } = setUp(readsWait, { live: true });
    query();
    write();
    board.moved(6n);
    await clock.advance(0);
    expect(done).to.deep.equal(['write']);
    board.moved(7n);
    await clock.advance(0);
    expect(done).to.deep.equal(['write', ...queries]);
  });

  it('makes no query wait longer than 5 s', async () => {
    const { clock, done, query } = setUp(readsWait, { live: true });
    query();
    await clock.advance(waitTimeout - 1);
    expect(done).to.deep.equal([]);
    await clock.advance(1);
    expect(done).to.deep.equal(queries);
  });

  it('reports late rows to a reader that has waited in vain, which then reads the stream', async () => {
    const { clock, readYourWrites, readModels } = setUp(readsWait, { live: true });
    const read = upToDate(
      readYourWrites,
      () => readModels.get(notes, 'a').then(() => 'row'),
      () => Promise.resolve('stream'),
    );
    await clock.advance(waitTimeout);
    expect(await read).to.equal('stream');
  });

  it('lets queries return what there is while a projection catches up, and makes writes wait', async () => {
    const { clock, readYourWrites, done, query, write } = setUp(readsWait, { live: false });
    write();
    query();
    await clock.advance(0);
    expect(done).to.deep.equal(queries);
    expect(readYourWrites.rowsMayBeLate()).to.equal(true);
    await clock.advance(waitTimeout);
    expect(done).to.deep.equal([...queries, 'write']);
  });
});

describe('read-your-writes across processes', () => {
  it('makes a write wait until it is projected, and no query wait', async () => {
    const { clock, board, done, query, write } = setUp(writesWait, { live: true });
    write();
    query();
    await clock.advance(0);
    expect(done).to.deep.equal(queries);
    board.moved(7n);
    await clock.advance(0);
    expect(done).to.deep.equal([...queries, 'write']);
  });

  it('makes no write wait longer than 5 s, and reports late rows from then on', async () => {
    const { clock, readYourWrites, done, write } = setUp(writesWait, { live: true });
    write();
    await clock.advance(waitTimeout - 1);
    expect([done, readYourWrites.rowsMayBeLate()]).to.deep.equal([[], false]);
    await clock.advance(1);
    expect([done, readYourWrites.rowsMayBeLate()]).to.deep.equal([['write'], true]);
  });
});
