import { parseSignatures } from '../../domain/signed-note.js';
import {
  formatWitnessRequest,
  type WitnessAsked,
  type WitnessRequest,
} from '../../application/ports/witnesses.js';
import type { Milliseconds } from '../../domain/ids.js';

const requestTimeout: Milliseconds = 5_000;
const maxAnswerBytes = 16 * 1024;

/** The beginning of an answer. What goes beyond is not read: the witness chooses how much there is. */
const beginningOf = async ({ body }: Response): Promise<string> => {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of body ?? []) {
    parts.push(part);
    size += part.length;
    if (size >= maxAnswerBytes) break;
  }
  return Buffer.concat(parts).subarray(0, maxAnswerBytes).toString();
};

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
    headers: { 'accept-encoding': 'identity' },
    redirect: 'error',
    signal: AbortSignal.any([signal, AbortSignal.timeout(requestTimeout)]),
  });
  const encoding = response.headers.get('content-encoding') ?? 'identity';
  if (encoding !== 'identity') {
    await response.body?.cancel();
    throw new Error(`the witness at ${url} responded in ${encoding}, which was not asked for`);
  }
  const text = await beginningOf(response);
  if (response.status === 200) return { kind: 'signed', signatures: parseSignatures(text) };
  if (response.status === 409 && /^(0|[1-9][0-9]{0,15})\n$/.test(text))
    return { kind: 'at', size: Number(text) };
  // A 409 without a size is for another root of the same size.
  if (response.status === 409 || response.status === 422) return { kind: 'refused' };
  throw new Error(`the witness at ${url} responded with ${response.status}`);
};
