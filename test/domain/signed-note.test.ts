import { expect } from 'chai';
import {
  checkpointText,
  formatNote,
  MalformedKey,
  openNote,
  parseCheckpointText,
  parseNote,
  parseSigner,
  parseSignatures,
  parseVkey,
  signerFrom,
  signerText,
  signNote,
  UntrustedNote,
  vkeyOf,
  withSignatures,
} from '../../domain/signed-note.js';
import { cosignature } from '../support/fixtures/cosignature.js';

// The vectors that golang.org/x/mod publishes for its package sumdb/note.
const peterVkey = 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW';
const peterSkey = 'PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz';
const enochVkey = 'EnochRoot+af0cfe78+ATtqJ7zOtqQtYqOo0CpvDXNlMhV3HeJDpjrASKGLWdop';
const text =
  "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n";
const peterLine =
  '— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n';
const enochLine =
  '— EnochRoot rwz+eBzmZa0SO3NbfRGzPCpDckykFXSdeX+MNtCOXm2/5n2tiOHp+vAF1aGrQ5ovTG01oOTGwnWLox33WWd1RvMc+QQ=\n';

const peter = parseVkey(peterVkey);
const enoch = parseVkey(enochVkey);
const signer = parseSigner(peterSkey);

/** All parts of a text that are shorter, and the text with each of its bytes one higher. */
const manglings = (whole: string): string[] => {
  const parts = [...whole].flatMap((_, from) =>
    Array.from({ length: whole.length - from }, (__, length) => whole.slice(from, from + length + 1)),
  );
  const changed = [...whole].map(
    (letter, index) =>
      `${whole.slice(0, index)}${String.fromCharCode(letter.charCodeAt(0) + 1)}${whole.slice(index + 1)}`,
  );
  return [...parts.filter((part) => part !== whole), ...changed];
};

describe('a key of signed notes', () => {
  it('is read and written as golang.org/x/mod/sumdb/note writes it', () => {
    expect(vkeyOf(peter)).to.equal(peterVkey);
    expect(vkeyOf(enoch)).to.equal(enochVkey);
    expect(signerText(signer)).to.equal(peterSkey);
    expect(vkeyOf(signer)).to.equal(peterVkey);
  });

  it('is refused with any byte changed or left out', () => {
    for (const mangled of manglings(peterVkey))
      expect(() => parseVkey(mangled), mangled).to.throw(MalformedKey);
    for (const mangled of manglings(peterSkey))
      expect(() => parseSigner(mangled), mangled).to.throw(MalformedKey);
  });

  it('is refused with another length or an unknown algorithm, even if its id follows from them', () => {
    for (const vkey of [
      'PeterNeumann+cc469956+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TWBADKEY==',
      'PeterNeumann+173116ae+ZRpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW',
    ])
      expect(() => parseVkey(vkey)).to.throw(MalformedKey);
  });

  it('never stands in the message of an error', () => {
    const seed = peterSkey.slice(-44);
    expect(() => parseSigner(`${peterSkey.replace('c74f', 'c74e')}`))
      .to.throw(MalformedKey)
      .and.satisfy(({ message }: Error) => !message.includes(seed));
  });

  it('has another id as the key of a witness', () => {
    const witness = signerFrom('PeterNeumann', 'cosignature', signer.seed);
    expect(witness.publicKey).to.deep.equal(signer.publicKey);
    expect(witness.id).not.to.equal(signer.id);
    expect(parseVkey(vkeyOf(witness)).kind).to.equal('cosignature');
  });

  it('has a name without spaces and plus signs', () => {
    for (const name of ['', 'a b', 'a+b', 'a\u00a0b', 'a\u0085b'])
      expect(() => signerFrom(name, 'note', signer.seed), name).to.throw(MalformedKey);
  });
});

