import { setMaxListeners } from 'node:events';
import { existsSync } from 'node:fs';
import type { Logger } from 'pino';
import { pageUrl, paths, placeOf } from '../../adapters/http/web/paths.js';
import { collectionFront } from '../../adapters/artwork/collection.js';
import { PrintingThread } from '../../adapters/print/printing-thread.js';
import { pictureProcess } from '../../adapters/artwork/picture-maker.js';
import { judgingThread } from '../../adapters/system/password-judge.js';
import { stockCatalogue, type AdministrationDeps } from '../../application/organizations/administer.js';
import { makeDemo } from '../../application/organizations/demo.js';
import { root } from '../../application/access/sessions.js';
import { issueLink } from '../../application/access/sign-in-links.js';
import { missingKeys } from '../../application/webhooks/webhooks.js';
import type { Clock } from '../../application/ports/system.js';
import { UnusableFile } from '../../adapters/sqlite/errors.js';
import { keysPath } from '../../adapters/sqlite/keys/personal-keys.js';
import { FinalError, messageOf } from '../../domain/errors.js';
import type { MasterKeys } from '../../domain/webhook-signing.js';
import { part, wire } from './container.js';
import { EngineCalls } from '../metrics/engine-calls.js';
import { openEngine } from '../engines/open.js';
import type { Start, ProcessContext } from './engine.js';
import { processesOf, projectorOf } from './processes.js';
import { knowsEventKeys, opensPersonal, plays, type Role } from './roles.js';
import { holdsEvents, isNamedByNewcomer, logKeys } from '../settings/log-keys.js';
import { markOfDirectory } from '../settings/rehearsal-mark.js';
import type { WitnessStatus } from '../../application/log/witnesses.js';
import { assertFolders, masterKeys, operatorToken, UnusableSecretFile } from '../settings/secret-files.js';
import {
  httpAddress,
  reachable,
  serverSettings,
  WrongSettings,
  type Settings,
} from '../settings/settings.js';
import type { Milliseconds } from '../../domain/ids.js';

export interface ServiceOptions
  extends Start, Pick<ProcessContext, 'role' | 'extraCertificates' | 'tracing' | 'passwordCost'> {
  /** Opens the engine: for tests that interfere with it. */
  readonly open?: typeof openEngine;
}

export type Service = Awaited<ReturnType<typeof startService>>;

const clientAddress = (settings: Settings, port: number): string =>
  settings.baseUrl ?? httpAddress({ host: reachable(settings.host), port });

/** Two truths: one would be taken for the service's, and the other be forgotten. */
const assertOneTruth = ({ servers, dataDir }: Settings): void => {
  if (servers === null || !holdsEvents(dataDir) || markOfDirectory(dataDir)?.state !== undefined) return;
  throw new WrongSettings([
    `EVENTSTORE_URL is set, but DATA_DIR ${dataDir} holds the events of a service: move it to the servers (log copy), or move events.db away`,
  ]);
};

/** A start would add files that the next try of the copy refuses to replace. */
const assertWholeCopy = ({ servers, dataDir }: Settings): void => {
  const mark = servers === null ? markOfDirectory(dataDir) : null;
  if (mark?.state === 'unfinished')
    throw new UnusableFile(`${dataDir} is no whole copy: ${mark.why}. Run that command again.`);
};

/** A single role shares its work with other processes, which it can't do through files. */
const assertServers = (role: Role, { servers }: Settings): void => {
  if (role === 'all' || servers !== null) return;
  throw new WrongSettings([
    `The role ${role} works with other processes through servers: set ${serverSettings.join(', ')} too, or start the role all.`,
  ]);
};

/**
 * Throws UnusableSecretFile if a key is missing that signing secrets in use were derived from, LostIndexKey,
 * and PersonalKeysUnavailable.
 */
const assertKeys = async ({ settings, role, engine, keys, clock }: ProcessContext): Promise<void> => {
  if (plays(role, 'api')) await engine.personalKeys.hashed();
  if (keys === null) return;
  const missing = await missingKeys({ deliveries: engine.deliveries, keys, clock });
  if (missing.length === 0) return;
  throw new UnusableSecretFile(
    `SECRET_KEY_FILE ${settings.secretKeyFile} lacks the keys ${missing.join(', ')}: signing secrets in use are derived from them. Add their lines again, below the newest.`,
  );
};

