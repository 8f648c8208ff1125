import type { ProcessCheckpoint, Checkpoints } from '../../../application/ports/checkpoints.js';

/** Checkpoints in memory. */
export class MemoryCheckpoints implements Checkpoints {
  readonly #saved = new Map<string, ProcessCheckpoint>();

  load(name: string): Promise<ProcessCheckpoint | null> {
    return Promise.resolve(this.#saved.get(name) ?? null);
  }

  all(): ReturnType<Checkpoints['all']> {
    return Promise.resolve(
      [...this.#saved].map(([name, { position, event, openSince }]) => ({
        name,
        position,
        ...(event !== undefined && { event }),
        ...(openSince !== undefined && { openSince }),
      })),
    );
  }

  save(name: string, checkpoint: ProcessCheckpoint): Promise<void> {
    const known = this.#saved.get(name);
    if (known === undefined || known.position <= checkpoint.position)
      this.#saved.set(name, structuredClone(checkpoint));
    return Promise.resolve();
  }
}