describe('a signed note', () => {
  it('has the signature that golang.org/x/mod/sumdb/note makes', () => {
    expect(signNote(text, [signer])).to.equal(`${text}\n${peterLine}`);
  });

  it('opens with the keys that are known, and passes over the others', () => {
    const note = `${text}\n${peterLine}${enochLine}`;
    expect(openNote(note, [peter]).verified).to.deep.equal([{ key: peter, time: null }]);
    expect(openNote(note, [peter, enoch]).verified.map(({ key }) => key.name)).to.deep.equal([
      'PeterNeumann',
      'EnochRoot',
    ]);
    expect(openNote(note, [peter]).text).to.equal(text);
    expect(() => openNote(note, [])).to.throw(UntrustedNote, 'no known key');
    expect(formatNote(parseNote(note))).to.equal(note);
  });

  it('is refused if the signature of a known key is wrong, whoever else has signed it', () => {
    const wrong = `${peterLine.slice(0, 40)}ABCD${peterLine.slice(44)}`;
    expect(() => openNote(`${text}\n${wrong}${enochLine}`, [peter, enoch])).to.throw(UntrustedNote, 'wrong');
    expect(() => openNote(`${text.replace('your', 'our')}\n${peterLine}`, [peter])).to.throw(UntrustedNote);
  });

  it('is refused if it is malformed', () => {
    for (const note of [
      text,
      `${text}\n`,
      `${text}\n${peterLine.slice(0, -1)}`,
      `\u0001${text}\n${peterLine}`,
      `\ufffd${text}\n${peterLine}`,
      `${text}\n— Bad Name ${peterLine.slice(15)}`,
      `${text}\n${peterLine}Unexpected line.\n`,
      `${text}\n${peterLine.repeat(101)}`,
      `${text}\n${peterLine.replace('nAM=', 'nAN=')}`,
    ])
      expect(() => openNote(note, [peter]), note).to.throw(UntrustedNote);
  });

  it('takes up signatures of others, each key once', () => {
    const note = withSignatures(`${text}\n${peterLine}`, parseSignatures(enochLine));
    expect(note).to.equal(`${text}\n${peterLine}${enochLine}`);
    expect(withSignatures(note, parseSignatures(enochLine))).to.equal(note);
  });
});

describe('a checkpoint', () => {
  // The examples of c2sp.org/tlog-cosignature.
  const lines = 'example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n';
  const head = {
    origin: 'example.com/behind-the-sofa',
    size: 20852163,
    root: Buffer.from('CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=', 'base64'),
  };

  it('has the lines origin, size and root', () => {
    expect(parseCheckpointText(lines)).to.deep.equal(head);
    expect(checkpointText(head)).to.equal(lines);
  });

  it('may have more lines, which say nothing of the tree', () => {
    expect(parseCheckpointText(`${lines}extension\nanother\n`)).to.deep.equal(head);
  });

  it('is refused with any of these lines missing or malformed', () => {
    for (const wrong of [
      lines.replace('20852163', '020852163'),
      lines.replace('20852163', '-1'),
      lines.replace('20852163', '99999999999999999'),
      lines.replace('q2I=', 'q2J='),
      lines.replace('CsUY', ''),
      `${lines}\nextension\n`,
      `${lines}extension\n\n`,
      `${lines}extension`,
      lines.slice(0, -1),
      lines.slice(lines.indexOf('\n')),
    ])
      expect(() => parseCheckpointText(wrong), wrong).to.throw(UntrustedNote);
  });

  it('is cosigned with a time, which the signature covers', () => {
    const witness = signerFrom('witness.example.com/w1', 'cosignature', Buffer.alloc(32, 7));
    const log = signerFrom('example.com/behind-the-sofa', 'note', Buffer.alloc(32, 8));
    const line = cosignature(witness, lines, 1679315147);
    const note = withSignatures(signNote(lines, [log]), [line]);
    expect(openNote(note, [log, witness]).verified.map(({ time }) => time)).to.deep.equal([null, 1679315147]);
    const later = Buffer.from(line.bytes);
    later.writeUInt8(1, 6);
    expect(() => openNote(withSignatures(note, [{ ...line, bytes: later }]), [witness])).to.throw(
      UntrustedNote,
    );
    expect(() => openNote(withSignatures(note, [{ ...line, name: log.name }]), [witness])).not.to.throw();
  });

  it('is signed by no key of a witness', () => {
    const witness = signerFrom('example.com/w', 'cosignature', Buffer.alloc(32, 8));
    expect(() => signNote(lines, [witness])).to.throw(TypeError);
  });
});
