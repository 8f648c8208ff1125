import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream';
import { createServer } from 'node:tls';
import { promisify } from 'node:util';
import { pino } from 'pino';
import { MongoDatabase } from '../../adapters/mongodb/client/database.js';
import { SystemClock } from '../../adapters/system/clock.js';
import { SystemEntropy } from '../../adapters/system/entropy.js';
import { runCommandLine } from '../../bin/cli/program.js';
import { explain } from '../../bin/wiring/exit.js';
import { startService, type Service } from '../../bin/wiring/service.js';
import { readSettings } from '../../bin/settings/settings.js';
import { authority } from '../support/http/receiver.js';
import { aCard, clientOf, clientsOf, type Fields } from '../support/http/service.js';
import { describeWithEngines } from '../support/runner/engines.js';
import { read, root } from '../support/runner/repository.js';
import { distributedWiring } from '../support/runner/wiring.js';
import { eventually } from '../support/time/eventually.js';

const pages = `${read('docs/operations.md')}\n${read('docs/incidents.md')}`;

/** The commands below a heading, up to the next one, as they stand. */
const commandsBelow = (heading: string): readonly string[] => {
  const [, below = ''] = pages.split(new RegExp(`^#+ ${heading}$`, 'm'));
  const [section = ''] = below.split(/^#+ /m);
  return [...section.matchAll(/```sh\n(.*?)```/gs)].flatMap(([, block = '']) =>
    block
      .replaceAll(/\\\n */g, '')
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== ''),
  );
};

const wordsOf = (command: string): readonly string[] =>
  [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? '');

describe('the page about a lost log.key', () => {
  it('makes another one while the settings of the service are exported', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'cards-'));
    const live = (name: string): string => join(directory, 'live', name);
    await mkdir(join(directory, 'live'));
    await writeFile(live('log.head'), '');
    const [step = ''] = commandsBelow('log.key is lost');
    await promisify(execFile)('/bin/sh', ['-c', step.replace('./new', join(directory, 'new'))], {
      cwd: root,
      env: {
        PATH: dirname(process.execPath),
        LOG_KEY_FILE: live('log.key'),
        LOG_HEAD_FILE: live('log.head'),
      },
    });
    const key = await readFile(join(directory, 'new', 'log.key'), 'utf8');
    expect(key).to.match(/^PRIVATE\+KEY\+cards\.example\.com\/log2\+/);
    await rm(directory, { recursive: true, force: true });
  });
});

