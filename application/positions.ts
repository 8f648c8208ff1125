/** Positions of the log, compared. */
export const larger = (a: bigint, b: bigint): bigint => (a > b ? a : b);

/** Of at least one. */
export const smallest = (positions: readonly bigint[]): bigint =>
  positions.reduce((least, position) => (position < least ? position : least));
