/**
 * Whether a holder of some of the slots may take another: only if it holds less than a part of what is free.
 * So there is nearly always a slot left for the next one, whichever came before. With a part of 1, a single
 * one may have half of the slots; with a quarter, a fifth.
 */
export const mayTake = (held: number, free: number, part: number): boolean => held < free * part;
