import type { Checkpoints } from '../application/ports/checkpoints.js';
import type { Deliveries, DeliveryQueue } from '../application/ports/deliveries.js';
import type { EventStore } from '../application/ports/event-store.js';
import type { HookCalls } from '../application/ports/hook-calls.js';
import type { IdempotencyStore } from '../application/ports/idempotency-store.js';
import type { KeyUses } from '../application/ports/key-uses.js';
import type { RateLimiter } from '../application/ports/rate-limiter.js';
import type { ProjectionProgress, ReadModels } from '../application/ports/read-models.js';
import type { ProjectorStatus } from '../application/projection-board.js';
import type { Part } from '../adapters/http/health.js';

/** What stands behind the ports in one deployment: files of this process, servers, or a mix. */
export interface Engine {
  readonly store: EventStore;
  readonly idempotency: IdempotencyStore;
  readonly readModels: ReadModels;
  readonly progress: ProjectionProgress;
  readonly checkpoints: Checkpoints;
  readonly keyUses: KeyUses;
  readonly hookCalls: HookCalls;
  readonly deliveries: Deliveries;
  readonly deliveryQueue: DeliveryQueue;
  readonly rateLimiter: RateLimiter;
  readonly projector: {
    status(): ProjectorStatus;
    /** False: there is no projection of that name. */
    rebuild(name: string): Promise<boolean>;
  };
  /** Whether each part answers. */
  readiness(): Promise<readonly Part[]>;
  /** Writes what is waiting and lets go of files and connections. */
  close(): Promise<void>;
}
