import type { Logger } from 'pino';
import type { AdministrationDeps } from '../../../application/organizations/administer.js';
import type { HookDeps } from '../../../application/hooks/hooks.js';
import type { PasswordJudge } from '../../../application/ports/passwords.js';
import type { SheetPrinter } from '../../../application/ports/sheet-printer.js';
import type { FrontDeps } from '../../../application/organizations/fronts.js';
import type { ImportDeps } from '../../../application/contacts/imports.js';
import type { KeyRing } from '../../../application/personal/key-ring.js';
import type { Devices } from '../../../application/access/devices.js';
import type { Uploads } from '../../../application/contacts/uploads.js';
import type { PeopleDeps } from '../../../application/access/people.js';
import type { Rehearsal } from '../../../application/writing/rehearsal.js';
import type { Requests } from '../../../application/requests/request-log.js';
import type { RateLimiter } from '../../../application/ports/rate-limiter.js';
import type { ReadKeysDeps } from '../../../application/access/read-keys.js';
import type { SendCardDeps } from '../../../application/cards/send-card.js';
import type { WebhookDeps } from '../../../application/webhooks/webhooks.js';

/** The use cases of the pages, which the API has, too. */
export interface ConsoleDeps
  extends PeopleDeps, AdministrationDeps, ReadKeysDeps, HookDeps, ImportDeps, FrontDeps, SendCardDeps {
  readonly personalKeys: KeyRing;
  readonly requests: Pick<Requests, 'find' | 'about'>;
  readonly rateLimiter: RateLimiter;
  readonly judge: PasswordJudge;
  readonly devices: Devices;
  readonly sheetPrinter: SheetPrinter;
  readonly uploads: Uploads;
  readonly webhooks: WebhookDeps;
  readonly baseUrl: () => string;
  /** The networks of proxies that are believed about whose requests they pass on. */
  readonly trustedProxies: readonly string[];
  readonly timeZone: string;
  /** The limit of a key that has none of its own: customers give a key no higher one. */
  readonly requestsPerMinute: number;
  /** False: the console is off, and only public pages are served. */
  readonly hasConsole: boolean;
  /** How long a form that was sent may be at work before another try takes it over. */
  readonly claimTimeout: number;
  readonly log: Logger;
  readonly rehearsal: Rehearsal;
}
