import type { Logger } from 'pino';
import { stockCatalogue } from '../application/administer.js';
import { makeDemo } from '../application/demo.js';
import { missingKeys } from '../application/webhooks.js';
import type { Clock, Entropy } from '../application/ports/system.js';
import { messageOf } from '../domain/errors.js';
import { tokens, wire } from './container.js';
import type { Timeouts } from './engine.js';
import { openEngine } from './engines/open.js';
import { processesOf } from './processes.js';
import type { Role } from './roles.js';
import { masterKeys, operatorToken, UnusableSecretFile } from './secret-files.js';
import { WrongSettings, type Settings } from './settings.js';
import type { Milliseconds } from '../domain/ids.js';

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
  /** Before every name in RabbitMQ: for tests that share a broker. */
  readonly namespace?: string;
  readonly patience?: Timeouts;
  /** Opens what stands behind the ports: for tests that break it. */
  readonly open?: typeof openEngine;
}

export interface Service {
  /** The address that clients see. */
  readonly baseUrl: string;
  /** The address that it listens on. */
  readonly address: string;
  readonly port: number;
  readonly operatorToken: string;
  /**
   * Resolves when the catalogue is there, and with the demo organization's key where this start has made it.
   * Servers that are away are waited for.
   */
  readonly prepared: Promise<string | null>;
  /** Stops accepting, finishes what is running, and lets go of files and connections. */
  stop(): Promise<void>;
}

const listeningAddress = ({ host }: Settings, port: number): string =>
  `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
const addressOf = (settings: Settings, port: number): string =>
  settings.baseUrl ?? listeningAddress(settings, port);

const missingKeysMessage = (path: string, missing: readonly string[]): string =>
  `SECRET_KEY_FILE ${path} lacks the keys ${missing.join(', ')}: signing secrets in use are derived from them. Add their lines again, below the newest.`;

const pause: Milliseconds = 1_000;

/** A role on its own shares its work with other processes: it can't do that through files. */
const assertServers = (role: Role, { eventStoreUrl, mongoUrl, rabbitUrl }: Settings): void => {
  const needed = { EVENTSTORE_URL: eventStoreUrl, MONGODB_URL: mongoUrl, RABBITMQ_URL: rabbitUrl };
  const missing = Object.entries(needed).flatMap(([name, url]) => (url === null ? [name] : []));
  if (role === 'all' || missing.length === 0) return;
  throw new WrongSettings([
    `The role ${role} works with other processes through servers: set ${missing.join(', ')} too, or start the role all.`,
  ]);
};

/**
 * Starts one process of the service. Where its engine has servers it does not wait for them. Throws what
 * `explain` knows.
 */
export const startService = async (options: ServiceOptions): Promise<Service> => {
  const {
    settings,
    role,
    clock,
    entropy,
    log,
    fail,
    extraCertificates = [],
    namespace = '',
    patience = {},
    open = openEngine,
  } = options;
  assertServers(role, settings);
  const engine = await open({ settings, clock, entropy, log, fail, namespace, patience });
  const stopping = new AbortController();
  let running: readonly Promise<unknown>[] = [];
  let baseUrl = addressOf(settings, settings.port);
  try {
    const token = operatorToken(settings.operatorTokenFile, entropy);
    const keys = masterKeys(settings.secretKeyFile, entropy, settings.eventStoreUrl === null);
    const container = wire({
      settings,
      role,
      engine,
      clock,
      entropy,
      log,
      operatorToken: token,
      keys,
      extraCertificates,
      patience,
      baseUrl: () => baseUrl,
    });
    const assertKeys = async (): Promise<void> => {
      const missing = await missingKeys({ deliveries: engine.deliveries, keys, clock });
      if (missing.length > 0)
        throw new UnusableSecretFile(missingKeysMessage(settings.secretKeyFile, missing));
    };
    const prepare = async (): Promise<string | null> => {
      if (role !== 'all' && role !== 'api') return null;
      const office = container.resolve(tokens.administering);
      await stockCatalogue(office);
      return settings.demo ? ((await makeDemo(office))?.secret ?? null) : null;
    };
    const run = (): void => {
      running = processesOf(role, container).map((process) => process(stopping.signal));
    };
    const http = container.resolve(tokens.http);
    const listen = async (): Promise<number> => {
      const port = await http.listen(settings.port, settings.host);
      baseUrl = addressOf(settings, port);
      return port;
    };

    let prepared: Promise<string | null>;
    let port: number;
    if (engine.hasServers) {
      port = await listen();
      run();
      const patient = { clock, log, signal: stopping.signal };
      prepared = untilDone(patient, 'preparing', async () => {
        await assertKeys();
        return prepare();
      }).catch((error: unknown) => {
        fail(error);
        return null;
      });
      running = [...running, prepared];
    } else {
      await assertKeys();
      run();
      const key = await prepare();
      prepared = Promise.resolve(key);
      port = await listen();
    }
    return {
      baseUrl,
      address: listeningAddress(settings, port),
      port,
      operatorToken: token,
      prepared,
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

/**
 * Tries until it is done or the signal aborts (null): servers may come later than this process. Throws
 * UnusableSecretFile.
 */
const untilDone = async (
  { clock, log, signal }: { readonly clock: Clock; readonly log: Logger; readonly signal: AbortSignal },
  what: string,
  work: () => Promise<string | null>,
): Promise<string | null> => {
  let told = '';
  while (!signal.aborted) {
    try {
      return await work();
    } catch (error) {
      if (error instanceof UnusableSecretFile) throw error;
      const reason = messageOf(error);
      if (reason !== told) log.warn({ reason }, `${what} waits for the engines`);
      told = reason;
    }
    await clock.sleep(pause, signal);
  }
  return null;
};
