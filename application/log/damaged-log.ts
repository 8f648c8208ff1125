import { DomainError, FinalError } from '../../domain/errors.js';
import type { LogTiles } from '../ports/log-tiles.js';

/**
 * The event log was changed or damaged. `position`: of the first event that is known to be unreadable or
 * changed; where the log ends too early, of its last event. `restore`: the store to restore from a backup.
 */
export class DamagedLog extends FinalError {
  constructor(
    readonly position: bigint,
    readonly reason: string,
    restore = 'events.db',
  ) {
    super(`The event log is damaged at position ${position}: ${reason}. Restore ${restore} from a backup.`);
    Object.defineProperty(this, 'name', { value: 'DamagedLog' });
  }
}

/**
 * Refuses, with `log_damaged`, to show a log that is known to be damaged: for exports, proofs and
 * checkpoints.
 */
export const assertUndamaged = async (tiles: Pick<LogTiles, 'damage'>): Promise<void> => {
  const damage = await tiles.damage();
  if (damage !== null) throw logDamaged(damage.position);
};

/** The refusal of a read whose answer would rest on a damaged log. */
export const logDamaged = (position: bigint): DomainError =>
  new DomainError(
    'log_damaged',
    `The event log is not as it was written, from position ${position} on. Nothing is shown of it until it is restored.`,
  );
