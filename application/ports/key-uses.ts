import type { Instant, Uuid } from '../../domain/ids.js';

/** When API keys were last used: operational records, not domain events. */
export interface KeyUseRows {
  /** Writes the uses; one that is earlier than the stored one changes nothing. */
  save(uses: readonly (readonly [keyId: Uuid, at: Instant])[]): Promise<void>;
  /** By key. Keys that were never used are missing. */
  read(keyIds: readonly Uuid[]): Promise<ReadonlyMap<Uuid, Instant>>;
}
