import { DatabaseSync } from '@photostructure/sqlite';
import { expect } from 'chai';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { documentsName, type DocumentRow } from '../../../adapters/mongodb/read/builds.js';
import { MongoDatabase } from '../../../adapters/mongodb/client/database.js';
import { tableOf } from '../../../adapters/sqlite/read/read-tables.js';
import { SystemClock } from '../../../adapters/system/clock.js';
import { SystemEntropy } from '../../../adapters/system/entropy.js';
import type { Clock } from '../../../application/ports/system.js';
import { startService, type Service } from '../../../bin/wiring/service.js';
import { readSettings } from '../../../bin/settings/settings.js';
import { signerFrom } from '../../../domain/signed-note.js';
import { cards } from '../../../projections/cards.js';
import { writeLogKey } from '../../support/fixtures/log-key.js';
import { aCard, clientsOf } from '../../support/http/service.js';
import { describeWithEngines } from '../../support/runner/engines.js';
import { distributedWiring } from '../../support/runner/wiring.js';
import { eventually } from '../../support/time/eventually.js';

const system = new SystemClock();
/** Rests are short, so that rows are looked at one after the other; an engine still has time to respond. */
const hurried: Clock = {
  now: () => system.now(),
  steady: () => system.steady(),
  instant: () => system.instant(),
  monotonic: () => system.monotonic(),
  sleep: (time, signal) => system.sleep(Math.min(time, 200), signal),
};

/** Lets a service find a card whose row was changed, and says what it logs of it. */
const finds = async (
  environment: Readonly<Record<string, string>>,
  namespace: string | null,
  change: (code: string) => Promise<void> | void,
): Promise<void> => {
  const logged: string[] = [];
  const service: Service = await startService({
    settings: readSettings({ PORT: '0', DEMO: 'off', ...environment }),
    role: 'all',
    clock: hurried,
    entropy: new SystemEntropy(),
    log: pino({ level: 'error' }, { write: (line: string) => void logged.push(line) }),
    fail: (error) => {
      throw error;
    },
    ...(namespace !== null && { namespace }),
  });
  try {
    await service.prepared;
    const { api } = await clientsOf(service).tenant();
    const { id } = await api('/api/v1/cards', { body: aCard({ arrive_on: '2099-01-01' }) });
    const code = String(id);
    const count = async (name: string): Promise<number> => {
      const text = await (await fetch(`${service.baseUrl}/metrics`)).text();
      return Number(new RegExp(`^${name}\\{projection="cards"\\} (\\d+)$`, 'm').exec(text)?.[1]);
    };
    await eventually(async () => (await count('projection_rows_checked_total')) > 0, { within: 60_000 });
    expect(await count('projection_rows_wrong_total')).to.equal(0);
    await change(code);
    await eventually(async () => (await count('projection_rows_wrong_total')) > 0, { within: 120_000 });
    const line = await eventually(() => logged.find((each) => each.includes('not what its events')) ?? null);
    expect(JSON.parse(line)).to.include({ projection: 'cards', key: code });
    expect(JSON.parse(line)).to.have.property('fields').that.deep.equals(['status']);
  } finally {
    await service.stop();
  }
};

const otherStatus = (json: string): string => json.replace(/"status":"\w+"/, '"status":"posted"');

describe('a service that compares random rows with their events', function () {
  this.timeout(240_000);
  let directory: string;
  beforeEach(async () => void (directory = await mkdtemp(join(tmpdir(), 'cards-'))));
  afterEach(() => rm(directory, { recursive: true, force: true }));

  it('counts and names a row that was changed in its file', () =>
    finds({ DATA_DIR: directory }, null, (code) => {
      const database = new DatabaseSync(join(directory, 'read.db'));
      const table = tableOf(cards, cards.version, 1);
      const row = database.prepare(`select document from ${table} where key = ?`).get(code);
      const document = otherStatus(String(row?.['document']));
      database.prepare(`update ${table} set document = ? where key = ?`).run(document, code);
      database.close();
    }));

  describeWithEngines(['MONGODB_URL', 'RABBITMQ_URL'], 'on servers', () => {
    it('counts and names a row that was changed in MongoDB', async () => {
      const wiring = await distributedWiring(directory);
      await writeLogKey(directory, signerFrom('cards.example.com/log', 'note', Buffer.alloc(32, 7)));
      const database = new MongoDatabase(wiring.environment['MONGODB_URL'] ?? '', system);
      try {
        await finds({ DATA_DIR: directory, ...wiring.environment }, wiring.namespace, async (code) => {
          const rows = database.collection<DocumentRow>(
            documentsName({ name: cards.name, version: cards.version, generation: 1 }),
          );
          const row = await rows.findOne({ _id: { $eq: code } });
          const json = otherStatus(row?.json ?? '');
          const { modifiedCount } = await rows.updateOne({ _id: { $eq: code } }, { $set: { json } });
          expect(modifiedCount).to.equal(1);
        });
      } finally {
        await database.close();
        await wiring.clear();
      }
    });
  });
});
