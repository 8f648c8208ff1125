import { expect } from 'chai';
import { ForkSeen, headOf, proveGrowth } from '../../../application/log/watch-checkpoints.js';
import { emptyFrontier, grow, leafHash, rootOf, tileAt, type Hash } from '../../../domain/merkle.js';
import {
  checkpointText,
  signerFrom,
  signNote,
  UntrustedNote,
  withSignatures,
} from '../../../domain/signed-note.js';
import { cosignature } from '../../support/fixtures/cosignature.js';
import { MemoryLogTiles } from '../../support/memory/log-tiles.js';

const log = signerFrom('cards.example.com/log', 'note', Buffer.alloc(32, 1));
const witness = signerFrom('witness.example.com/w1', 'cosignature', Buffer.alloc(32, 2));

const leavesOf = (size: number, from = size): Hash[] =>
  Array.from({ length: size }, (_, at) => leafHash(Buffer.from(`${at < from ? '' : 'other '}${at}`)));
const headOfLeaves = (leaves: readonly Hash[]) => ({
  origin: log.name,
  size: leaves.length,
  root: rootOf(grow(emptyFrontier, leaves).frontier),
});

/** The log as it shows itself to everybody. */
const shown = async (leaves: readonly Hash[]) => {
  const tiles = new MemoryLogTiles();
  const all = leaves.map((hash, at) => ({ hash, position: BigInt(at + 1), org: null, orgSeq: at }));
  await tiles.extend(0, all, BigInt(leaves.length), 1);
  return async (path: string): Promise<Buffer> => {
    const tile = tileAt(path.slice('/log/'.length));
    if (tile === null || tile.level === 'entries') throw new Error(`there is no ${path}`);
    return tiles.hashes(tile.level, tile.n * 256, tile.width);
  };
};

describe('whoever watches the checkpoints of a log', () => {
  it('proves from the tiles that it has grown from what was seen last', async () => {
    for (const size of [1, 2, 255, 256, 257, 700]) {
      const leaves = leavesOf(size);
      const read = await shown(leaves);
      for (const older of [0, 1, 2, 100, 256, 257, 511, 512, 700].filter((before) => before <= size))
        await proveGrowth(headOfLeaves(leaves.slice(0, older)), headOfLeaves(leaves), read);
    }
  });

  it('sees a log that was set back, changed or shown in two versions', async () => {
    const leaves = leavesOf(300);
    const other = leavesOf(300, 40);
    const forked = async (older: readonly Hash[], newer: readonly Hash[]): Promise<boolean> =>
      proveGrowth(headOfLeaves(older), headOfLeaves(newer), await shown(newer)).then(
        () => false,
        (error: unknown) => error instanceof ForkSeen,
      );
    expect(await forked(leaves, leaves.slice(0, 200))).to.equal(true);
    expect(await forked(leaves, other)).to.equal(true);
    expect(await forked(leaves.slice(0, 100), other)).to.equal(true);
    expect(await forked(leaves.slice(0, 30), other)).to.equal(false);
  });

  it('believes no checkpoint of another log, and none that too few witnesses have signed', () => {
    const head = headOfLeaves(leavesOf(5));
    const note = signNote(checkpointText(head), [log]);
    const signed = withSignatures(note, [cosignature(witness, checkpointText(head), 1_772_000_000)]);
    expect(headOf(signed, log, [witness], 1).size).to.equal(5);
    expect(() => headOf(note, log, [witness], 1)).to.throw(ForkSeen);
    const stranger = signerFrom(log.name, 'note', Buffer.alloc(32, 7));
    expect(() => headOf(note, stranger, [], 0)).to.throw(UntrustedNote);
    const elsewhere = signNote(checkpointText({ ...head, origin: 'other.example.com/log' }), [log]);
    expect(() => headOf(elsewhere, log, [], 0)).to.throw(ForkSeen);
  });
});
