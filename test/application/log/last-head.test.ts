import { expect } from 'chai';
import { provenTiles } from '../../../application/log/last-head.js';
import { notarizeNow } from '../../../application/log/notarize.js';
import { UnusableHead } from '../../../application/ports/signed-heads.js';
import { macs } from '../../support/fixtures/seal-events.js';
import { seventyHappenings, storedLog } from '../../support/fixtures/stored-log.js';
import { MemoryLogTiles } from '../../support/memory/log-tiles.js';
import { MemoryRawLog } from '../../support/memory/raw-log.js';
import { MemorySignedHeads } from '../../support/memory/signed-heads.js';
import { standingClock } from '../../support/time/standing-clock.js';

const events = storedLog(seventyHappenings());
const clock = standingClock(0);

/** What was signed of the first events of a log. */
const signed = async (size: number) => {
  const [tiles, heads, log] = [new MemoryLogTiles(), new MemorySignedHeads(), new MemoryRawLog([])];
  const deps = {
    log,
    tiles,
    heads,
    macs,
    clock,
    sign: (head: { readonly size: number; readonly root: Buffer }) =>
      `${head.size} ${head.root.toString('base64')}`,
    scrubEvery: 86_400_000,
    restoreHint: 'the log',
  };
  await notarizeNow(deps);
  log.events = events.slice(0, size);
  await notarizeNow(deps);
  return { tiles, heads, shown: provenTiles(tiles, heads) };
};

describe('a reader of the log', () => {
  it('is told of no damage while the tree holds the head that was signed last', async () => {
    const { shown, heads } = await signed(70);
    expect(await shown.damage()).to.equal(null);
    heads.note = (await signed(40)).heads.note;
    expect(await shown.damage()).to.equal(null);
  });

  it('is told of damage where that head is missing, once there are checkpoints', async () => {
    const [empty, { shown, heads }] = [await signed(0), await signed(40)];
    for (const each of [empty.heads, heads]) each.note = null;
    expect(await empty.shown.damage()).to.equal(null);
    expect((await shown.damage())?.reason)
      .to.include('the memory is missing')
      .and.to.include('of 40 events');
  });

  it('is told of damage where the tree is shorter, another one, or has lost hashes', async () => {
    const { shown, heads, tiles } = await signed(40);
    const own = heads.note;
    heads.note = (await signed(70)).heads.note;
    expect((await shown.damage())?.reason).to.include('does not hold the head of 70');
    heads.note = `20 ${Buffer.alloc(32).toString('base64')}`;
    expect((await shown.damage())?.reason).to.include('does not hold the head of 20');
    heads.note = (await signed(17)).heads.note;
    tiles.levels = [];
    expect((await shown.damage())?.reason).to.include('does not hold the head of 17');
    heads.note = own;
    await tiles.reset();
    expect((await shown.damage())?.reason).to.include('does not hold the head of 40');
  });

  it('is told of damage where no key of the log has signed what is said to be its last head', async () => {
    const { shown, heads } = await signed(40);
    heads.last = () => Promise.reject(new UnusableHead('it is the key of another log'));
    expect((await shown.damage())?.reason).to.equal('it is the key of another log');
  });

  it('is told first what is known already', async () => {
    const { shown, heads } = await signed(40);
    const known = { position: 7n, reason: 'changed' };
    await shown.reportDamage(known);
    expect(await shown.damage()).to.deep.equal(known);
    heads.last = () => Promise.reject(new UnusableHead('it is the key of another log'));
    expect(await shown.damage()).to.deep.equal(known);
  });
});
