import type { NoteSignature } from '../../domain/signed-note.js';
import type { WitnessRequest } from '../../domain/witnessing.js';

/** What a witness says: its signatures, or the size of the tree that it has signed last. */
export type WitnessAsked =
  | { readonly kind: 'signed'; readonly signatures: readonly NoteSignature[] }
  | { readonly kind: 'at'; readonly size: number };

/** Asks a witness to sign a checkpoint. Throws if it can't be reached, or refuses for another reason. */
export type AskWitness = (url: string, request: WitnessRequest, signal: AbortSignal) => Promise<WitnessAsked>;
