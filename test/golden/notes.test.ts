import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { parsePolicy } from '../../domain/log-policy.js';
import {
  consistencyPath,
  emptyFrontier,
  grow,
  inclusionPath,
  leafHash,
  rootOf,
  tileAt,
  tilePath,
  verifyConsistency,
} from '../../domain/merkle.js';
import { verifyInclusion } from '../support/fixtures/inclusion.js';
import {
  checkpointText,
  openNote,
  parseCheckpointText,
  parseSignatures,
  parseSigner,
  parseVkey,
  signNote,
  vkeyOf,
  withSignatures,
} from '../../domain/signed-note.js';
import { LogWitness } from '../support/servers/log-witness.js';
import { formatWitnessRequest } from '../../application/ports/witnesses.js';

const proofs = z.array(z.object({ From: z.int(), To: z.int(), Proof: z.array(z.string()) }));
/**
 * What programs of others have made of the entries `entry 0` to `entry 299`: `tlog` and `note` by
 * golang.org/x/mod 0.31 and filippo.io/torchwood 0.9; `witnesses` are the responses of servers to checkpoints
 * of this service.
 */
const recorded = z
  .object({
    tlog: z.object({
      roots: z.record(z.string(), z.string()),
      records: proofs,
      trees: proofs,
      paths: z.record(z.string(), z.tuple([z.int(), z.int(), z.int()])),
    }),
    note: z.object({
      skey: z.string(),
      vkey: z.string(),
      witness: z.string(),
      plain: z.string(),
      extended: z.string(),
      proof: z.string(),
    }),
    witnesses: z.array(
      z.object({
        name: z.string(),
        vkey: z.string(),
        asked: z.array(
          z.object({ old: z.int(), size: z.int(), status: z.int(), type: z.string().nullable(), body: z.string() }),
        ),
      }),
    ),
    mldsa: z.string(),
  })
  .parse(JSON.parse(readFileSync(new URL('../../../test/golden/notes/recorded.json', import.meta.url), 'utf8')));
const { tlog, note } = recorded;

const leaves = Array.from({ length: 300 }, (_, at) => leafHash(Buffer.from(`entry ${at}`)));
const rootAt = (to: number, from = 0): Buffer => rootOf(grow(emptyFrontier, leaves.slice(from, to)).frontier);
const base64 = (hashes: readonly Buffer[]): string[] => hashes.map((hash) => hash.toString('base64'));
const bytesOf = (hashes: readonly string[]): Buffer[] => hashes.map((hash) => Buffer.from(hash, 'base64'));

describe('the tree of golang.org/x/mod/sumdb/tlog', () => {
  it('has the same roots', () => {
    for (const [size, root] of Object.entries(tlog.roots))
      expect([size, rootAt(Number(size)).toString('base64')]).to.deep.equal([size, root]);
  });

  it('has the same proofs, which are right here', () => {
    for (const { From: index, To: size, Proof: proof } of tlog.records) {
      expect(base64(inclusionPath(index, size).map(({ start, end }) => rootAt(end, start)))).to.deep.equal(proof);
      const leaf = leaves[index] ?? Buffer.alloc(0);
      expect(verifyInclusion({ index, leaf, proof: bytesOf(proof) }, { size, root: rootAt(size) })).to.equal(true);
    }
    for (const { From: from, To: to, Proof: proof } of tlog.trees) {
      expect(base64(consistencyPath(from, to).map(({ start, end }) => rootAt(end, start)))).to.deep.equal(proof);
      const [older, newer] = [from, to].map((size) => ({ size, root: rootAt(size) }));
      expect(older && newer && verifyConsistency(older, newer, bytesOf(proof))).to.equal(true);
    }
  });

  it('has its tiles at the same paths, as filippo.io/torchwood writes them', () => {
    for (const [path, [level, n, width]] of Object.entries(tlog.paths)) {
      const tile = { level: level === -1 ? ('entries' as const) : level, n, width };
      expect([tilePath(tile), tileAt(path)]).to.deep.equal([path, tile]);
    }
  });
});

