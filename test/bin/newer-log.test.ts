import { DatabaseSync } from '@photostructure/sqlite';
import { expect } from 'chai';
import { cp, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { SystemClock } from '../../adapters/system/clock.js';
import { SystemEntropy } from '../../adapters/system/entropy.js';
import { logFormat } from '../../application/log/log-format.js';
import { explain } from '../../bin/wiring/exit.js';
import { roles, type Role } from '../../bin/wiring/roles.js';
import { startService, type Service } from '../../bin/wiring/service.js';
import { readSettings } from '../../bin/settings/settings.js';
import { signerFrom } from '../../domain/signed-note.js';
import { writeLogKey } from '../support/fixtures/log-key.js';
import { aCard, clientsOf } from '../support/http/service.js';
import { describeWithEngines } from '../support/runner/engines.js';
import { distributedWiring } from '../support/runner/wiring.js';
import { command, run } from '../support/servers/programs.js';
import { eventually } from '../support/time/eventually.js';

const [clock, entropy] = [new SystemClock(), new SystemEntropy()];
const refusal = 'The event log was written by a newer version: 9.2.';

const startIn = (
  directory: string,
  environment: Readonly<Record<string, string>> = {},
  { role = 'all', ...more }: { readonly role?: Role; readonly namespace?: string } = {},
  fail: (error: unknown) => void = () => undefined,
): Promise<Service> =>
  startService({
    settings: readSettings({ PORT: '0', DATA_DIR: directory, DEMO: 'off', ...environment }),
    role,
    clock,
    entropy,
    log: pino({ level: 'silent' }),
    fail,
    ...more,
  });

const refusalOf = (starting: Promise<unknown>): Promise<ReturnType<typeof explain>> =>
  starting.then(() => {
    throw new Error('it starts');
  }, explain);

describe('the format of a log in files', () => {
  let directory: string;
  const path = (): string => join(directory, 'events.db');
  const format = (): unknown => {
    const database = new DatabaseSync(path());
    try {
      return database.prepare('pragma user_version').get();
    } finally {
      database.close();
    }
  };
  const mark = (to: number): void => {
    const database = new DatabaseSync(path());
    database.exec(`pragma user_version = ${to}; pragma wal_checkpoint(truncate)`);
    database.close();
  };
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'cards-'));
    await (await startIn(directory)).stop();
  });
  afterEach(() => rm(directory, { recursive: true, force: true }));

  it('is noted, and raised by a newer version', async () => {
    expect(format()).to.deep.equal({ user_version: logFormat });
    mark(logFormat - 1);
    await (await startIn(directory)).stop();
    expect(format()).to.deep.equal({ user_version: logFormat });
  });

  it('is noted where the next start looks for it, also if this one is killed', async () => {
    const service = await startIn(directory);
    try {
      expect((await readFile(path())).readUInt32BE(60)).to.equal(logFormat);
    } finally {
      await service.stop();
    }
  });

  it('keeps an older version from starting, which says so and nothing else, and changes nothing', async () => {
    mark(9_002);
    const before = await readFile(path());
    const names = await readdir(directory);
    const ended = await run('serve', [], { PORT: '0', DATA_DIR: directory, LOG_LEVEL: 'silent' });
    expect(ended).to.deep.equal({ code: 1, out: '', error: `${refusal}\n` });
    expect((await readFile(path())).equals(before)).to.equal(true);
    expect(await readdir(directory)).to.deep.equal(names);
  });

  it('keeps an older version from other work on it, too', async () => {
    mark(9_002);
    for (const line of ['log rebuild', 'personal give-up --by Ada --yes', `backup ${directory}-backup`]) {
      const { code, error } = await command(line.split(' '), { DATA_DIR: directory });
      expect([code, error.includes(refusal)], error).to.deep.equal([1, true]);
    }
    await cp(path(), join(directory, 'newer.db'));
    const restored = { DATA_DIR: join(directory, 'restored') };
    const { code, error } = await command(['restore', join(directory, 'newer.db')], restored);
    expect([code, error.includes(refusal)], error).to.deep.equal([1, true]);
  });
});

