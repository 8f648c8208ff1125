import type { NoteSignature } from '../../domain/signed-note.js';

/** A request to a witness: to sign a checkpoint that grew from an older one (c2sp.org/tlog-witness). */
export interface WitnessRequest {
  /** The size that the witness has signed last; 0 for none. */
  readonly old: number;
  readonly proof: readonly Buffer[];
  readonly note: string;
}

export const formatWitnessRequest = ({ old, proof, note }: WitnessRequest): string =>
  `old ${old}\n${proof.map((hash) => `${hash.toString('base64')}\n`).join('')}\n${note}`;

/**
 * The answer of a witness: its signatures, the size of the tree that it has signed last, or that this one
 * does not continue from there.
 */
export type WitnessAsked =
  | { readonly kind: 'signed'; readonly signatures: readonly NoteSignature[] }
  | { readonly kind: 'at'; readonly size: number }
  | { readonly kind: 'refused' };

/** Asks a witness to sign a checkpoint. Throws if it can't be reached, or refuses for another reason. */
export type AskWitness = (url: string, request: WitnessRequest, signal: AbortSignal) => Promise<WitnessAsked>;
