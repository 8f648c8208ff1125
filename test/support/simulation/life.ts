import type { Machine } from './machine.js';

/**
 * What becomes of a write on its way. `die-before`, `die-after`: the process ends, the write does not arrive
 * or arrives. `lose`, `lose-answer`: the writer does not hear of it; it does not arrive or arrives. `refuse`:
 * the writer hears that it was refused. `late`: the writer hears nothing, and it arrives when the promise
 * resolves.
 */
export type Fate =
  | 'arrive'
  | 'die-before'
  | 'die-after'
  | 'lose'
  | 'lose-answer'
  | 'refuse'
  | { readonly late: Promise<void> };

/** Nobody hears what becomes of it: a store that is away by then refuses it, and it is lost. */
const arriveLate = (late: Promise<void>, store: () => Promise<unknown>): void => {
  late.then(store).catch(() => undefined);
};

/** One process of the service: once it dies, nothing of it continues. */
export class Life {
  readonly #ended = new AbortController();
  readonly death: Promise<void>;

  /** `fate` is asked at every write, `pause` awaited before and after every call of a store. */
  constructor(
    private readonly fate: () => Fate,
    private readonly pause: () => Promise<void> = () => Promise.resolve(),
    /** What it runs on, which may be suspended. */
    private readonly machine: Pick<Machine, 'awake'> | null = null,
  ) {
    this.death = new Promise((resolve) =>
      this.#ended.signal.addEventListener('abort', () => resolve(), { once: true }),
    );
  }

  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  kill(): void {
    this.#ended.abort();
  }

  /** Resolves when its machine is at work. */
  async awake(): Promise<void> {
    await this.machine?.awake();
  }

  /** A call of something outside the process: it does not return to the dead. */
  async call<T>(made: () => Promise<T>): Promise<T> {
    await this.alive();
    await this.pause();
    await this.machine?.awake();
    await this.alive();
    try {
      return await made();
    } finally {
      await this.pause();
      await this.machine?.awake();
      await this.alive();
    }
  }

  /**
   * A write under its fate; `lost` is what the writer learns if no response comes, `refused` if it is
   * refused.
   */
  async write<T>(store: () => Promise<T>, lost: () => T, refused: () => T = lost): Promise<T> {
    return this.call(async () => {
      const fate = this.fate();
      if (fate === 'die-before') this.kill();
      await this.alive();
      if (fate === 'lose') return lost();
      if (fate === 'refuse') return refused();
      if (typeof fate === 'object') {
        arriveLate(fate.late, store);
        return lost();
      }
      const stored = await store();
      if (fate === 'die-after') this.kill();
      await this.alive();
      return fate === 'lose-answer' ? lost() : stored;
    });
  }

  private alive(): Promise<void> {
    return this.signal.aborted ? new Promise<never>(() => {}) : Promise.resolve();
  }
}