describe('a key and a head of another log', () => {
  it('keep the service from starting: exit code 78, and what to put back', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'cards-'));
    try {
      const service = await startIn(directory);
      const signed = async () => (await fetch(`${service.baseUrl}/log/checkpoint`)).status === 200;
      await eventually(signed);
      await service.stop();
      await writeLogKey(directory, signerFrom('cards.example.com/log', 'note', Buffer.alloc(32, 7)));
      const { code, message } = await refusalOf(startIn(directory));
      expect(code).to.equal(78);
      expect(message).to.match(
        /^No key in LOG_KEY_FILE has signed the newest checkpoint that is kept, of \d+ events: it is the key of another log\./,
      );
      const other = await refusalOf(startIn(directory, { LOG_ORIGIN: 'other.example.com/log' }));
      expect(other.code).to.equal(78);
      expect(other.message).to.include('A log keeps its name forever');
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  });
});

describeWithEngines(['MONGODB_URL', 'RABBITMQ_URL'], 'a log on servers', () => {
  let directory: string;
  let wiring: Awaited<ReturnType<typeof distributedWiring>>;
  const failures: unknown[] = [];
  const start = (role: Role): Promise<Service> =>
    startIn(directory, wiring.environment, { role, namespace: wiring.namespace }, (error) =>
      failures.push(error),
    );
  const format = (): unknown => {
    const marks = wiring.eventStore.standIn?.kept.filter(({ type }) => type === 'LogFormat') ?? [];
    return marks.map(({ data }) => JSON.parse(Buffer.from(data).toString()) as unknown);
  };
  const firstFailure = async (): Promise<ReturnType<typeof explain>> => {
    await eventually(() => failures.length > 0);
    return explain(failures[0]);
  };

  beforeEach(async () => {
    failures.length = 0;
    directory = await mkdtemp(join(tmpdir(), 'cards-'));
    wiring = await distributedWiring(directory);
    await writeLogKey(directory, signerFrom('cards.example.com/log', 'note', Buffer.alloc(32, 7)));
    const service = await start('all');
    await service.prepared;
    const tenant = await clientsOf(service).tenant();
    expect((await tenant.api('/api/v1/cards', { body: aCard() })).status).to.equal(201);
    await eventually(async () => (await fetch(`${service.baseUrl}/log/checkpoint`)).status === 200);
    await service.stop();
  });
  afterEach(async () => {
    await wiring.clear();
    await rm(directory, { recursive: true, force: true });
  });

  it('has its format noted once, for which each older process ends before it looks at anything else', async () => {
    expect([failures, format()]).to.deep.equal([[], [{ format: logFormat }]]);
    const { standIn } = wiring.eventStore;
    const newer = { type: 'LogFormat', data: Buffer.from('{"format":9002}'), metadata: Buffer.from('') };
    standIn?.plant(`${wiring.namespace}cards-log-format`, newer);
    // What an older version would take for damage.
    standIn?.rewrite('"Everyday"', '"Everynay"');
    for (const role of roles) {
      failures.length = 0;
      const service = await start(role);
      try {
        expect([role, await firstFailure()]).to.deep.equal([role, { code: 1, message: refusal }]);
      } finally {
        await service.stop();
      }
    }
    const environment = { ...wiring.environment, DATA_DIR: directory, EVENTSTORE_PREFIX: wiring.namespace };
    const { code, error } = await command(['log', 'rebuild'], environment);
    expect([code, error.includes(refusal)], error).to.deep.equal([1, true]);
  });

  it('ends a notary with the key of another log: exit code 78', async () => {
    await writeLogKey(directory, signerFrom('other.example.com/log', 'note', Buffer.alloc(32, 8)));
    const service = await start('notary');
    try {
      const { code, message } = await firstFailure();
      expect(code).to.equal(78);
      expect(message).to.include('it is the key of another log');
    } finally {
      await service.stop();
    }
  });
});
