import { NamedError } from './errors.js';
import { createPrivateKey, createPublicKey, hash, sign, verify, type KeyObject } from 'node:crypto';

/**
 * Signed notes (c2sp.org/signed-note) with Ed25519: a text, an empty line, and a line for each signature. The
 * checkpoints of the log are notes (c2sp.org/tlog-checkpoint), and so are the statements of exports.
 */

/** Signs the text itself, as a log does, or the text with the time before it, as a witness does. */
export type SignatureKind = 'note' | 'cosignature';

/** A key that verifies notes. Name and id together identify it. */
export interface NoteKey {
  /** Of a log: its origin. */
  readonly name: string;
  /** Four bytes, as eight hexadecimal digits. */
  readonly id: string;
  readonly kind: SignatureKind;
  readonly publicKey: Buffer;
}

/** A key that notes are signed with. */
export interface NoteSigner extends NoteKey {
  readonly seed: Buffer;
}

export interface NoteSignature {
  readonly name: string;
  readonly id: string;
  /** The bytes after the key id. */
  readonly bytes: Buffer;
}

export interface Note {
  /** Ends in a line feed. */
  readonly text: string;
  readonly signatures: readonly NoteSignature[];
}

/** A signature of a known key, which is right. */
export interface VerifiedSignature {
  readonly key: NoteKey;
  /** Seconds since 1970 that a cosignature states; null for the signature of a log. */
  readonly time: number | null;
}

export class MalformedKey extends NamedError {}

/** A key of an algorithm that is not known here; c2sp.org/signed-note has others. */
export class UnknownAlgorithm extends MalformedKey {}

/** A text that is no note, or a note that no known key or a known key did not sign rightly. */
export class UntrustedNote extends NamedError {}

const kinds: Readonly<Record<number, SignatureKind | undefined>> = { 1: 'note', 4: 'cosignature' };
const typeOf = (kind: SignatureKind): number => (kind === 'note' ? 1 : 4);

const keyLength = 32;
const signatureLength = 64;
const maxSignatures = 100;

/** Only the one way to write bytes in base64 counts: others would let a note change and stay valid. */
export const fromBase64 = (text: string): Buffer | null => {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : null;
};

export const isKeyName = (name: string): boolean => name !== '' && !/[\s\u0085+]/u.test(name);

const idOf = (name: string, kind: SignatureKind, publicKey: Buffer): string => {
  const named = Buffer.concat([Buffer.from(`${name}\n`), Buffer.of(typeOf(kind)), publicKey]);
  return hash('sha256', named, 'hex').slice(0, 8);
};

// A key in DER is a fixed head and its 32 bytes.
const publicHead = Buffer.from('302a300506032b6570032100', 'hex');
const privateHead = Buffer.from('302e020100300506032b657004220420', 'hex');

const privateKeyOf = (seed: Buffer): KeyObject =>
  createPrivateKey({ key: Buffer.concat([privateHead, seed]), format: 'der', type: 'pkcs8' });

const publicKeyOf = (bytes: Buffer): KeyObject =>
  createPublicKey({ key: Buffer.concat([publicHead, bytes]), format: 'der', type: 'spki' });

/** Makes a signer from 32 random bytes. Throws MalformedKey. */
export const signerFrom = (name: string, kind: SignatureKind, seed: Buffer): NoteSigner => {
  if (!isKeyName(name)) throw new MalformedKey('the name of a key can hold neither spaces nor plus signs.');
  if (seed.length !== keyLength) throw new MalformedKey('a signing key is made of 32 bytes.');
  const der = createPublicKey(privateKeyOf(seed)).export({ format: 'der', type: 'spki' });
  const publicKey = der.subarray(publicHead.length);
  return { name, kind, publicKey, seed, id: idOf(name, kind, publicKey) };
};

const encoded = (kind: SignatureKind, bytes: Buffer): string =>
  Buffer.concat([Buffer.of(typeOf(kind)), bytes]).toString('base64');

