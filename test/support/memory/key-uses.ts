import type { KeyUses } from '../../../application/access/buffered-key-uses.js';
import type { Instant, Uuid } from '../../../domain/ids.js';

/** The last uses of API keys in memory. */
export class MemoryKeyUses implements KeyUses {
  readonly #last = new Map<Uuid, Instant>();

  used(keyId: Uuid, at: Instant): void {
    if ((this.#last.get(keyId) ?? '') < at) this.#last.set(keyId, at);
  }

  lastUses(keyIds: readonly Uuid[]): Promise<ReadonlyMap<Uuid, Instant>> {
    const known = keyIds.flatMap((id): [Uuid, Instant][] => {
      const at = this.#last.get(id);
      return at === undefined ? [] : [[id, at]];
    });
    return Promise.resolve(new Map(known));
  }
}
