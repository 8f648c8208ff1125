import type { Logger } from 'pino';
import type { PasswordCost } from '../../adapters/system/passwords.js';
import type { Artwork, PictureMaker } from '../../application/ports/artwork.js';
import type { PasswordJudge } from '../../application/ports/passwords.js';
import type { SheetPrinter } from '../../application/ports/sheet-printer.js';
import type { Tracing } from '../../application/ports/tracing.js';
import type { WebhookSender } from '../../application/ports/webhook-sender.js';
import type { Checkpoints } from '../../application/ports/checkpoints.js';
import type { Deliveries } from '../../application/ports/deliveries.js';
import type { DeliveryQueue } from '../../application/ports/delivery-queue.js';
import type { KeyRing } from '../../application/personal/key-ring.js';
import type { Unreadable } from '../../application/personal/unreadable.js';
import type { EventStore } from '../../application/ports/event-store.js';
import type { HookCalls } from '../../application/ports/hook-calls.js';
import type { IdempotencyStore } from '../../application/ports/idempotency-store.js';
import type { KeyUses } from '../../application/access/buffered-key-uses.js';
import type { PersonalKeys } from '../../application/ports/personal-keys.js';
import type { PublicStream } from '../../application/ports/public-stream.js';
import type { RateLimiter } from '../../application/ports/rate-limiter.js';
import type { ImportRecords, SignInRecords } from '../../application/ports/records.js';
import type { ReadModels } from '../../application/ports/read-models.js';
import type { Requests } from '../../application/requests/request-log.js';
import type { ReadYourWrites } from '../../application/projecting/read-your-writes.js';
import type { ProjectorStatus } from '../../application/projecting/projection-board.js';
import type { Clock, Entropy } from '../../application/ports/system.js';
import type { Milliseconds } from '../../domain/ids.js';
import type { WitnessStatus } from '../../application/log/witnesses.js';
import type { LogTiles } from '../../application/ports/log-tiles.js';
import type { RawLog } from '../../application/ports/raw-log.js';
import type { Part } from '../../adapters/http/server/health.js';
import type { EngineCalls } from '../metrics/engine-calls.js';
import type { Rehearsal } from '../../application/writing/rehearsal.js';
import type { EventMacs } from '../../domain/event-mac.js';
import type { MasterKeys } from '../../domain/webhook-signing.js';
import type { LogKeys } from '../settings/log-keys.js';
import type { Settings } from '../settings/settings.js';
import type { Role } from './roles.js';

/** The implementation of the ports in one deployment: files of this process, or servers. */
export interface Engine {
  /** With personal data opened. */
  readonly store: EventStore;
  readonly rehearsal: Rehearsal;
  /** The keys that personal data is sealed with. */
  readonly personalKeys: KeyRing;
  readonly personalKeyStore: PersonalKeys;
  /** The MACs of events; throws where the process neither writes nor checks events. */
  readonly eventMacs: EventMacs;
  /** Called with events that no key opens; counts those that are not erased. */
  readonly unreadable: Unreadable;
  readonly idempotency: IdempotencyStore;
  /** To be queried through `currentReadModels`. */
  readonly readModels: ReadModels;
  readonly readYourWrites: ReadYourWrites;
  readonly checkpoints: Checkpoints;
  readonly keyUses: KeyUses;
  readonly hookCalls: HookCalls;
  readonly signInRecords: SignInRecords;
  readonly importRecords: ImportRecords;
  readonly artwork: Artwork;
  readonly requests: Requests;
  readonly deliveries: Deliveries;
  readonly deliveryQueue: DeliveryQueue;
  readonly rateLimiter: RateLimiter;
  readonly projector: {
    status(): ProjectorStatus;
    /** Starts a rebuild; false if there is no projection of that name. */
    rebuild(name: string): Promise<boolean>;
  };
  /** Where other services follow the events; null if they can only read them over HTTP. */
  readonly publicStream: PublicStream | null;
  /** Drives the projections until the signal aborts; null if the engine does so by itself. */
  readonly project: ((signal: AbortSignal) => Promise<void>) | null;
  /** The log as it is stored, and the log of the log. */
  readonly raw: RawLog;
  readonly tiles: LogTiles;
  /** Notarizes the log until the signal aborts; null if the engine does so by itself. */
  readonly notarize: ((signal: AbortSignal) => Promise<void>) | null;
  /** Whether parts of it are servers, which may go away and come back while the process runs. */
  readonly hasServers: boolean;
  /**
   * Does the work of that name while no other process does it, again and again until the signal aborts. The
   * signal that the work gets also aborts if another process takes over.
   */
  exclusively(name: string, signal: AbortSignal, work: (signal: AbortSignal) => Promise<void>): Promise<void>;
  /**
   * Makes sure that the log is the one that was read so far. Throws OtherLog, and the errors of the servers.
   */
  assertLog(): Promise<void>;
  /** How many events of other programs, under names of ours, were passed over. */
  foreignEvents(): number;
  readiness(): Promise<readonly Part[]>;
  close(): Promise<void>;
}

