import type { Checkpoint, Checkpoints } from '../../../application/ports/checkpoints.js';

/** Checkpoints in memory. */
export class MemoryCheckpoints implements Checkpoints {
  readonly #saved = new Map<string, Checkpoint>();

  load(name: string): Promise<Checkpoint | null> {
    return Promise.resolve(this.#saved.get(name) ?? null);
  }

  save(name: string, checkpoint: Checkpoint): Promise<void> {
    const known = this.#saved.get(name);
    if (known === undefined || known.position <= checkpoint.position)
      this.#saved.set(name, structuredClone(checkpoint));
    return Promise.resolve();
  }
}
