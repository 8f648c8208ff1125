import 'reflect-metadata';
import { SystemClock } from '../adapters/system/clock.js';
import { SystemEntropy } from '../adapters/system/entropy.js';
import { exitCodes, explain } from './exit.js';
import { makeLog } from './log.js';
import { nodeWarning } from './node-version.js';
import { roles, type Role } from './roles.js';
import { startService, type Service } from './service.js';
import { readSettings } from './settings.js';

const longestStop = 9_500;

const readRole = (argument: string | undefined): Role => {
  const role = roles.find((known) => known === (argument ?? 'all'));
  if (role === undefined) throw new RangeError(`There is no role "${argument}": use ${roles.join(', ')}.`);
  return role;
};

/**
 * What a newcomer needs on the first start: plain lines, no log lines. Where clients see another address, the
 * port is told beside it. (operations.md, Commands)
 */
const welcome = ({ baseUrl, address }: Service, key: string | null): string => {
  const where = [
    `Handwritten Card Service: ${baseUrl}`,
    ...(address === baseUrl ? [] : [`Listening on: ${address}`]),
  ];
  if (key === null) return `${where.join('\n')}\n`;
  const body = JSON.stringify({
    recipient: {
      name: 'Ada Lovelace',
      line1: '12 Analytical Way',
      city: 'Springfield',
      state: 'IL',
      zip: '62701',
    },
    message: 'Thank you for everything, Ada.',
  });
  return [
    ...where,
    `API key (shown this once): ${key}`,
    'Send a card:',
    `curl -X POST ${baseUrl}/api/v1/cards -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' -d '${body}'`,
    `Documentation: ${baseUrl}/docs`,
    '',
  ].join('\n');
};

const serve = async (): Promise<void> => {
  const role = readRole(process.argv[2]);
  const settings = readSettings(process.env);
  const clock = new SystemClock();
  const log = await makeLog(settings.logLevel);
  const warning = nodeWarning(process.versions.node);
  if (warning !== null) log.warn({ node: process.versions.node }, warning);
  const stopped = new Promise<void>((resolve) => {
    // More than once: `npm start` passes on the Ctrl-C that the terminal has sent already, and the second one
    // would end the process at once.
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => resolve());
  });
  // Also where it is still starting.
  void stopped.then(() => clock.sleep(longestStop)).then(() => process.exit(exitCodes.failed));
  const service = await startService({ settings, role, clock, entropy: new SystemEntropy(), log, fail: end });
  log.info({ role, port: service.port }, 'listening');
  void service.prepared.then((key) => process.stdout.write(welcome(service, key)));
  await stopped;
  log.info({ role }, 'stopping');
  await service.stop();
};

/** Ends the process at once: nothing that is running is answered. */
const end = (error: unknown): never => {
  const { code, message } = explain(error);
  process.stderr.write(`${message}\n`);
  process.exit(code);
};

await serve().catch(end);
process.exit(exitCodes.done);
