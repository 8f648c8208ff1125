import type {
  AttemptOutcome,
  DeliveryClaim,
  DeliveryClaims,
  EndpointClaims,
  Recorded,
} from '../../../application/ports/delivery-claims.js';
import type { DeliveryAttempt } from '../../../application/ports/delivery-log.js';
import type { Milliseconds, Uuid } from '../../../domain/ids.js';
import type { ClaimBook } from './claim-book.js';
import type { DeliveryWrites } from './delivery-writes.js';

/** Claims in memory; the attempts made under them in events.db. */
export class SqliteDeliveryClaims implements DeliveryClaims {
  constructor(
    private readonly writes: DeliveryWrites,
    private readonly book: ClaimBook,
  ) {}

  async dueTimes(): Promise<ReadonlyMap<Uuid, Milliseconds>> {
    return this.book.dueTimes();
  }

  async claim(
    limits: ReadonlyMap<Uuid, number>,
    now: Milliseconds,
  ): Promise<ReadonlyMap<Uuid, EndpointClaims>> {
    return new Map([...limits].map(([endpoint, limit]) => [endpoint, this.book.claim(endpoint, now, limit)]));
  }

  mayStart(claim: DeliveryClaim): boolean {
    return this.book.mayStart(claim);
  }

  async release(claim: DeliveryClaim): Promise<void> {
    if (this.book.holds(claim)) this.book.remove(claim);
  }

  async record(
    claim: DeliveryClaim,
    attempt: DeliveryAttempt,
    outcome: AttemptOutcome,
    disableAfter: number,
  ): Promise<Recorded> {
    if (!this.book.holds(claim)) return { recorded: false, tripped: null };
    const { delivery, number } = claim;
    const { endpoint, enabledAt } = claim.endpoint;
    const input = {
      delivery,
      endpoint,
      number,
      attempt: JSON.stringify(attempt),
      at: attempt.at,
      failure: attempt.error ?? `HTTP ${attempt.httpStatus}`,
      outcome,
      enabledAt,
      disableAfter,
    };
    const recorded = await this.writes.run('recordAttempt', input, (row) => {
      this.book.remove(claim);
      if (row !== null) this.book.setEndpoint(row);
    });
    if (recorded === null) return { recorded: false, tripped: null };
    this.writes.publish('attempted', [delivery]);
    const tripped = recorded.state === 'tripped' ? this.book.trippedEndpoint(endpoint) : null;
    return { recorded: true, tripped };
  }
}
