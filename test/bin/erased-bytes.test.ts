import { expect } from 'chai';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { SystemClock } from '../../adapters/system/clock.js';
import { SystemEntropy } from '../../adapters/system/entropy.js';
import { startService, type Service } from '../../bin/service.js';
import { readSettings } from '../../bin/settings.js';
import { erasable, erasableWords, importErasable } from '../support/fixtures/erasable.js';
import { aCard, clientOf, clientsOf } from '../support/http/service.js';
import { eventually } from '../support/time/eventually.js';

const logged: string[] = [];

const start = async (directory: string): Promise<Service> => {
  const service = await startService({
    settings: readSettings({ PORT: '0', DATA_DIR: directory, DEMO: 'off', WEBHOOK_DELIVERY: 'off' }),
    role: 'all',
    clock: new SystemClock(),
    entropy: new SystemEntropy(),
    log: pino({ level: 'trace' }, { write: (line: string) => void logged.push(line) }),
    fail: (error) => {
      throw error;
    },
  });
  await service.prepared;
  return service;
};

/** Words that stand in nothing but the personal data of what is erased. */
const markers = [...erasableWords, 'Nobody tore'];

/** The files of a directory in which a word stands, by word. */
const found = async (directory: string): Promise<readonly string[]> => {
  const names = await readdir(directory);
  const files = await Promise.all(
    names.map(async (name) => ({ name, bytes: await readFile(join(directory, name)) })),
  );
  return files.flatMap(({ name, bytes }) =>
    markers.filter((marker) => bytes.includes(marker)).map((marker) => `${name}: ${marker}`),
  );
};

describe('after an erasure', () => {
  it('no byte of what was erased is left: in no file, and in no line of the log', async function () {
    this.timeout(60_000);
    const directory = await mkdtemp(join(tmpdir(), 'cards-'));
    let service = await start(directory);
    try {
      const { org, api } = await clientsOf(service).tenant();
      const operator = clientOf(service.baseUrl, service.operatorToken);
      await api('/api/v1/webhooks', { body: { url: 'https://receiver.example/cards' } });
      const headers = { 'idempotency-key': erasable.idempotencyKey };
      const { id: code } = await api('/api/v1/cards', { body: erasable.card, headers });
      await operator(`/operator/v1/cards/${code}/hold`, { body: { reason: 'Nobody tore it' } });
      await api(`/api/v1/cards/${code}`, { method: 'DELETE' });
      const contact = await api('/api/v1/contacts', { body: erasable.contact });
      const { baseUrl } = service;
      const imported = await importErasable({ baseUrl, operator }, org, async () => {
        const readable = (await found(directory)).filter((file) => !file.startsWith('read.db'));
        expect(readable.filter((file) => file.includes('Wombatina'))).to.deep.equal([]);
      });
      expect((await api('/api/v1/contacts')).rows).to.have.length(2);
      const other = await api('/api/v1/cards', { body: aCard() });
      const wanted = { cards: [code], contacts: [contact.id, imported], reason: 'a request' };
      expect(
        (await operator(`/operator/v1/organizations/${org}/erasures`, { body: wanted })).status,
      ).to.equal(202);
      const history = () => operator(`/operator/v1/cards/${code}/history`);
      await eventually(async () => {
        const { text } = await history();
        return !markers.some((marker) => text.includes(marker));
      });
      const deliveries = () => api(`/api/v1/deliveries?card=${code}`);
      await eventually(async () => (await deliveries()).rows.every(({ status }) => status === 'dropped'));
      const before = (await operator('/operator/v1/anchor')).body;
      await service.stop();
      expect(await found(directory)).to.deep.equal([]);
      expect(markers.filter((marker) => logged.some((line) => line.includes(marker)))).to.deep.equal([]);

      // Built anew, without a look at what was erased, everything is the same; and the log is still whole.
      for (const suffix of ['', '-wal', '-shm'])
        await rm(join(directory, `read.db${suffix}`), { force: true });
      service = await start(directory);
      const again = clientOf(service.baseUrl, service.operatorToken);
      expect((await again('/operator/v1/anchor')).body['hash']).to.equal(before['hash']);
      expect((await again(`/operator/v1/cards/${code}`)).body['recipient']).to.include({ name: null });
      expect((await again(`/operator/v1/cards/${other.id}`)).body['recipient']).to.include({
        name: 'Ada Lovelace',
      });
    } finally {
      await service.stop();
      await rm(directory, { recursive: true, force: true });
    }
  });
});
