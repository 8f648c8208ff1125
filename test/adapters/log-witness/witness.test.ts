import { mkdtempSync, rmSync } from 'node:fs';
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { askWitness } from '../../../adapters/log-witness/client.js';
import { headsIn, witnessServer } from '../../../adapters/log-witness/server.js';
import { consistencyProof } from '../../../application/log/log-proofs.js';
import type { Checkpoint } from '../../../application/ports/log-tiles.js';
import { ContradictedByWitness, headsOfWitnesses, Witnessing } from '../../../application/log/witnesses.js';
import { emptyFrontier, grow, leafHash, rootOf } from '../../../domain/merkle.js';
import { checkpointText, openNote, parseNote, signerFrom, signNote } from '../../../domain/signed-note.js';
import { formatWitnessRequest } from '../../../domain/witnessing.js';
import { MemoryLogTiles } from '../../support/memory/log-tiles.js';
import { standingClock } from '../../support/time/standing-clock.js';

const log = signerFrom('cards.example.com/log', 'note', Buffer.alloc(32, 1));
const stranger = signerFrom('cards.example.com/log', 'note', Buffer.alloc(32, 2));
const signer = signerFrom('witness.example.com/w1', 'cosignature', Buffer.alloc(32, 3));
const now = Date.parse('2026-03-02T12:00:00.000Z');
const clock = standingClock(now);

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

const checkpointOf = async (tiles: MemoryLogTiles, size: number, by = log): Promise<Checkpoint> => {
  const root = rootOf(
    grow(
      emptyFrontier,
      tiles.leafList.slice(0, size).map(({ hash }) => hash),
    ).frontier,
  );
  const note = signNote(checkpointText({ origin: log.name, size, root }), [by]);
  return { size, root, note, at: clock.instant() };
};

describe('a witness', () => {
  let folder: string;
  let server: Server;
  let url: string;
  const start = async (): Promise<void> => {
    server = witnessServer({ logs: [log], signer, heads: headsIn(join(folder, 'state')), clock });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  };
  const stop = (): Promise<void> => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(() => resolve()));
  };
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'witness-'));
    await start();
  });
  afterEach(async () => {
    await stop();
    rmSync(folder, { recursive: true });
  });

  const post = async (body: string): Promise<readonly [number, string, string | null]> => {
    const response = await fetch(`${url}/add-checkpoint`, { method: 'POST', body });
    return [response.status, await response.text(), response.headers.get('content-type')];
  };
  const send = async (tiles: MemoryLogTiles, old: number, size: number, by = log) => {
    const proof = old === 0 || old >= size ? [] : await consistencyProof(tiles, old, size);
    return post(formatWitnessRequest({ old, proof, note: (await checkpointOf(tiles, size, by)).note }));
  };

  it('signs a checkpoint that has grown from the one it signed before, with the time', async () => {
    const tiles = await treeOf(20);
    for (const [old, size] of [
      [0, 7],
      [7, 7],
      [7, 20],
    ] as const) {
      const [status, lines] = await send(tiles, old, size);
      expect(status).to.equal(200);
      const { note } = await checkpointOf(tiles, size);
      const { verified } = openNote(`${note}${lines}`, [signer]);
      expect(verified.map(({ key, time }) => [key.name, time])).to.deep.equal([[signer.name, now / 1000]]);
    }
  });

  it('refuses what does not follow from what it has signed, also after a restart', async () => {
    const tiles = await treeOf(20);
    const other = await treeOf(20, 5);
    await send(tiles, 0, 10);
    await stop();
    await start();
    expect((await send(tiles, 0, 20)).slice(0, 3)).to.deep.equal([409, '10\n', 'text/x.tlog.size']);
    expect((await send(tiles, 4, 20))[0]).to.equal(409);
    expect((await send(other, 10, 10))[0]).to.equal(409);
    expect((await send(other, 10, 20))[0]).to.equal(422);
    expect((await send(tiles, 10, 4))[0]).to.equal(400);
    expect((await send(tiles, 10, 20, stranger))[0]).to.equal(403);
    expect((await send(tiles, 10, 20))[0]).to.equal(200);
    expect((await send(tiles, 10, 20))[0]).to.equal(409);
  });

  it('knows the logs that it was told of, and no others', async () => {
    const elsewhere = signerFrom('other.example.com/log', 'note', Buffer.alloc(32, 4));
    const note = signNote(checkpointText({ origin: elsewhere.name, size: 0, root: Buffer.alloc(32) }), [
      elsewhere,
    ]);
    expect((await post(formatWitnessRequest({ old: 0, proof: [], note })))[0]).to.equal(404);
    for (const body of [
      '',
      'old x\n\n',
      'old 0\n',
      `old 0\n${'A'.repeat(44)}\n\n${note}`,
      'x'.repeat(70_000),
    ])
      expect((await post(body))[0], body.slice(0, 20)).to.be.oneOf([400, 413]);
    expect((await fetch(`${url}/add-checkpoint`)).status).to.equal(405);
    expect((await fetch(url)).status).to.equal(404);
  });

  it('signs what the service brings to it, and its signature is kept with the checkpoint', async () => {
    const tiles = await treeOf(30);
    await send(tiles, 0, 3);
    const errors: unknown[] = [];
    const witnessing = new Witnessing({
      tiles,
      witnesses: [{ key: signer, url }],
      ask: askWitness,
      report: (error) => errors.push(error),
    });
    const { signal } = new AbortController();
    for (const size of [12, 30]) {
      const checkpoint = await checkpointOf(tiles, size);
      await tiles.keep(checkpoint);
      witnessing.offer(checkpoint, signal);
      await witnessing.settled();
      const note = (await tiles.newest())?.note ?? '';
      expect(openNote(note, [log, signer]).verified.map(({ key }) => key.name)).to.deep.equal([
        log.name,
        signer.name,
      ]);
    }
    expect(errors).to.deep.equal([]);
  });

  it('lets the service know that its log was set back or changed', async () => {
    const tiles = await treeOf(30);
    await send(tiles, 0, 20);
    for (const [contradicting, size] of [
      [tiles, 12],
      [await treeOf(30, 5), 20],
    ] as const) {
      const errors: unknown[] = [];
      const witnessing = new Witnessing({
        tiles: contradicting,
        witnesses: [{ key: signer, url }],
        ask: askWitness,
        report: (error) => errors.push(error),
      });
      const checkpoint = await checkpointOf(contradicting, size);
      await contradicting.keep(checkpoint);
      witnessing.offer(checkpoint, new AbortController().signal);
      await witnessing.settled();
      expect(errors.map((error) => error instanceof ContradictedByWitness)).to.deep.equal([true]);
      expect(parseNote((await contradicting.newest())?.note ?? '').signatures).to.have.length(1);
    }
  });

  it('says what it has signed to a notary that begins: a larger tree, or another one of that size', async () => {
    const tiles = await treeOf(30);
    await send(tiles, 0, 20);
    const { signal } = new AbortController();
    const errors: unknown[] = [];
    const heads = async (newest: Checkpoint | null, at = url) =>
      headsOfWitnesses(
        {
          witnesses: [
            { key: signer, url: at },
            { key: signer, url: null },
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
