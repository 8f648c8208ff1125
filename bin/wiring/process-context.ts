import type { WitnessStatus } from '../../application/log/witnesses.js';
import type { PasswordCost } from '../../adapters/system/passwords.js';
import type { PasswordJudge } from '../../application/ports/passwords.js';
import type { PictureMaker } from '../../application/ports/artwork.js';
import type { SheetPrinter } from '../../application/ports/sheet-printer.js';
import type { Tracing } from '../../application/ports/tracing.js';
import type { WebhookSender } from '../../application/ports/webhook-sender.js';
import type { MasterKeys } from '../../domain/webhook-signing.js';
import type { Engine, Start } from './engine.js';
import type { EngineCalls } from '../metrics/engine-calls.js';
import type { LogKeys } from '../settings/log-keys.js';
import type { Role } from './roles.js';

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