describe('a checkpoint of golang.org/x/mod/sumdb/note and filippo.io/torchwood', () => {
  const keys = [note.vkey, note.witness].map(parseVkey);

  it('is signed here as it is there', () => {
    const [text = ''] = note.plain.split('\n\n');
    const signed = signNote(`${text}\n`, [parseSigner(note.skey)]);
    expect(note.plain.startsWith(signed)).to.equal(true);
    expect(vkeyOf(parseSigner(note.skey))).to.equal(note.vkey);
  });

  it('opens with the keys of log and witness, also with extension lines', () => {
    for (const [signed, size] of [
      [note.plain, 300],
      [note.extended, 257],
    ] as const) {
      const { text, verified } = openNote(signed, keys);
      expect(verified.map(({ key }) => key.name)).to.deep.equal(keys.map(({ name }) => name));
      expect(parseCheckpointText(text)).to.deep.equal({
        origin: 'cards.example.com/log',
        size,
        root: rootAt(size),
      });
    }
    expect(() => openNote(note.extended.replace('another line', 'another'), keys)).to.throw();
  });

  it('ends a proof as c2sp.org/tlog-proof says', () => {
    const at = note.proof.indexOf('\n\n');
    const [heading, extra, index, ...proof] = note.proof.slice(0, at).split('\n');
    expect([heading, extra, index]).to.deep.equal([
      'c2sp.org/tlog-proof@v1',
      `extra ${Buffer.from('entry 77').toString('base64')}`,
      'index 77',
    ]);
    const head = parseCheckpointText(openNote(note.proof.slice(at + 2), keys).text);
    const leaf = leafHash(Buffer.from('entry 77'));
    expect(verifyInclusion({ index: 77, leaf, proof: bytesOf(proof) }, head)).to.equal(true);
  });
});

describe('a witness that others have written', () => {
  const log = parseSigner(note.skey);
  const noteAt = (size: number): string =>
    signNote(checkpointText({ origin: log.name, size, root: rootAt(size) }), [log]);

  for (const { name, vkey, asked } of recorded.witnesses) {
    it(`signs checkpoints of this service: ${name}`, () => {
      const key = parseVkey(vkey);
      const signed = asked.filter(({ status }) => status === 200);
      expect(signed.map(({ size }) => size)).to.deep.equal([100, 257, 300]);
      for (const { size, body } of signed) {
        const { verified } = openNote(withSignatures(noteAt(size), parseSignatures(body)), [log, key]);
        expect(verified.map((signature) => signature.key.name)).to.deep.equal([log.name, key.name]);
      }
    });

    it(`responds as the witness of the tests does: ${name}`, async () => {
      const witness = new LogWitness(log);
      const url = await witness.start();
      try {
        for (const { old, size, status, type, body } of asked) {
          // One of them was asked with a proof for another size.
          const path = old === 0 ? [] : consistencyPath(status === 422 ? old - 1 : old, size);
          const proof = path.map(({ start, end }) => rootAt(end, start));
          const request = formatWitnessRequest({ old, proof, note: noteAt(size) });
          const response = await fetch(`${url}/add-checkpoint`, { method: 'POST', body: request });
          expect([old, size, response.status]).to.deep.equal([old, size, status]);
          if (status !== 409) continue;
          expect([response.headers.get('content-type'), await response.text()]).to.deep.equal([type, body]);
        }
      } finally {
        await witness.stop();
      }
    });
  }

  it('may stand in a policy with a key of another algorithm, and is then one that never signs', () => {
    const [lite = '', omni = ''] = recorded.witnesses.map(({ vkey }) => vkey);
    const policy = (quorum: string) =>
      parsePolicy(
        [
          `log ${note.vkey}`,
          `log ${recorded.mldsa.replace('witness.example.com/omni', 'cards.example.com/log')}`,
          `witness lite ${lite} https://lite.example.com`,
          `witness omni ${omni}`,
          `witness quantum ${recorded.mldsa} https://omni.example.com`,
          'group two 2 lite omni quantum',
          `quorum ${quorum}`,
        ].join('\n'),
      );
    const { logs, witnesses, isMet } = policy('two');
    expect(logs.map(vkeyOf)).to.deep.equal([note.vkey]);
    expect(witnesses.map(({ key }) => vkeyOf(key))).to.deep.equal([lite, omni]);
    const keys = [lite, omni].map(parseVkey);
    expect([isMet(keys), isMet(keys.slice(1)), policy('quantum').isMet(keys)]).to.deep.equal([true, false, false]);
  });
});
