import type { Outcome, Run, Size } from './runs.js';

export interface Kind {
  /** How much goes on in the run of a seed. */
  readonly usualSize: (seed: number) => Size;
  readonly perform: (run: Run) => Promise<Outcome>;
}

/** Loads what simulates the whole service, or its money alone. */
export const kindOf = async (whole: boolean): Promise<Kind> => {
  if (!whole) {
    const { simulateMoney, usualSize } = await import('./money.js');
    return { usualSize, perform: simulateMoney };
  }
  const { simulateWhole, usualSize } = await import('./whole.js');
  return { usualSize, perform: simulateWhole };
};
