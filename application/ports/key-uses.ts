import type { Instant, Uuid } from '../../domain/ids.js';

/**
 * When API keys were last used: operational records, not domain events. A use becomes durable after some
 * seconds; a crash before that loses it.
 */
export interface KeyUses {
  /** Called on every request, so it must be cheap. */
  used(keyId: Uuid, at: Instant): void;
  /** By key. Keys that were never used are missing. */
  lastUses(keyIds: readonly Uuid[]): Promise<ReadonlyMap<Uuid, Instant>>;
}
