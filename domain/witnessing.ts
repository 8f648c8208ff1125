/** A request to a witness: to sign a checkpoint that grew from an older one (c2sp.org/tlog-witness). */
export interface WitnessRequest {
  /** The size that the witness has signed last; 0 for none. */
  readonly old: number;
  readonly proof: readonly Buffer[];
  readonly note: string;
}

export const formatWitnessRequest = ({ old, proof, note }: WitnessRequest): string =>
  `old ${old}\n${proof.map((hash) => `${hash.toString('base64')}\n`).join('')}\n${note}`;
