import { expect } from 'chai';
import { EventStoreUnavailable } from '../../../application/ports/event-store.js';
import { upToDate } from '../../../application/projecting/read-your-writes.js';

const readYourWrites = (rowsMayBeLate: () => boolean, lacksEvents = false) => ({
  afterWrite: () => Promise.resolve(),
  beforeRead: () => Promise.resolve(),
  shows: () => true,
  rowsMayBeLate,
  rowsLackEvents: () => lacksEvents,
  lateFor: () => null,
});

const fromStream = () => Promise.resolve('stream');
const failing = (error: Error) => () => Promise.reject<string | null>(error);
const away = new EventStoreUnavailable('away');

/** What is read, or the error. */
const read = (isLate: boolean, row: string | null, fold: () => Promise<string | null>): Promise<unknown> =>
  upToDate(
    readYourWrites(() => isLate),
    () => Promise.resolve(row),
    fold,
  ).catch((error: unknown) => error);

describe('reading a row that may be late', () => {
  it('returns the row if the projections are up to date', async () => {
    expect(await read(false, 'row', fromStream)).to.equal('row');
  });

  it('reads the stream if the projections were late before the row was read', async () => {
    let isLate = true;
    const read = () => {
      isLate = false;
      return Promise.resolve('row');
    };
    expect(
      await upToDate(
        readYourWrites(() => isLate),
        read,
        fromStream,
      ),
    ).to.equal('stream');
  });

  it('reads the stream if the projections turn out to be late while the row is read', async () => {
    let isLate = false;
    const read = () => {
      isLate = true;
      return Promise.resolve('row');
    };
    expect(
      await upToDate(
        readYourWrites(() => isLate),
        read,
        fromStream,
      ),
    ).to.equal('stream');
  });

  it('reads the stream if there is no row', async () => {
    expect(await read(false, null, fromStream)).to.equal('stream');
    expect(await read(false, null, failing(away))).to.equal(away);
  });

  it('reads the stream if the projections are late, but returns the row if the event store is unavailable', async () => {
    const broken = new Error('broken');
    expect(await read(true, 'row', fromStream)).to.equal('stream');
    expect(await read(true, 'row', failing(away))).to.equal('row');
    expect(await read(true, 'row', failing(broken))).to.equal(broken);
  });

  it('refuses the row while the event store is unavailable and the log is known to hold more', async () => {
    const late = readYourWrites(() => true, true);
    const row = () => Promise.resolve('row');
    expect(await upToDate(late, row, fromStream)).to.equal('stream');
    const refused = await upToDate(late, row, failing(away)).catch((error: unknown) => error);
    expect(refused).to.equal(away);
  });

  it('refuses a row that was read while the log held more, although the projections have passed that since', async () => {
    let lacksEvents = true;
    const caughtUp = { ...readYourWrites(() => true), rowsLackEvents: () => lacksEvents };
    const row = () => {
      lacksEvents = false;
      return Promise.resolve('row');
    };
    const refused = await upToDate(caughtUp, row, failing(away)).catch((error: unknown) => error);
    expect(refused).to.equal(away);
  });
});
