import { randomFillSync, randomInt, randomUUID } from 'node:crypto';
import type { Entropy } from '../../application/ports/system.js';

const poolSize = 8192;

/** The operating system's randomness, drawn into a pool so that a few bytes cost no system call. */
export class SystemEntropy implements Entropy {
  readonly #pool = Buffer.allocUnsafeSlow(poolSize);
  #used = poolSize;

  uuid(): string {
    return randomUUID();
  }

  bytes(count: number): Buffer {
    if (count > poolSize / 8) return randomFillSync(Buffer.allocUnsafe(count));
    if (this.#used + count > poolSize) {
      randomFillSync(this.#pool);
      this.#used = 0;
    }
    const drawn = Buffer.from(this.#pool.subarray(this.#used, this.#used + count));
    this.#pool.fill(0, this.#used, this.#used + count);
    this.#used += count;
    return drawn;
  }

  below(limit: number): number {
    return randomInt(limit);
  }
}
