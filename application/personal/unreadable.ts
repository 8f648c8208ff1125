import { erasures, type RecordedEvent } from '../../domain/events.js';
import type { Milliseconds } from '../../domain/ids.js';
import { logPages, type EventStore } from '../ports/event-store.js';
import type { Clock } from '../ports/system.js';
import { LazyLru } from '../memory/lazy-lru.js';
import { blockOf, type KeyRing } from './key-ring.js';
import type { OnUnopened } from './personal.js';

const maxRemembered = 10_000;
/** More are left out: they are reported when they are read again. */
const maxWaiting = 1_000;

/**
 * Counts the events that can't be read although no erasure covers them and their keys were not given up, each
 * once, and reports the first of each block of keys.
 */
export class Unreadable {
  /** Events that were counted, and blocks that were reported. */
  readonly #seen = new LazyLru<string, true>(maxRemembered);
  readonly #waiting: RecordedEvent[] = [];
  #isLooking = false;
  #count = 0;

  constructor(
    private readonly store: Pick<EventStore, 'readStream'>,
    private readonly keys: Pick<KeyRing, 'load' | 'isGivenUp'>,
    private readonly tell: OnUnopened,
  ) {}

  get count(): number {
    return this.#count;
  }

  readonly note: OnUnopened = (event) => {
    if (this.#seen.has(event.id) || this.#waiting.length >= maxWaiting) return;
    this.#seen.set(event.id, true);
    this.#waiting.push(event);
    if (!this.#isLooking) void this.#look();
  };

  async #look(): Promise<void> {
    this.#isLooking = true;
    for (let event = this.#waiting.shift(); event !== undefined; event = this.#waiting.shift())
      try {
        const keyId = event.metadata.keyId ?? '';
        await this.keys.load([keyId]);
        if (this.keys.isGivenUp(keyId)) continue;
        const later = await this.store.readStream(event.stream, event.revision + 1);
        if (!later.some(({ type }) => erasures.has(type))) this.#found(event);
      } catch {
        // Reported again when it is read again.
        this.#seen.delete(event.id);
      }
    this.#isLooking = false;
  }

  #found(event: RecordedEvent): void {
    this.#count += 1;
    const block = `block ${blockOf(event.metadata.keyId ?? '')}`;
    if (!this.#seen.has(block)) this.tell(event);
    this.#seen.set(block, true);
  }
}

const rest: Milliseconds = 50;

/** Looks for the key of every event of the log, with rests, and notes the events without one. */
export const compareKeys = async (
  deps: {
    readonly store: EventStore;
    readonly keys: Pick<KeyRing, 'load' | 'keyOf'>;
    readonly unreadable: Pick<Unreadable, 'note'>;
    readonly clock: Clock;
  },
  signal: AbortSignal,
): Promise<void> => {
  const { store, keys, unreadable, clock } = deps;
  for await (const page of logPages(store, 0n)) {
    const sealed = page.flatMap((event) => {
      const { keyId } = event.metadata;
      return keyId === null ? [] : [{ event, keyId }];
    });
    await keys.load(sealed.map(({ keyId }) => keyId));
    for (const { event, keyId } of sealed) if (keys.keyOf(keyId) === null) unreadable.note(event);
    await clock.sleep(rest, signal);
    if (signal.aborted) return;
  }
};
