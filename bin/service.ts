import type { Logger } from 'pino';
import { stockCatalogue } from '../application/administer.js';
import { makeDemo } from '../application/demo.js';
import { missingKeys } from '../application/webhooks.js';
import type { Clock, Entropy } from '../application/ports/system.js';
import { tokens, wire } from './container.js';
import { openEngine } from './engines/open.js';
import { processesOf, type Role } from './processes.js';
import { masterKeys, operatorToken, UnusableSecretFile } from './secret-files.js';
import type { Settings } from './settings.js';

export interface ServiceOptions {
  readonly settings: Settings;
  readonly role: Role;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly log: Logger;
  /** What can't be lived with: ends the process. */
  readonly fail: (error: unknown) => void;
  /** Certificates (PEM) that webhook receivers may have beside those that the system trusts: for tests. */
  readonly extraCertificates?: readonly string[];
}

export interface Service {
  /** The address that clients see. */
  readonly baseUrl: string;
  readonly port: number;
  readonly operatorToken: string;
  /** The demo organization's key, where this start has made it. */
  readonly demoKey: string | null;
  /** Stops accepting, finishes what is running, and lets go of files and connections. */
  stop(): Promise<void>;
}

const addressOf = ({ host, baseUrl }: Settings, port: number): string => baseUrl ?? `http://${host.includes(':') ? `[${host}]` : host}:${port}`;

const missingKeysMessage = (path: string, missing: readonly string[]): string =>
  `SECRET_KEY_FILE ${path} lacks the keys ${missing.join(', ')}: signing secrets in use are derived from them. Add their lines again, below the newest.`;

/** Starts one process of the service. Throws what `explain` knows. */
export const startService = async ({ settings, role, clock, entropy, log, fail, extraCertificates = [] }: ServiceOptions): Promise<Service> => {
  const engine = await openEngine({ settings, clock, log, fail });
  const stopping = new AbortController();
  let running: readonly Promise<void>[] = [];
  let baseUrl = addressOf(settings, settings.port);
  try {
    const token = operatorToken(settings.operatorTokenFile, entropy);
    const keys = masterKeys(settings.secretKeyFile, entropy, settings.eventStoreUrl === null);
    const missing = await missingKeys({ deliveries: engine.deliveries, keys, clock });
    if (missing.length > 0) throw new UnusableSecretFile(missingKeysMessage(settings.secretKeyFile, missing));
    const container = wire({ settings, engine, clock, entropy, log, operatorToken: token, keys, extraCertificates, baseUrl: () => baseUrl });
    running = processesOf(role, container).map((process) => process(stopping.signal));
    const office = container.resolve(tokens.administering);
    await stockCatalogue(office);
    const demo = settings.demo ? await makeDemo(office) : null;
    const http = container.resolve(tokens.http);
    const port = await http.listen(settings.port, settings.host);
    baseUrl = addressOf(settings, port);
    return {
      baseUrl,
      port,
      operatorToken: token,
      demoKey: demo?.secret ?? null,
      stop: async () => {
        // Side by side: requests and deliveries that run have the same few seconds to end.
        stopping.abort();
        await Promise.all([http.close(), ...running]);
        await engine.close();
      },
    };
  } catch (error) {
    stopping.abort();
    await Promise.all(running);
    await engine.close();
    throw error;
  }
};
