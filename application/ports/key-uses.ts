import type { Instant, Uuid } from '../../domain/ids.js';

/**
 * When API keys were last used: operational records, not domain events. A use may take some seconds to become
 * durable, and a crash may lose it.
 */
export interface KeyUses {
  /** Cheap: called on every request. */
  used(keyId: Uuid, at: Instant): void;
  /** The last use of each of the keys that was ever used. */
  lastUses(keyIds: readonly Uuid[]): Promise<ReadonlyMap<Uuid, Instant>>;
}
