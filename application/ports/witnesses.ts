import type { NoteSignature } from '../../domain/signed-note.js';
import type { WitnessRequest } from '../../domain/witnessing.js';

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