/**
 * How long to wait for a process without a sign of life. Tests shorten it; absent values have their defaults.
 */
export interface Timeouts {
  /** Until another process takes over work that only one does at a time. */
  readonly lease?: Milliseconds;
  /** Until another process takes over its claims on deliveries. */
  readonly claim?: Milliseconds;
  /** Between two sweeps for deliveries whose hints were lost. */
  readonly sweep?: Milliseconds;
}

export interface Start {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly log: Logger;
  /** Ends the process, for an error that it can't go on with. */
  readonly fail: (error: unknown) => void;
  /** A prefix of every name in RabbitMQ and every stream in EventStoreDB: for tests that share servers. */
  readonly namespace?: string;
  readonly timeouts?: Timeouts;
}

export interface EngineOptions extends Start {
  /** The keys that encrypt the keys of personal data; null: it stays sealed. Throws UnusableSecretFile. */
  readonly personalMasters: () => MasterKeys | null;
  /**
   * The keys for the MACs of events; null if the process neither writes nor checks events. `isNew`: the log
   * is empty, so that the file may be made. Throws UnusableSecretFile.
   */
  readonly eventKeys: ((isNew: boolean) => MasterKeys) | null;
  /** The keys that sign the log; null or absent: it is not signed here. */
  readonly logKeys?: LogKeys | null;
  /** Called with the state of the witnesses of the log. */
  readonly onWitnesses?: (all: readonly WitnessStatus[]) => void;
  readonly calls?: EngineCalls;
}

/** The context of a process: its settings, its engine, and the machine's resources. */
export interface ProcessContext extends Start {
  readonly role: Role;
  readonly engine: Engine;
  readonly calls: EngineCalls;
  /** Null if the role has no operator API. */
  readonly operatorToken: string | null;
  /** The keys from which signing secrets are derived; null if the role signs nothing. */
  readonly keys: MasterKeys | null;
  /** The keys of the log; null if this process has none. */
  readonly logKeys: LogKeys | null;
  /** The state of the witnesses of the log, if this process asks them. */
  readonly witnesses: () => readonly WitnessStatus[];
  /** Certificates (PEM) that are accepted from webhook receivers beside the system's: for tests. */
  readonly extraCertificates?: readonly string[];
  /** Nothing is traced if it is left out. */
  readonly tracing?: Tracing;
  /** The cost of a password hash: next to nothing in tests. */
  readonly passwordCost?: PasswordCost;
  readonly judge: PasswordJudge;
  readonly pictureMaker: PictureMaker;
  readonly sheetPrinter: SheetPrinter;
  /** Sends webhooks in place of the HTTP client: for simulations. */
  readonly sender?: WebhookSender;
  /** The addresses that it listens on; final once it does. */
  readonly listening: () => readonly string[];
  /** The address that clients see; final once the service listens. */
  readonly baseUrl: () => string;
  /** The address of the operator's listener; final once it listens. */
  readonly operatorAddress: () => string;
  /** Whether it is about to stop, and only waits until balancers have noticed. */
  readonly draining: () => boolean;
}
