import { expect } from 'chai';
import { VirtualClock } from '../../support/memory/clock.js';
import { MemoryReadModels } from '../../support/memory/read-models.js';
import { CurrentReads } from '../../../adapters/sqlite/read/current-reads.js';
import { longestWait, ProjectionBoard } from '../../../application/projection-board.js';
import { upToDate } from '../../../application/up-to-date.js';
import { notes } from '../../support/fixtures/notes.js';

const queries: Readonly<Record<string, (reads: CurrentReads) => Promise<unknown>>> = {
  get: (reads) => reads.get(notes, 'a'),
  page: (reads) => reads.page(notes, { org: 'o', limit: 5 }),
  agenda: (reads) => reads.agenda(notes, { upTo: '2030', limit: 5 }),
};

/** Projections that have passed position 5 of a log that ends at 7. */
const setUp = ({ live }: { readonly live: boolean }) => {
  const clock = new VirtualClock();
  const board = new ProjectionBoard(clock);
  board.status({
    down: null,
    projections: [{ name: 'notes', version: 1, checkpoint: 5n, live, rebuilding: null }],
  });
  const head = new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT);
  Atomics.store(new BigInt64Array(head), 0, 7n);
  const done: string[] = [];
  const reads = new CurrentReads({ readModels: new MemoryReadModels(), board, head });
  const begin = (name: string, work: Promise<unknown>) => void work.then(() => done.push(name));
  const queryAll = () => Object.entries(queries).forEach(([name, query]) => begin(name, query(reads)));
  return { clock, board, reads, done, begin, queryAll };
};

describe('current reads', () => {
  it('wait until what was committed before them is projected, and no write does', async () => {
    const { clock, board, reads, done, begin, queryAll } = setUp({ live: true });
    queryAll();
    begin('write', reads.passed(7n));
    board.moved(6n);
    await clock.advance(0);
    expect(done).to.deep.equal(['write']);
    board.moved(7n);
    await clock.advance(0);
    expect(done).to.deep.equal(['write', 'get', 'page', 'agenda']);
  });

  it('wait no longer than anybody waits', async () => {
    const { clock, done, queryAll } = setUp({ live: true });
    queryAll();
    await clock.advance(longestWait - 1);
    expect(done).to.deep.equal([]);
    await clock.advance(1);
    expect(done).to.deep.equal(['get', 'page', 'agenda']);
  });

  it('are known to be late by whoever has waited in vain', async () => {
    const { clock, reads } = setUp({ live: true });
    const answer = upToDate(
      reads,
      () => reads.get(notes, 'a').then(() => 'row'),
      () => Promise.resolve('stream'),
    );
    await clock.advance(longestWait);
    expect(await answer).to.equal('stream');
  });

  it('show what there is while a projection catches up, and writes wait', async () => {
    const { clock, reads, done, begin, queryAll } = setUp({ live: false });
    begin('write', reads.passed(7n));
    queryAll();
    await clock.advance(0);
    expect(done).to.deep.equal(['get', 'page', 'agenda']);
    await clock.advance(longestWait);
    expect(done).to.deep.equal(['get', 'page', 'agenda', 'write']);
  });
});
