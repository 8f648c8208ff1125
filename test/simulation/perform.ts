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
  const [{ simulateWhole, usualSize }] = await Promise.all([
    import('./whole.js'),
    // What the service loads on first use takes real time, which no seed decides.
    import('../../adapters/http/console/answer.js'),
    import('../../adapters/http/console/pages.js'),
  ]);
  return { usualSize, perform: simulateWhole };
};
