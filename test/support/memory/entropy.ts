import type { Entropy } from '../../../application/ports/system.js';

/** Numbers that look random and are the same for the same seed. Only for tests: they can be guessed. */
export class SeededEntropy implements Entropy {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0;
  }

  uuid(): string {
    const bytes = this.bytes(16);
    bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
    bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
    const hex = bytes.toString('hex');
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
  }

  bytes(count: number): Buffer {
    const bytes = Buffer.allocUnsafe(count);
    for (let at = 0; at < count; at++) bytes[at] = this.#word() >>> 24;
    return bytes;
  }

  below(limit: number): number {
    return Math.floor(((this.#word() * 2 ** 21 + (this.#word() >>> 11)) / 2 ** 53) * limit);
  }

  /** mulberry32 */
  #word(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let word = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    word = (word + Math.imul(word ^ (word >>> 7), 61 | word)) ^ word;
    return (word ^ (word >>> 14)) >>> 0;
  }
}
