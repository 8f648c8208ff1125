import { expect } from 'chai';
import { changeCard } from '../../../application/cards/change-card.js';
import { sendCard } from '../../../application/cards/send-card.js';
import { keyRing, MissingPersonalKey } from '../../../application/personal/key-ring.js';
import {
  assertOthersThere,
  assertOwnKeys,
  blocksOf,
  LostKeys,
  noKeys,
  type OwnKeysDeps,
} from '../../../application/personal/own-keys.js';
import { openedEvents, personalSeal } from '../../../application/personal/personal.js';
import type { OtherLog } from '../../../application/log/same-log.js';
import { Streams } from '../../../application/writing/streams.js';
import { cancel, erase } from '../../../domain/card.js';
import type { MasterKeys } from '../../../domain/webhook-signing.js';
import { makeWorld, org, sendRequest } from '../../support/fixtures/world.js';
import { SeededEntropy } from '../../support/memory/entropy.js';
import { MemoryPersonalKeys } from '../../support/memory/personal-keys.js';
import { sign } from '../../support/fixtures/seal-events.js';

const masters: MasterKeys = [{ id: 'a', key: Buffer.alloc(32, 1) }];

/** A log with cards, each sent by a process of its own. */
const world = async (cards: number) => {
  const made = await makeWorld({ atomic: true, credits: cards });
  const store = new MemoryPersonalKeys();
  const codes = [];
  for (let seed = 1; seed <= cards; seed += 1) {
    const ring = keyRing({ store, masters, clock: made.clock, entropy: new SeededEntropy(seed) });
    const opened = openedEvents(made.store, ring, made.clock);
    const streams = new Streams(opened, { ...personalSeal(ring, made.entropy), sign });
    const sealed = { ...made, store: opened, streams };
    await ring.ready();
    const { code } = await sendCard(sealed, sendRequest(made));
    await changeCard(sealed, { code, org }, made.command(), cancel);
    codes.push({ code, sealed });
  }
  const events = await made.store.readLog(0n, 1_000);
  const blocks = [...new Set(blocksOf(events))];
  const last = events.at(-1);
  if (last === undefined) throw new Error('there are events');
  const mark = {
    position: last.position,
    event: { id: last.id, hash: last.metadata.hash, at: last.metadata.occurredAt },
  };
  const read: bigint[] = [];
  const log = {
    head: () => made.store.head(),
    markAt: (position: bigint) => made.store.markAt(position),
    readLog: (after: bigint, limit: number) => {
      read.push(after);
      return made.store.readLog(after, limit);
    },
  };
  const told: OtherLog[] = [];
  const deps: OwnKeysDeps = { log, store, masters, place: 'keys.db', onOther: (error) => told.push(error) };
  return { made, store, codes, blocks, mark, read, told, deps };
};

const refusal = async (checked: Promise<void>): Promise<unknown> =>
  checked.then(
    () => null,
    (error: unknown) => error,
  );

describe('keys of personal data and their log', () => {
  it('go together while every block is there; what stands before the mark is not read', async () => {
    const { deps, store, mark, blocks, read } = await world(2);
    expect(blocks).to.have.length(2);
    expect(await refusal(assertOwnKeys(deps))).to.equal(null);
    expect(read).to.deep.equal([0n]);
    await store.saveMark(mark, null, blocks);
    expect(await refusal(assertOwnKeys(deps))).to.equal(null);
    expect(read).to.deep.equal([0n, mark.position]);
  });

  it('are refused without a block that events use, before or after the mark, until an erasure covers them', async () => {
    const { deps, store, mark, blocks, codes, made } = await world(2);
    const [block = NaN] = blocks;
    store.blocks.delete(block);
    for (const isMarked of [false, true]) {
      if (isMarked) await store.saveMark(mark, null, blocks);
      const refused = await refusal(assertOwnKeys(deps));
      expect(refused, `marked: ${isMarked}`).to.be.instanceOf(LostKeys);
      expect(String(refused)).to.include('1 events').and.include(`${org} (1)`).and.include('keys.db');
    }
    for (const { code, sealed } of codes.slice(0, 1))
      await changeCard(sealed, { code, org }, made.command(), erase('a request'));
    expect(await refusal(assertOwnKeys(deps))).to.equal(null);
  });

  it('are refused where there is no store of keys at all, and where what blocks are encrypted with is missing', async () => {
    const { deps } = await world(1);
    expect(await refusal(assertOwnKeys({ ...deps, store: noKeys }))).to.be.instanceOf(LostKeys);
    const other: MasterKeys = [{ id: 'b', key: Buffer.alloc(32, 2) }];
    expect(await refusal(assertOwnKeys({ ...deps, masters: other }))).to.be.instanceOf(MissingPersonalKey);
  });

  it('are compared from the first event on if the mark is of a later state of the log, which is told', async () => {
    const { deps, store, mark, blocks, read, told } = await world(1);
    await store.saveMark({ ...mark, position: mark.position + 10n }, null, blocks);
    expect(await refusal(assertOwnKeys(deps))).to.equal(null);
    expect([read, told.length]).to.deep.equal([[0n], 1]);
    store.blocks.clear();
    expect(await refusal(assertOwnKeys(deps))).to.be.instanceOf(LostKeys);
  });

  it('while the service runs, are refused if more than one block is missing, or all, and not for a single one', async () => {
    const { deps, store, blocks } = await world(2);
    const [one = NaN, other = NaN] = blocks;
    store.blocks.delete(one);
    expect(await refusal(assertOthersThere(deps))).to.equal(null);
    store.blocks.delete(other);
    expect(await refusal(assertOthersThere(deps))).to.be.instanceOf(LostKeys);
    const alone = await world(1);
    alone.store.blocks.clear();
    expect(await refusal(assertOthersThere(alone.deps))).to.be.instanceOf(LostKeys);
  });
});
