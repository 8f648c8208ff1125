import { verifyConsistency } from './merkle.js';
import {
  cosignature,
  formatSignatures,
  fromBase64,
  openNote,
  parseCheckpointText,
  parseNote,
  UntrustedNote,
  type NoteKey,
  type NoteSigner,
  type TreeHead,
} from './signed-note.js';

/** What a log asks a witness: to sign a checkpoint that grew from an older one (c2sp.org/tlog-witness). */
export interface WitnessRequest {
  /** The size that the witness has signed last; 0 for none. */
  readonly old: number;
  readonly proof: readonly Buffer[];
  /** The checkpoint. */
  readonly note: string;
}

export const formatWitnessRequest = ({ old, proof, note }: WitnessRequest): string =>
  `old ${old}\n${proof.map((hash) => `${hash.toString('base64')}\n`).join('')}\n${note}`;

const longestProof = 63;

/** Null if it is malformed. */
export const parseWitnessRequest = (body: string): WitnessRequest | null => {
  const end = body.indexOf('\n\n');
  const [first = '', ...lines] = body.slice(0, Math.max(end, 0)).split('\n');
  const [, digits] = /^old (0|[1-9][0-9]{0,15})$/.exec(first) ?? [];
  const proof = lines.map(fromBase64);
  const isWhole = (hash: Buffer | null): hash is Buffer => hash?.length === 32;
  if (digits === undefined || lines.length > longestProof || !proof.every(isWhole)) return null;
  return { old: Number(digits), proof, note: body.slice(end + 2) };
};

/**
 * What a witness answers: a status of HTTP. `head`: what it is to write down before it answers; null for
 * nothing.
 */
export interface WitnessAnswer {
  readonly status: 200 | 400 | 403 | 404 | 409 | 422;
  readonly body: string;
  readonly head: TreeHead | null;
}

const refused = (status: WitnessAnswer['status'], body: string): WitnessAnswer => ({
  status,
  body,
  head: null,
});

/** The head of the tree in a checkpoint; null if it is none. */
const headIn = (note: string): TreeHead | null => {
  try {
    return parseCheckpointText(parseNote(note).text);
  } catch (error) {
    if (error instanceof UntrustedNote) return null;
    throw error;
  }
};

const isSignedBy = (note: string, keys: readonly NoteKey[]): boolean => {
  try {
    return openNote(note, keys).verified.length > 0;
  } catch (error) {
    if (error instanceof UntrustedNote) return false;
    throw error;
  }
};

/**
 * Decides whether a witness signs. `known`: the heads that it has signed last, one of each log. It never
 * signs two trees of which none is a prefix of the other. `time`: seconds since 1970.
 */
export const witness = (
  known: readonly TreeHead[],
  logs: readonly NoteKey[],
  signer: NoteSigner,
  body: string,
  time: number,
): WitnessAnswer => {
  const request = parseWitnessRequest(body);
  const head = request && headIn(request.note);
  if (request === null || head === null) return refused(400, 'This is no request to sign a checkpoint.\n');
  const keys = logs.filter(({ name, kind }) => name === head.origin && kind === 'note');
  if (keys.length === 0) return refused(404, `The log ${head.origin} is not known.\n`);
  if (!isSignedBy(request.note, keys)) return refused(403, 'No known key of the log has signed this.\n');
  if (request.old > head.size) return refused(400, 'The older tree is larger.\n');
  const last = known.find(({ origin }) => origin === head.origin) ?? null;
  if (request.old !== (last?.size ?? 0)) return refused(409, `${last?.size ?? 0}\n`);
  if (last?.size === head.size && !last.root.equals(head.root)) return refused(409, `${last.size}\n`);
  const isPrefix =
    last === null || last.size === 0
      ? request.proof.length === 0
      : verifyConsistency(last, head, request.proof);
  if (!isPrefix) return refused(422, 'The older tree is no prefix of this one.\n');
  const { text } = parseNote(request.note);
  return { status: 200, body: formatSignatures([cosignature(signer, text, time)]), head };
};
