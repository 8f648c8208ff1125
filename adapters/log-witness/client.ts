import { formatWitnessRequest, type WitnessRequest } from '../../domain/witnessing.js';
import { parseSignatures } from '../../domain/signed-note.js';
import type { WitnessAsked } from '../../application/ports/witnesses.js';
import type { Milliseconds } from '../../domain/ids.js';

const requestTimeout: Milliseconds = 5_000;
const maxAnswerBytes = 16 * 1024;

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
    signal: AbortSignal.any([signal, AbortSignal.timeout(requestTimeout)]),
  });
  const text = (await response.text()).slice(0, maxAnswerBytes);
  if (response.status === 200) return { kind: 'signed', signatures: parseSignatures(text) };
  if (response.status === 409 && /^(0|[1-9][0-9]{0,15})\n$/.test(text))
    return { kind: 'at', size: Number(text) };
  // A 409 without a size is for another root of the same size.
  if (response.status === 409 || response.status === 422) return { kind: 'refused' };
  throw new Error(`the witness at ${url} responded with ${response.status}`);
};