describeWithEngines(['MONGODB_URL', 'RABBITMQ_URL'], 'incident pages, run as they stand', () => {
  let directory = '';
  let wiring: Awaited<ReturnType<typeof distributedWiring>>;
  let database: MongoDatabase;
  let service: Service | null = null;
  const failures: unknown[] = [];
  const cards: string[] = [];
  let key = '';
  let org = '';

  const environment = (): Readonly<Record<string, string>> => ({
    PORT: '0',
    DATA_DIR: directory,
    DEMO: 'off',
    LOG_ON_DAMAGE: 'report',
    ...wiring.environment,
  });

  const start = async (more: Readonly<Record<string, string>> = {}): Promise<void> => {
    failures.length = 0;
    service = await startService({
      settings: readSettings({ ...environment(), ...more }),
      role: 'all',
      clock: new SystemClock(),
      entropy: new SystemEntropy(),
      log: pino({ level: 'silent' }),
      namespace: wiring.namespace,
      fail: (error) => failures.push(error),
    });
  };
  const stop = async (): Promise<void> => {
    await service?.stop();
    service = null;
  };

  /** What a command of a page is here: the command line is the real one, and servers have stand-ins. */
  const standIns: readonly (readonly [RegExp, (words: readonly string[]) => Promise<unknown>])[] = [
    [/^docker compose stop /, stop],
    [/^docker compose start /, () => start()],
    [
      /^(npm run -s cli -- |docker compose run )/,
      async (words) => {
        let complaint = '';
        const code = await runCommandLine(
          words
            .slice(words[0] === 'npm' ? 5 : words.indexOf('api') + 1)
            .map((word) => word.replace(/^\/backups/, directory)),
          {
            environment: { ...environment(), EVENTSTORE_PREFIX: wiring.namespace },
            write: () => undefined,
            complain: (text) => void (complaint += text),
          },
        );
        expect([code, complaint]).to.deep.equal([0, '']);
      },
    ],
  ];

  const run = async (command: string): Promise<void> => {
    const [, standIn] = standIns.find(([pattern]) => pattern.test(command)) ?? [];
    if (standIn === undefined) throw new Error(`nothing stands for: ${command}`);
    await standIn(wordsOf(command));
  };

  const api = () => clientOf(service?.baseUrl ?? '', key);
  const send = (idempotencyKey: string) =>
    api()('/api/v1/cards', { body: aCard(), headers: { 'idempotency-key': idempotencyKey } });

  const shown = async (): Promise<readonly unknown[]> => {
    const { rows } = await api()('/api/v1/cards');
    return rows.map(({ recipient, unreadable = false }) => [(recipient as Fields)['name'], unreadable]);
  };

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'cards-'));
    wiring = await distributedWiring(directory);
    database = new MongoDatabase(wiring.environment['MONGODB_URL'] ?? '', new SystemClock());
    await start();
    await service?.prepared;
    if (service === null) throw new Error('the service runs');
    ({ org, key } = await clientsOf(service).tenant());
    cards.push((await send('monday')).id);
  });

  after(async () => {
    await stop();
    await database.close();
    await wiring.clear();
    await rm(directory, { recursive: true, force: true });
  });

  it('queue redrive, of which the table of figures to watch speaks', () =>
    run('npm run -s cli -- queue redrive'));

  it('Back up, then MongoDB is lost: every card has its recipient, and Idempotency-Keys of the backup hold', async () => {
    // The first command is for a data directory.
    const [, records = '', keys = '', ...more] = commandsBelow('Back up');
    expect(more).to.deep.equal([]);
    await run(records);
    await stop();
    await start();
    // Between the records and the keys, by a process with new blocks of keys.
    cards.push((await send('tuesday')).id);
    await run(keys);
    await stop();
    await database.dropAll();
    for (const command of commandsBelow('MongoDB is lost')) await run(command);
    await eventually(async () => (await shown()).length === 2);
    expect(await shown()).to.deep.equal(Array(2).fill(['Ada Lovelace', false]));
    expect((await send('monday')).id).to.equal(cards[0]);
    expect(failures).to.deep.equal([]);
  }).timeout(60_000);

  it('Keys of personal data are lost: the start is refused, and after personal give-up serves what is unreadable as that', async () => {
    await stop();
    await database.dropAll();
    await start();
    await eventually(() => failures.length > 0);
    expect(explain(failures[0]).code).to.equal(78);
    expect(explain(failures[0]).message).to.include(`${org} (2)`);
    await stop();
    for (const command of commandsBelow('Keys of personal data are lost')) await run(command);
    await start();
    await eventually(async () => (await shown()).length === 2);
    expect(await shown()).to.deep.equal(Array(2).fill([null, true]));
    expect(failures).to.deep.equal([]);
  }).timeout(60_000);

  it('An expired certificate: /readyz names the engine, and the service goes on by itself once it has another', async () => {
    await stop();
    const url = new URL(wiring.environment['MONGODB_URL'] ?? '');
    const hosts = ['127.0.0.1'];
    const server = createServer(authority.issue(hosts, { expired: true }), (client) => {
      const engine = connect(Number(url.port), url.hostname);
      pipeline(client, engine, client, () => undefined);
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const ca = join(directory, 'authority.pem');
    await writeFile(ca, authority.cert);
    const { port } = server.address() as AddressInfo;
    const secured = `mongodb://127.0.0.1:${port}${url.pathname}?tls=true&tlsCAFile=${encodeURIComponent(ca)}`;
    try {
      await start({ MONGODB_URL: secured });
      const mongo = async (): Promise<unknown> => {
        const answer = await fetch(`${service?.baseUrl ?? ''}/readyz`);
        const { parts } = (await answer.json()) as { readonly parts: readonly Fields[] };
        return parts.find(({ name }) => name === 'mongodb');
      };
      await eventually(async () => {
        expect(await mongo()).to.include({ ready: false, detail: 'certificate has expired' });
        return true;
      });
      server.setSecureContext(authority.issue(hosts));
      await eventually(async () => {
        expect(await mongo()).to.include({ ready: true });
        return true;
      });
      expect(failures).to.deep.equal([]);
    } finally {
      await stop();
      server.close();
    }
  }).timeout(60_000);
});
