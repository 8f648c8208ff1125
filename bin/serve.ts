import 'reflect-metadata';
import { SystemClock } from '../adapters/system/clock.js';
import { SystemEntropy } from '../adapters/system/entropy.js';
import { stockCatalogue } from '../application/administer.js';
import { makeDemo } from '../application/demo.js';
import { tokens, wire } from './container.js';
import { openEngine } from './engines/open.js';
import { exitCodes, explain } from './exit.js';
import { makeLog } from './log.js';
import { processesOf, roles, type Role } from './processes.js';
import { operatorToken } from './secret-files.js';
import { readSettings, type Settings } from './settings.js';

const longestStop = 9_500;

const readRole = (argument: string | undefined): Role => {
  const role = roles.find((known) => known === (argument ?? 'all'));
  if (role === undefined) throw new RangeError(`There is no role "${argument}": use ${roles.join(', ')}.`);
  return role;
};

const addressOf = ({ host, baseUrl }: Settings, port: number): string => baseUrl ?? `http://${host.includes(':') ? `[${host}]` : host}:${port}`;

/** What a newcomer needs on the first start: plain lines, no log lines. (operations.md, Commands) */
const welcome = (baseUrl: string, key: string | null): string => {
  if (key === null) return `Handwritten Card Service: ${baseUrl}\n`;
  const body = JSON.stringify({
    recipient: { name: 'Ada Lovelace', line1: '12 Analytical Way', city: 'Springfield', state: 'IL', zip: '62701' },
    message: 'Thank you for everything, Ada.',
  });
  return [
    `Handwritten Card Service: ${baseUrl}`,
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
  const entropy = new SystemEntropy();
  const log = makeLog(settings.logLevel);
  const stopping = new AbortController();
  const stopped = new Promise<void>((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve());
  });

  const engine = await openEngine({ settings, clock, log, fail: end });
  try {
    let baseUrl = addressOf(settings, settings.port);
    const container = wire({
      settings,
      engine,
      clock,
      entropy,
      log,
      operatorToken: operatorToken(settings.operatorTokenFile, entropy),
      baseUrl: () => baseUrl,
    });
    const office = container.resolve(tokens.administering);
    const running = processesOf(role, container).map((process) => process(stopping.signal));
    const http = container.resolve(tokens.http);

    await stockCatalogue(office);
    const demo = settings.demo ? await makeDemo(office) : null;
    const port = await http.listen(settings.port, settings.host);
    baseUrl = addressOf(settings, port);
    process.stdout.write(welcome(baseUrl, demo?.secret ?? null));
    log.info({ role, port }, 'listening');

    await stopped;
    log.info({ role }, 'stopping');
    const deadline = clock.sleep(longestStop).then(() => process.exit(exitCodes.failed));
    await Promise.race([http.close(), deadline]);
    stopping.abort();
    await Promise.race([Promise.all(running), deadline]);
  } finally {
    await engine.close();
  }
};

/** Ends the process at once: nothing that is running is answered. */
const end = (error: unknown): never => {
  const { code, message } = explain(error);
  process.stderr.write(`${message}\n`);
  process.exit(code);
};

await serve().catch(end);
process.exit(exitCodes.done);
