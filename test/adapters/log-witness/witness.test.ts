import { expect } from 'chai';
import { askWitness } from '../../../adapters/log-witness/client.js';
import type { Checkpoint } from '../../../application/ports/log-tiles.js';
import { ContradictedByWitness, headsOfWitnesses, Witnessing } from '../../../application/log/witnesses.js';
import { emptyFrontier, grow, leafHash, rootOf } from '../../../domain/merkle.js';
import { checkpointText, openNote, parseNote, signerFrom, signNote } from '../../../domain/signed-note.js';
import { MemoryLogTiles } from '../../support/memory/log-tiles.js';
import { LogWitness } from '../../support/servers/log-witness.js';
import { standingClock } from '../../support/time/standing-clock.js';

const log = signerFrom('cards.example.com/log', 'note', Buffer.alloc(32, 1));
const clock = standingClock(Date.parse('2026-03-02T12:00:00.000Z'));

/** A tree over `size` leaves; those of another log differ from the leaf `from` on. */
const treeOf = async (size: number, from = size): Promise<MemoryLogTiles> => {
  const tiles = new MemoryLogTiles();
  const leaves = Array.from({ length: size }, (_, at) => ({
    hash: leafHash(Buffer.from(`${at < from ? '' : 'other '}${at}`)),
    position: BigInt(at + 1),
    org: null,
    orgSeq: at,
  }));
  await tiles.extend(0, leaves, BigInt(size), 1);
  return tiles;
};

const checkpointOf = async (tiles: MemoryLogTiles, size: number): Promise<Checkpoint> => {
  const root = rootOf(
    grow(
      emptyFrontier,
      tiles.leafList.slice(0, size).map(({ hash }) => hash),
    ).frontier,
  );
  const note = signNote(checkpointText({ origin: log.name, size, root }), [log]);
  return { size, root, note, at: clock.instant() };
};

describe('a witness', () => {
  let witness: LogWitness;
  let url: string;
  beforeEach(async () => {
    witness = new LogWitness(log);
    url = await witness.start();
  });
  afterEach(() => witness.stop());

  const { signal } = new AbortController();
  /** Lets the witness sign. */
  const send = async (tiles: MemoryLogTiles, size: number): Promise<void> => {
    const { note } = await checkpointOf(tiles, size);
    const asked = await askWitness(url, { old: 0, proof: [], note }, signal);
    expect(asked.kind).to.equal('signed');
  };

  it('signs what the service brings to it, and its signature is kept with the checkpoint', async () => {
    const tiles = await treeOf(30);
    await send(tiles, 3);
    const errors: unknown[] = [];
    const witnessing = new Witnessing({
      tiles,
      witnesses: [{ key: witness.signer, url }],
      ask: askWitness,
      report: (error) => errors.push(error),
    });
    for (const size of [12, 30]) {
      const checkpoint = await checkpointOf(tiles, size);
      await tiles.keep(checkpoint);
      witnessing.offer(checkpoint, signal);
      await witnessing.settled();
      const note = (await tiles.newest())?.note ?? '';
      expect(openNote(note, [log, witness.signer]).verified.map(({ key }) => key.name)).to.deep.equal([
        log.name,
        witness.signer.name,
      ]);
    }
    expect(errors).to.deep.equal([]);
  });

  it('lets the service know that its log was set back or changed', async () => {
    const tiles = await treeOf(30);
    await send(tiles, 20);
    for (const [contradicting, size] of [
      [tiles, 12],
      [await treeOf(30, 5), 20],
    ] as const) {
      const errors: unknown[] = [];
      const witnessing = new Witnessing({
        tiles: contradicting,
        witnesses: [{ key: witness.signer, url }],
        ask: askWitness,
        report: (error) => errors.push(error),
      });
      const checkpoint = await checkpointOf(contradicting, size);
      await contradicting.keep(checkpoint);
      witnessing.offer(checkpoint, signal);
      await witnessing.settled();
      expect(errors.map((error) => error instanceof ContradictedByWitness)).to.deep.equal([true]);
      expect(parseNote((await contradicting.newest())?.note ?? '').signatures).to.have.length(1);
    }
  });

  it('says what it has signed to a notary that begins: a larger tree, or another one of that size', async () => {
    const tiles = await treeOf(30);
    await send(tiles, 20);
    const errors: unknown[] = [];
    const heads = async (newest: Checkpoint | null, at = url) =>
      headsOfWitnesses(
        {
          witnesses: [
            { key: witness.signer, url: at },
            { key: witness.signer, url: null },
          ],
          ask: askWitness,
          report: (error) => errors.push(error),
        },
        newest,
        signal,
      );
    expect(await heads(null)).to.deep.equal([]);
    expect(await heads(await checkpointOf(tiles, 12))).to.deep.equal([{ size: 20, root: null }]);
    expect(await heads(await checkpointOf(tiles, 20))).to.deep.equal([]);
    expect(await heads(await checkpointOf(await treeOf(30, 5), 20))).to.deep.equal([
      { size: 20, root: Buffer.alloc(0) },
    ]);
    expect(errors).to.deep.equal([]);
    expect(await heads(await checkpointOf(tiles, 12), 'http://127.0.0.1:1')).to.deep.equal([]);
    expect(errors).to.have.lengthOf(1);
  });
});
