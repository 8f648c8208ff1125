import type { WriteOutcome } from '../ports/event-store.js';

export const larger = (a: bigint, b: bigint): bigint => (a > b ? a : b);

/** The largest of a position and the positions of appended writes. */
export const lastPosition = (position: bigint, outcomes: readonly WriteOutcome[]): bigint =>
  outcomes.reduce(
    (last, outcome) => (outcome.kind === 'appended' ? larger(last, outcome.position) : last),
    position,
  );