/** Fills the catalogue; false where this process must write nothing. */
const prepare = async (
  { role, engine, log }: ProcessContext,
  administration: AdministrationDeps,
): Promise<boolean> => {
  const why = await engine.rehearsal();
  if (why !== null) {
    log.warn(
      { why },
      'this is a rehearsal: nothing is changed, signed or sent from here until it is promoted',
    );
    return false;
  }
  if (!plays(role, 'api')) return false;
  await stockCatalogue(administration, { artwork: engine.artwork, frontOf: collectionFront });
  return true;
};

/** The key of the demo organization if this start makes it, else null. It is shown only once. */
const demoKey = async ({ demo }: Settings, administration: AdministrationDeps): Promise<string | null> =>
  demo ? ((await makeDemo(administration))?.secret ?? null) : null;

/**
 * Starts one process of the service. If its engine has servers, it does not wait for them. Throws the errors
 * that `explain` knows.
 */
export const startService = async (options: ServiceOptions) => {
  const { settings, role, clock, entropy, log, fail, open = openEngine } = options;
  assertServers(role, settings);
  assertFolders(settings, plays(role, 'notary'));
  assertOneTruth(settings);
  assertWholeCopy(settings);
  const calls = new EngineCalls();
  let witnesses: readonly WitnessStatus[] = [];
  const isAlone = settings.servers === null;
  // A new one would open none of the keys that are there.
  const isFirst = isAlone && !existsSync(keysPath(settings.dataDir));
  const personalMasters = (): MasterKeys | null =>
    opensPersonal(role) ? masterKeys(settings.personalKeyFile, entropy, isFirst, 'PERSONAL_KEY_FILE') : null;
  const eventKeys = (isNew: boolean): MasterKeys =>
    masterKeys(settings.eventKeyFile, entropy, isNew, 'EVENT_KEY_FILE');
  const keysOfLog =
    plays(role, 'api') || plays(role, 'notary') ? logKeys(settings, entropy, role === 'all') : null;
  if (keysOfLog === null && role === 'notary')
    throw new UnusableSecretFile(
      `LOG_KEY_FILE ${settings.logKeyFile} does not exist: the role notary signs with the one key that the log has forever.`,
    );
  if (keysOfLog !== null && isNamedByNewcomer(settings, keysOfLog.origin))
    log.warn(
      { origin: keysOfLog.origin },
      'the log got its name from a start without BASE_URL and keeps it forever: begin with an empty DATA_DIR, or set LOG_ORIGIN to this name',
    );
  if (settings.baseUrl === null && reachable(settings.host) !== settings.host && plays(role, 'api'))
    log.warn(
      'HOST is every address of this machine, and BASE_URL is not set: the console, links and the name of a new log are for this machine alone; set BASE_URL to the address that clients see',
    );
  const engine = await open({
    ...options,
    personalMasters,
    eventKeys: knowsEventKeys(role) ? eventKeys : null,
    calls,
    logKeys: keysOfLog,
    onWitnesses: (all) => void (witnesses = all),
  });
  let draining = false;
  const stopping = new AbortController();
  // Every process of the role listens.
  setMaxListeners(0, stopping.signal);
  const projecting = new AbortController();
  let running: readonly Promise<unknown>[] = [];
  const judge = judgingThread();
  let projector: Promise<void> = Promise.resolve();
  /** The projector ends last: until then, writes that are still running may wait for it. */
  const end = async (http: Promise<unknown>): Promise<void> => {
    stopping.abort();
    // At the same time: requests and deliveries that are running share the few seconds that are left.
    await Promise.all([http, ...running]);
    await judge.close();
    projecting.abort();
    await projector;
    await engine.close();
  };
  let baseUrl = clientAddress(settings, settings.port);
  let operatorAddress = '';
  let listening: readonly string[] = [httpAddress(settings)];
  let close = (): Promise<unknown> => Promise.resolve();
  try {
    const context: ProcessContext = {
      ...options,
      engine,
      calls,
      operatorToken: plays(role, 'api') ? operatorToken(settings.operatorTokenFile, entropy) : null,
      keys:
        plays(role, 'api') || plays(role, 'webhooks')
          ? masterKeys(settings.secretKeyFile, entropy, isAlone)
          : null,
      logKeys: keysOfLog,
      witnesses: () => witnesses,
      judge,
      pictureMaker: pictureProcess(),
      sheetPrinter: new PrintingThread(),
      listening: () => listening,
      baseUrl: () => baseUrl,
      operatorAddress: () => operatorAddress,
      draining: () => draining,
    };
    const container = wire(context);
    const { open: http, operator } = part(container, 'listeners');
    close = () => Promise.all([http.close(), operator?.close()]);
    const administration = part(container, 'administration');
    const run = (): void => {
      projector = projectorOf(context)(projecting.signal);
      running = processesOf(role, container).map((process) => process(stopping.signal));
    };
    const listen = async (): Promise<number> => {
      const port = await http.listen(settings.port, settings.host);
      baseUrl = clientAddress(settings, port);
      operatorAddress = httpAddress({ ...settings, port });
      const { operatorListener: own } = settings;
      if (own !== null && operator !== null)
        operatorAddress = httpAddress({ ...own, port: await operator.listen(own.port, own.host) });
      listening = [httpAddress({ ...settings, port }), operatorAddress];
      return port;
    };

    let prepared: Promise<string | null>;
    let port: number;
    if (engine.hasServers) {
      // Servers may come later than this process: it serves as much as it can, and goes on preparing
      // meanwhile.
      port = await listen();
      run();
      prepared = untilDone({ clock, log, signal: stopping.signal }, async () => {
        await engine.assertLog();
        await assertKeys(context);
        return (await prepare(context, administration)) ? demoKey(settings, administration) : null;
      }).catch((error: unknown) => {
        fail(error);
        return null;
      });
      running = [...running, prepared];
    } else {
      // Files are there at once: no client can connect before everything is ready. The demo comes last: a
      // start that fails, as on a taken port, must not make a key that it cannot show.
      await assertKeys(context);
      run();
      const isPrepared = await prepare(context, administration);
      port = await listen();
      prepared = Promise.resolve(isPrepared ? await demoKey(settings, administration) : null);
    }
    return {
      /** The address that clients see. */
      baseUrl,
      address: httpAddress({ ...settings, port }),
      port,
      /** Where operator API, metrics and readiness are: `address`, unless they have one of their own. */
      operatorAddress,
      /** Null if the role has no operator API. */
      operatorToken: context.operatorToken,
      /**
       * Resolves when the catalogue is there: with the key of the demo organization if this start has made
       * it, else null. Waits for servers that are away.
       */
      prepared,
      /** Makes a link with which the operator enters the console; null if this process serves none. */
      makeLink: async (): Promise<string | null> => {
        if (!settings.console || !plays(role, 'api')) return null;
        const { token } = await issueLink(part(container, 'people'), 'enter', root);
        const { origin, prefix } = placeOf(baseUrl);
        return `${origin}${pageUrl(prefix, paths.enter, { link: token })}`;
      },
      /** Serves on while `/readyz` says that it stops, so that balancers send their requests elsewhere. */
      drain: (): void => {
        draining = true;
        http.drain();
        operator?.drain();
      },
      /** Stops accepting requests, finishes the running ones, and closes files and connections. */
      stop: () => end(close()),
    };
  } catch (error) {
    await end(close());
    throw error;
  }
};

const retryAfter: Milliseconds = 1_000;

/**
 * Tries again until the work succeeds; null if the signal aborts first. Throws UnusableSecretFile and
 * FinalError: another try would not help.
 */
const untilDone = async (
  { clock, log, signal }: { readonly clock: Clock; readonly log: Logger; readonly signal: AbortSignal },
  work: () => Promise<string | null>,
): Promise<string | null> => {
  let logged = '';
  while (!signal.aborted) {
    try {
      return await work();
    } catch (error) {
      if (error instanceof UnusableSecretFile || error instanceof FinalError) throw error;
      const reason = messageOf(error);
      if (reason !== logged) log.warn({ reason }, 'not prepared yet, waiting for the servers');
      logged = reason;
    }
    await clock.sleep(retryAfter, signal);
  }
  return null;
};
