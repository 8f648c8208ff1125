import { expect } from 'chai';
import { askWitness } from '../../../adapters/log-witness/client.js';
import { RefusedByWitnesses, Witnesses, type WitnessStatus } from '../../../application/log/witnesses.js';
import type { Checkpoint } from '../../../application/ports/log-tiles.js';
import { emptyFrontier, grow, leafHash, rootOf } from '../../../domain/merkle.js';
import { checkpointText, openNote, parseNote, signerFrom, signNote } from '../../../domain/signed-note.js';
import { MemoryLogTiles } from '../../support/memory/log-tiles.js';
import { LogWitness } from '../../support/servers/log-witness.js';
import { standingClock } from '../../support/time/standing-clock.js';

const log = signerFrom('cards.example.com/log', 'note', Buffer.alloc(32, 1));
const stranger = signerFrom('witness.example.com/w2', 'cosignature', Buffer.alloc(32, 4));

/** A tree over `size` leaves; those of another log differ from the leaf `from` on. */
const treeOf = async (size: number, from = size): Promise<MemoryLogTiles> => {
  const tiles = new MemoryLogTiles();
  const leaves = Array.from({ length: size }, (_, index) => ({
    hash: leafHash(Buffer.from(`leaf ${index}${index < from ? '' : ' of another log'}`)),
    position: BigInt(index + 1),
    org: null,
    orgSeq: index,
  }));
  await tiles.extend(0, leaves, BigInt(size), 0);
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
  return { size, root, note, at: standingClock(0).instant() };
};

describe('a witness that the log is brought to', () => {
  let witness: LogWitness;
  let url: string;
  let clock: ReturnType<typeof standingClock>;
  const errors: string[] = [];
  let status: readonly WitnessStatus[] = [];
  beforeEach(async () => {
    errors.length = 0;
    clock = standingClock(Date.parse('2026-03-02T12:00:00.000Z'));
    witness = new LogWitness(log);
    url = await witness.start();
  });
  afterEach(() => witness.stop());

  const { signal } = new AbortController();
  /** `isMet`: whether the policy can do without the witness. */
  const over = (tiles: MemoryLogTiles, isMet = false, at = url) =>
    new Witnesses({
      tiles,
      policy: {
        witnesses: [
          { key: witness.signer, url: at },
          { key: stranger, url: null },
        ],
        isMet: (signed) => isMet || signed.includes(witness.signer),
      },
      ask: askWitness,
      clock,
      report: (error) => errors.push(String(error)),
      onStatus: (all) => void (status = all),
    });
  const bring = async (tiles: MemoryLogTiles, size: number, isMet = false): Promise<string> =>
    over(tiles, isMet).bring(await checkpointOf(tiles, size), signal);
  const signersOf = (note: string) =>
    openNote(note, [log, witness.signer]).verified.map(({ key }) => key.name);
  const refused = (work: Promise<unknown>): Promise<string> =>
    work.then(
      () => 'it did not refuse',
      (error: unknown) => (error instanceof RefusedByWitnesses ? error.message : String(error)),
    );

  it('signs what has grown from what it has signed before, whatever is known of that', async () => {
    const tiles = await treeOf(30);
    const witnesses = over(tiles);
    for (const size of [3, 12, 30]) {
      expect(witnesses.areDue(size)).to.equal(true);
      const note = await witnesses.bring(await checkpointOf(tiles, size), signal);
      expect(signersOf(note)).to.deep.equal([log.name, witness.signer.name]);
      expect(witnesses.areDue(size)).to.equal(false);
    }
    expect(signersOf(await bring(tiles, 30))).to.have.lengthOf(2);
    expect(errors).to.deep.equal([]);
    expect(status).to.deep.equal([
      { name: witness.signer.name, refusal: null, size: 30, time: 1_772_000_000 },
    ]);
  });

  const contradicting = {
    'was set back': [12, 30, 'has signed a tree of 20 events, and this one has 12'],
    'is another one of the same size': [20, 5, 'has signed another tree of 20 events'],
    'was changed, and has grown since': [30, 5, 'has signed another tree of 20 events'],
  } as const;
  for (const [what, [size, from, says]] of Object.entries(contradicting)) {
    it(`refuses a log that ${what}: nothing can be signed where the quorum needs it`, async () => {
      await bring(await treeOf(30), 20);
      expect(await refused(bring(await treeOf(30, from), size))).to.include(`${witness.signer.name} ${says}`);
      expect(status[0]?.refusal).to.include(says);
      expect(witness.head?.size).to.equal(20);
    });

    it(`refuses a log that ${what}: where the quorum does without it, its signature is missing`, async () => {
      await bring(await treeOf(30), 20);
      const note = await bring(await treeOf(30, from), size, true);
      expect(parseNote(note).signatures).to.have.lengthOf(1);
      expect(errors.join()).to.include(says);
      expect(status[0]).to.include({ size: 0 });
      expect(status[0]?.refusal).to.include(says);
    });
  }

  it('is not moved by an old checkpoint that is replayed to it', async () => {
    const tiles = await treeOf(30);
    const { note } = await checkpointOf(tiles, 7);
    await bring(tiles, 20);
    for (const old of [0, 7])
      expect(await askWitness(url, { old, proof: [], note }, signal)).to.deep.equal({ kind: 'at', size: 20 });
    expect(signersOf(await bring(tiles, 30))).to.have.lengthOf(2);
  });

  it('that does not answer refuses nothing, and is asked again after a minute', async () => {
    const tiles = await treeOf(30);
    const witnesses = over(tiles, false, 'http://127.0.0.1:1');
    const checkpoint = await checkpointOf(tiles, 12);
    for (let time = 0; time < 3; time += 1)
      expect(await witnesses.bring(checkpoint, signal)).to.equal(checkpoint.note);
    expect([errors.length, witnesses.areDue(12)]).to.deep.equal([1, false]);
    await clock.sleep(60_000);
    expect(witnesses.areDue(12)).to.equal(true);
    await witnesses.bring(checkpoint, signal);
    expect(errors).to.have.lengthOf(2);
    expect(status).to.deep.equal([{ name: witness.signer.name, refusal: null, size: 0, time: 0 }]);
  });

  it('that has signed less is asked when lost tiles, which give the proof, are there again', async () => {
    const tiles = await treeOf(30);
    await bring(tiles, 12);
    const checkpoint = await checkpointOf(tiles, 30);
    const lost = new MemoryLogTiles();
    const witnesses = over(lost);
    expect(await witnesses.bring(checkpoint, signal)).to.equal(checkpoint.note);
    await lost.extend(0, tiles.leafList, 30n, 0);
    expect(signersOf(await witnesses.bring(checkpoint, signal))).to.have.lengthOf(2);
  });
});
