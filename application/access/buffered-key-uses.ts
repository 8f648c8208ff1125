import type { Instant, Milliseconds, Uuid } from '../../domain/ids.js';
import type { KeyUseRows } from '../ports/key-uses.js';
import type { Clock } from '../ports/system.js';
import { untilAborted } from '../timing/until-aborted.js';

export type KeyUses = Pick<BufferedKeyUses, 'used' | 'lastUses'>;

const saveInterval: Milliseconds = 5_000;

/** Notes uses in memory at once and saves them some seconds later. A crash loses those seconds. */
export class BufferedKeyUses {
  readonly #fresh = new Map<Uuid, Instant>();
  readonly #stopping = new AbortController();
  readonly #saving: Promise<void>;

  constructor(
    private readonly rows: KeyUseRows,
    clock: Clock,
  ) {
    const { signal } = this.#stopping;
    // Uses that can't be saved stay fresh until the next save.
    const onError = () => undefined;
    this.#saving = untilAborted({ clock, signal, pause: saveInterval, onError }, () => this.#save());
  }

  /** Called on every request, so it is cheap. */
  used(keyId: Uuid, at: Instant): void {
    this.#fresh.set(keyId, at);
  }

  async lastUses(keyIds: readonly Uuid[]): Promise<ReadonlyMap<Uuid, Instant>> {
    const uses = new Map(await this.rows.read(keyIds));
    for (const id of keyIds) {
      const fresh = this.#fresh.get(id);
      if (fresh !== undefined && fresh > (uses.get(id) ?? '')) uses.set(id, fresh);
    }
    return uses;
  }

  /** Saves what is fresh, if that is possible, and stops saving. */
  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#saving;
    await this.#save().catch(() => undefined);
  }

  async #save(): Promise<void> {
    const uses = [...this.#fresh];
    if (uses.length === 0) return;
    await this.rows.save(uses);
    for (const [id, at] of uses) if (this.#fresh.get(id) === at) this.#fresh.delete(id);
  }
}
