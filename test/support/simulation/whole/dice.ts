import { createHash } from 'node:crypto';
import { SeededEntropy } from '../../memory/entropy.js';

/** Chance for one who acts in a run. What others do doesn't change what it will draw. */
export class Dice {
  readonly entropy: SeededEntropy;

  constructor(
    readonly seed: number,
    name: string,
  ) {
    this.entropy = new SeededEntropy(createHash('sha256').update(`${seed} ${name}`).digest().readInt32LE(0));
  }

  below(limit: number): number {
    return this.entropy.below(limit);
  }

  chance(outOfThousand: number): boolean {
    return outOfThousand > 0 && this.below(1_000) < outOfThousand;
  }

  pick<T>(items: readonly T[]): T | null {
    return items[this.below(items.length)] ?? null;
  }
}
