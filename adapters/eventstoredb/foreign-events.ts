import { LazyLru } from '../../application/memory/lazy-lru.js';

/** A record under a name of ours that this service did not write. */
export interface ForeignEvent {
  readonly stream: string;
  readonly revision: bigint;
  readonly type: string;
}

/** How many foreign events are remembered; the same one comes to every reader. */
const toldApart = 10_000;

/** Counts the events of other programs that were passed over, each once, and reports the first. */
export class ForeignEvents {
  readonly #seen = new LazyLru<string, true>(toldApart);
  #count = 0;

  constructor(private readonly report: (first: ForeignEvent) => void) {}

  get count(): number {
    return this.#count;
  }

  passOver(event: ForeignEvent): void {
    const name = `${event.stream}@${event.revision}`;
    if (this.#seen.has(name)) return;
    this.#seen.set(name, true);
    this.#count += 1;
    if (this.#count === 1) this.report(event);
  }
}