/** The key to check with, as it is handed out: `{name}+{id}+{base64}`. */
export const vkeyOf = ({ name, id, kind, publicKey }: NoteKey): string =>
  `${name}+${id}+${encoded(kind, publicKey)}`;

const signerHead = 'PRIVATE+KEY+';

/** The key to sign with, as it is kept: `PRIVATE+KEY+{name}+{id}+{base64}`. */
export const signerText = ({ name, id, kind, seed }: NoteSigner): string =>
  `${signerHead}${name}+${id}+${encoded(kind, seed)}`;

const keyParts = (text: string) => {
  const [, name = '', id = '', base64 = ''] = /^([^+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)$/.exec(text) ?? [];
  const bytes = fromBase64(base64);
  if (!isKeyName(name) || bytes === null)
    throw new MalformedKey('this is not a key of the form {name}+{id}+{base64}.');
  const kind = kinds[bytes[0] ?? 0];
  if (kind === undefined) throw new UnknownAlgorithm(`the algorithm of ${name}+${id} is not known.`);
  if (bytes.length !== keyLength + 1) throw new MalformedKey('this is not a key of Ed25519.');
  return { name, id, kind, bytes: bytes.subarray(1) };
};

/** Throws MalformedKey. */
export const parseVkey = (text: string): NoteKey => {
  const { name, id, kind, bytes: publicKey } = keyParts(text);
  if (idOf(name, kind, publicKey) !== id)
    throw new MalformedKey(`the key's id ${id} does not follow from its name and its bytes.`);
  return { name, id, kind, publicKey };
};

/** Throws MalformedKey, with a message that does not hold the key. */
export const parseSigner = (text: string): NoteSigner => {
  if (!text.startsWith(signerHead)) throw new MalformedKey(`a signing key begins with ${signerHead}.`);
  const { name, id, kind, bytes } = keyParts(text.slice(signerHead.length));
  const signer = signerFrom(name, kind, bytes);
  if (signer.id !== id)
    throw new MalformedKey(`the key's id ${id} does not follow from its name and its bytes.`);
  return signer;
};

const signatureLine = ({ name, id, bytes }: NoteSignature): string =>
  `— ${name} ${Buffer.concat([Buffer.from(id, 'hex'), bytes]).toString('base64')}\n`;

const signatureOf = (line: string): NoteSignature => {
  const [, name = '', base64 = ''] = /^— ([^ ]+) ([^ ]+)$/.exec(line) ?? [];
  const bytes = fromBase64(base64);
  if (!isKeyName(name) || bytes === null || bytes.length <= 4)
    throw new UntrustedNote('this is not a signed note: a signature line is malformed.');
  return { name, id: bytes.toString('hex', 0, 4), bytes: bytes.subarray(4) };
};

/** Throws UntrustedNote if it does not end in a line feed or holds another control character. */
const assertText = (text: string): void => {
  // oxlint-disable-next-line no-control-regex
  if (!text.endsWith('\n') || /[\u0000-\u0009\u000b-\u001f\ufffd]/.test(text))
    throw new UntrustedNote('this is not a signed note: it must be lines without control characters.');
};

/** Parses signature lines, such as a witness's answer. Throws UntrustedNote. */
export const parseSignatures = (lines: string): NoteSignature[] => {
  assertText(lines);
  const signatures = lines.slice(0, -1).split('\n').map(signatureOf);
  if (signatures.length > maxSignatures)
    throw new UntrustedNote(`this note has more than ${maxSignatures} signatures.`);
  return signatures;
};

/** Parses a note without looking whether a signature is right. Throws UntrustedNote. */
export const parseNote = (note: string): Note => {
  assertText(note);
  const end = note.lastIndexOf('\n\n');
  if (end < 1) throw new UntrustedNote('this is not a signed note: it has no signatures.');
  return { text: note.slice(0, end + 1), signatures: parseSignatures(note.slice(end + 2)) };
};

export const formatNote = ({ text, signatures }: Note): string =>
  `${text}\n${signatures.map(signatureLine).join('')}`;

/** The text that a cosignature signs: c2sp.org/tlog-cosignature, version 1. */
const cosigned = (text: string, time: number): string => `cosignature/v1\ntime ${time}\n${text}`;

const verifiedBy = (key: NoteKey, text: string, bytes: Buffer): VerifiedSignature | null => {
  const publicKey = publicKeyOf(key.publicKey);
  if (key.kind === 'note') {
    const isRight = bytes.length === signatureLength && verify(null, Buffer.from(text), publicKey, bytes);
    return isRight ? { key, time: null } : null;
  }
  if (bytes.length !== 8 + signatureLength) return null;
  const time = Number(bytes.readBigUInt64BE());
  const isRight =
    Number.isSafeInteger(time) &&
    verify(null, Buffer.from(cosigned(text, time)), publicKey, bytes.subarray(8));
  return isRight ? { key, time } : null;
};

/**
 * Parses a note and checks it with the known keys; signatures of others are not looked at. `verified`: those
 * of known keys, at least one. Throws UntrustedNote if there is none, or if one of them is wrong.
 */
export const openNote = (note: string, keys: readonly NoteKey[]) => {
  const { text, signatures } = parseNote(note);
  const verified: VerifiedSignature[] = [];
  for (const { name, id, bytes } of signatures) {
    const key = keys.find((known) => known.name === name && known.id === id);
    if (key === undefined || verified.some((earlier) => earlier.key === key)) continue;
    const right = verifiedBy(key, text, bytes);
    if (right === null) throw new UntrustedNote(`the signature of ${name}+${id} is wrong.`);
    verified.push(right);
  }
  if (verified.length === 0) throw new UntrustedNote('no known key has signed this note.');
  return { text, signatures, verified };
};

/** Throws TypeError for a signer whose signatures have a time: that one cosigns. */
const signatureBy = (signer: NoteSigner, text: string): NoteSignature => {
  if (signer.kind !== 'note') throw new TypeError(`${signer.name} cosigns checkpoints, and signs no notes.`);
  const bytes = sign(null, Buffer.from(text), privateKeyOf(signer.seed));
  return { name: signer.name, id: signer.id, bytes };
};

/** Signs a text, which must end in a line feed. The same text and keys always give the same note. */
export const signNote = (text: string, signers: readonly NoteSigner[]): string => {
  assertText(text);
  return formatNote({ text, signatures: signers.map((signer) => signatureBy(signer, text)) });
};

/** The note with signatures added; one of the same key takes the place of an earlier one. */
export const withSignatures = (note: string, added: readonly NoteSignature[]): string => {
  const { text, signatures } = parseNote(note);
  const others = signatures.filter(
    ({ name, id }) => !added.some((signature) => signature.name === name && signature.id === id),
  );
  return formatNote({ text, signatures: [...others, ...added] });
};

/** The head of the log's tree at a size, as in its checkpoint. */
export interface TreeHead {
  readonly origin: string;
  readonly size: number;
  readonly root: Buffer;
}

/** The text of a checkpoint: c2sp.org/tlog-checkpoint. This log writes no extension lines. */
export const checkpointText = ({ origin, size, root }: TreeHead): string =>
  `${origin}\n${size}\n${root.toString('base64')}\n`;

/** The name of the log that a checkpoint is of. */
export const originOf = (note: string): string => note.split('\n', 1)[0] ?? '';

/** Parses the text of a checkpoint. Extension lines are skipped. Throws UntrustedNote. */
export const parseCheckpointText = (text: string): TreeHead => {
  const [origin = '', digits = '', base64 = '', ...extensions] = text.split('\n');
  const root = fromBase64(base64);
  const size = /^(0|[1-9][0-9]{0,15})$/.test(digits) ? Number(digits) : NaN;
  const isWhole = extensions.at(-1) === '' && extensions.indexOf('') === extensions.length - 1;
  if (origin === '' || !Number.isSafeInteger(size) || root?.length !== 32 || !isWhole)
    throw new UntrustedNote('this is not a checkpoint: it must have the lines origin, size and root.');
  return { origin, size, root };
};
