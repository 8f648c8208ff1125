import { formatWitnessRequest, type WitnessRequest } from '../../domain/witnessing.js';
import { parseSignatures, type NoteSignature } from '../../domain/signed-note.js';
import type { WitnessAsked } from '../../application/ports/witnesses.js';
import type { Milliseconds } from '../../domain/ids.js';

const longestWait: Milliseconds = 10_000;
const longestAnswer = 16 * 1024;

/**
 * Asks a witness for its signatures over HTTP (c2sp.org/tlog-witness). Throws if it can't be reached or
 * refuses.
 */
export const askWitness = async (
  url: string,
  request: WitnessRequest,
  signal: AbortSignal,
): Promise<WitnessAsked> => {
  const response = await fetch(`${url.replace(/\/+$/, '')}/add-checkpoint`, {
    method: 'POST',
    body: formatWitnessRequest(request),
    redirect: 'error',
    signal: AbortSignal.any([signal, AbortSignal.timeout(longestWait)]),
  });
  const text = (await response.text()).slice(0, longestAnswer);
  if (response.status === 200) return { kind: 'signed', signatures: signaturesIn(text) };
  if (response.status === 409 && /^(0|[1-9][0-9]{0,15})\n$/.test(text))
    return { kind: 'at', size: Number(text) };
  throw new Error(`the witness at ${url} responded with ${response.status}`);
};

const signaturesIn = (text: string): readonly NoteSignature[] => parseSignatures(text);
