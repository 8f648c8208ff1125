import type { Logger } from 'pino';
import type { Checkpoints } from '../application/ports/checkpoints.js';
import type { Deliveries, DeliveryQueue } from '../application/ports/deliveries.js';
import type { EventStore } from '../application/ports/event-store.js';
import type { HookCalls } from '../application/ports/hook-calls.js';
import type { IdempotencyStore } from '../application/ports/idempotency-store.js';
import type { KeyUses } from '../application/ports/key-uses.js';
import type { PublicStream } from '../application/ports/public-stream.js';
import type { RateLimiter } from '../application/ports/rate-limiter.js';
import type { ReadModels } from '../application/ports/read-models.js';
import type { ReadYourWrites } from '../application/read-your-writes.js';
import type { ProjectorStatus } from '../application/projection-board.js';
import type { Clock, Entropy } from '../application/ports/system.js';
import type { Milliseconds } from '../domain/ids.js';
import type { Part } from '../adapters/http/health.js';
import type { Settings } from './settings.js';

/** What stands behind the ports in one deployment: files of this process, servers, or a mix. */
export interface Engine {
  readonly store: EventStore;
  readonly idempotency: IdempotencyStore;
  readonly readModels: ReadModels;
  readonly readYourWrites: ReadYourWrites;
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
  /** Where other services follow the events; null where they read them over HTTP alone. */
  readonly publicStream: PublicStream | null;
  /** Drives the projections until the signal aborts; null where that goes on by itself. */
  readonly project: ((signal: AbortSignal) => Promise<void>) | null;
  /** Whether parts of it are servers, which may be away and come back while the process lives. */
  readonly hasServers: boolean;
  /**
   * Does work of that name while no other process does, again and again until the signal aborts. The signal
   * that the work gets aborts too where another process takes over.
   */
  exclusively(name: string, signal: AbortSignal, work: (signal: AbortSignal) => Promise<void>): Promise<void>;
  /** Whether each part answers. */
  readiness(): Promise<readonly Part[]>;
  /** Writes what is waiting and lets go of files and connections. */
  close(): Promise<void>;
}

/**
 * Everything of an engine that is neither the events nor messages. `answers`: asks the server that keeps it;
 * null where none does.
 */
export type Stores = Omit<Engine, 'store' | 'deliveryQueue' | 'publicStream' | 'hasServers' | 'readiness'> & {
  readonly answers: (() => Promise<void>) | null;
};

/**
 * How long a process that shows no sign of life is waited for: tests shorten it. What is left out is as long
 * as usual.
 */
export interface Timeouts {
  /** Before another takes over what one process does at a time. */
  readonly lease?: Milliseconds;
  /** Before another takes over its claims on deliveries. */
  readonly claim?: Milliseconds;
  /** Between two looks for deliveries that nobody was told of. */
  readonly sweep?: Milliseconds;
}

/** What an engine is opened with. */
export interface EngineOptions {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly log: Logger;
  /** What can't be lived with: ends the process. */
  readonly fail: (error: unknown) => void;
  /** Before every name in RabbitMQ and of every stream in EventStoreDB: for tests that share servers. */
  readonly namespace?: string;
  readonly timeouts?: Timeouts;
}
