import { expect } from 'chai';
import { EventStoreUnavailable } from '../../application/ports/event-store.js';
import { upToDate } from '../../application/up-to-date.js';

const progress = (isLate: boolean) => ({
  passed: () => Promise.resolve(),
  isLate: () => isLate,
  checkpoint: () => 0n,
});

const fromStream = () => Promise.resolve('stream');
const failing = (error: Error) => () => Promise.reject<string | null>(error);
const away = new EventStoreUnavailable('away');

/** What is read, or the error. */
const read = (isLate: boolean, row: string | null, fold: () => Promise<string | null>): Promise<unknown> =>
  upToDate(progress(isLate), () => Promise.resolve(row), fold).catch((error: unknown) => error);

describe('what is up to date', () => {
  it('is the row', async () => {
    expect(await read(false, 'row', fromStream)).to.equal('row');
  });

  it('is the stream where the projections were late when the row was read', async () => {
    let isLate = true;
    const read = () => {
      isLate = false;
      return Promise.resolve('row');
    };
    expect(
      await upToDate({ ...progress(true), isLate: () => isLate }, read, () => Promise.resolve('stream')),
    ).to.equal('stream');
  });

  it('is the stream where the projections turn out to be late while the row is read', async () => {
    let isLate = false;
    const read = () => {
      isLate = true;
      return Promise.resolve('row');
    };
    expect(await upToDate({ ...progress(false), isLate: () => isLate }, read, fromStream)).to.equal('stream');
  });

  it('is the stream where there is no row', async () => {
    expect(await read(false, null, fromStream)).to.equal('stream');
    expect(await read(false, null, failing(away))).to.equal(away);
  });

  it('is the stream where the projections are late, unless the event store is away', async () => {
    const broken = new Error('broken');
    expect(await read(true, 'row', fromStream)).to.equal('stream');
    expect(await read(true, 'row', failing(away))).to.equal('row');
    expect(await read(true, 'row', failing(broken))).to.equal(broken);
  });
});
