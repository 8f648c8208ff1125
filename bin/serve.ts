import 'reflect-metadata';
import { SystemClock } from '../adapters/system/clock.js';
import { SystemEntropy } from '../adapters/system/entropy.js';
import { exitCodes, explain } from './wiring/exit.js';
import { roles, type Role } from './wiring/roles.js';
import type { Service } from './wiring/service.js';
import { misspelt, readSettings } from './settings/settings.js';
import { nodeWarning, version } from './settings/version.js';
import type { Clock } from '../application/ports/system.js';
import { type Tracing, noTracing } from '../application/ports/tracing.js';
import type { Milliseconds } from '../domain/ids.js';

const stopTimeout = 9_500;

const readRole = (argument: string | undefined): Role => {
  const role = roles.find((known) => known === (argument ?? 'all'));
  if (role === undefined) throw new RangeError(`There is no role "${argument}": use ${roles.join(', ')}.`);
  return role;
};

/**
 * Greets a newcomer on the first start, in plain lines. If clients see another address than the service
 * listens on, it shows both. (docs/operations.md#commands)
 */
const welcome = async (
  { baseUrl, address, operatorAddress }: Service,
  key: string | null,
  link: string | null,
): Promise<string> => {
  const addresses = [
    `Handwritten Card Service: ${baseUrl}`,
    ...(address === baseUrl ? [] : [`Listening on: ${address}`]),
    ...(operatorAddress === address ? [] : [`Operator API, metrics and readiness: ${operatorAddress}`]),
  ];
  const entrance = link === null ? [] : [`Console (works once, within 15 minutes): ${link}`];
  if (key === null) return `${[...addresses, ...entrance].join('\n')}\n`;
  const { exampleRecipient: recipient, exampleMessage: message } =
    await import('../adapters/http/api/card-fields.js');
  const body = JSON.stringify({ recipient, message });
  return [
    ...addresses,
    `API key (shown this once): ${key}`,
    'Send a card:',
    `curl -X POST ${baseUrl}/api/v1/cards -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' -d '${body}'`,
    ...entrance,
    `Documentation: ${baseUrl}/docs`,
    '',
  ].join('\n');
};

/** Where version 1 of the OpenTelemetry API keeps its registered SDK. */
const registered = Symbol.for('opentelemetry.js.api.1');

const hasTracer = (): boolean => {
  const api: unknown = Reflect.get(globalThis, registered);
  return typeof api === 'object' && api !== null && 'trace' in api;
};

/**
 * Spans, if the process was started with an SDK of OpenTelemetry (`node --import`). Without one not even its
 * API is loaded, which takes a sixth of the start.
 */
const tracingOfProcess = async (): Promise<Tracing> => {
  if (!hasTracer()) return noTracing;
  const { openTelemetry } = await import('../adapters/opentelemetry/tracing.js');
  return openTelemetry(version);
};

/** Within this, a SIGTERM is the first one again: a supervisor sent it to npm, too, which passes it on. */
const sameSignal: Milliseconds = 1_000;

/** Resolves when the drain is over, or when a second signal asks to stop without it. */
const endOfDrain = async (clock: Clock, drain: Milliseconds): Promise<void> => {
  const impatience = new AbortController();
  const stopWaiting = (): void => impatience.abort();
  process.on('SIGINT', stopWaiting);
  await clock.sleep(Math.min(drain, sameSignal), impatience.signal);
  process.on('SIGTERM', stopWaiting);
  await clock.sleep(drain - sameSignal, impatience.signal);
};

/** Whatever the process writes is for its own user alone: the data hold names, addresses and messages. */
const ownerOnly = 0o077;

const serve = async (): Promise<void> => {
  process.umask(ownerOnly);
  const [, , argument] = process.argv;
  const clock = new SystemClock();
  const role = readRole(argument);
  const settings = readSettings(process.env);
  // Wrong settings are refused before the service itself is loaded, which takes longer than all of this.
  const [{ makeLog }, { startService }, tracing] = await Promise.all([
    import('./wiring/log.js'),
    import('./wiring/service.js'),
    tracingOfProcess(),
  ]);
  const log = await makeLog(settings.logLevel, clock);
  for (const hint of misspelt(process.env)) log.warn(hint);
  const warning = nodeWarning(process.versions.node);
  if (warning !== null) log.warn({ node: process.versions.node }, warning);
  const stopped = new Promise<Milliseconds>((resolve) => {
    // Handled more than once: `npm start` forwards a Ctrl-C that the terminal has sent here already, and
    // without a handler this second one would end the process at once.
    process.on('SIGINT', () => resolve(0));
    process.on('SIGTERM', () => resolve(settings.drain));
  });
  const drained = stopped.then((drain) => endOfDrain(clock, drain));
  // Also if the service is still starting.
  void drained.then(() => clock.sleep(stopTimeout)).then(() => process.exit(exitCodes.failed));
  const service = await startService({
    settings,
    role,
    clock,
    entropy: new SystemEntropy(),
    log,
    tracing,
    fail: end,
  });
  log.info({ role, version, port: service.port, operator: service.operatorAddress }, 'listening');
  void service.prepared.then(async (key) => {
    // A link in a log that machines keep would let in every reader of the log.
    const isWelcome = key !== null || process.stdout.isTTY;
    const link = isWelcome ? await service.makeLink().catch(() => null) : null;
    process.stdout.write(await welcome(service, key, link));
  });
  const drain = await stopped;
  log.info({ role, drain_ms: drain }, 'stopping');
  if (drain > 0) service.drain();
  await drained;
  await service.stop();
};

/** Ends the process at once: requests that are running get no response. */
const end = (error: unknown): never => {
  const { code, message } = explain(error);
  process.stderr.write(`${message}\n`);
  process.exit(code);
};

await serve().catch(end);
process.exit(exitCodes.done);
