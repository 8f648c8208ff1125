import { expect } from 'chai';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { SystemClock } from '../../adapters/system/clock.js';
import { SystemEntropy } from '../../adapters/system/entropy.js';
import { startService } from '../../bin/service.js';
import { readSettings } from '../../bin/settings.js';
import { clientOf } from '../support/service.js';

const hello = { name: 'Ann Lee', line1: '1 Main St', city: 'Austin', state: 'TX', zip: '78701', message: 'Hello' };

const filesBelow = async (directory: string): Promise<ReadonlyMap<string, Buffer>> => {
  const files = (await readdir(directory, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  return new Map(await Promise.all(files.map(async ({ parentPath, name }) => [name, await readFile(join(parentPath, name))] as const)));
};

describe('secrets and birth years', () => {
  it('are in no data file, log line, metric or answer after they were used', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'cards-'));
    const lines: string[] = [];
    try {
      const settings = readSettings({ PORT: '0', DATA_DIR: directory, DEMO: 'on' });
      const log = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) });
      const fail = (error: unknown): never => {
        throw error;
      };
      const service = await startService({ settings, role: 'all', clock: new SystemClock(), entropy: new SystemEntropy(), log, fail });
      const key = (await service.prepared) ?? '';
      const api = clientOf(service.baseUrl, key);
      const operator = clientOf(service.baseUrl, service.operatorToken);
      const anybody = clientOf(service.baseUrl, null);
      const { organization } = (await api('/api/v1/account')).body as { readonly organization: { readonly id: string } };
      const office = `/operator/v1/organizations/${organization.id}`;
      const saved = await api('/api/v1/contacts', { body: { name: 'Ann', external_id: 'a', birthday: '1903-07-19' } });
      expect(saved.body['birthday']).to.equal('07-19');
      await api('/api/v1/contacts', { body: { name: 'Ann', external_id: 'a', birthday: '1903-07-19', phone: {} } });
      const made = await operator(`${office}/hooks`, { body: { label: 'Shop' } });
      const token = String(made.body['token']);
      const wrong = `${token.slice(1)}x`;
      expect((await anybody(`/api/v1/hooks/${token}`, { body: hello })).status).to.equal(201);
      const answers = [
        await anybody(`/api/v1/hooks/${token}`),
        await anybody(`/api/v1/hooks/${token}`, { body: { ...hello, zip: '' } }),
        await anybody(`/api/v1/hooks/${token}`, { method: 'POST', body: '{' }),
        await anybody(`/api/v1/hooks/${wrong}`, { body: hello }),
        await anybody(`/api/v1/hooks/${token}/more`, { body: hello }),
        await api('/api/v1/hooks/x', { body: hello }),
        await clientOf(service.baseUrl, `${key.slice(0, -2)}zz`)('/api/v1/account'),
        await operator(`${office}/hooks`),
        await operator(`${office}/hooks/${made.id}/calls`),
        await operator(`${office}/keys`),
        await operator(`${office}/contacts`),
        await anybody('/metrics'),
        await anybody('/readyz'),
      ];
      await service.stop();
      const files = await filesBelow(directory);
      expect([...files.keys()]).to.include('events.db');
      const places = new Map([
        ...files,
        ...answers.map((answer, index) => [`answer ${index}`, Buffer.from(answer.text)] as const),
        ['log', Buffer.from(lines.join(''))],
      ]);
      expect(lines.length).to.be.greaterThan(10);
      for (const [place, bytes] of places) {
        for (const canary of [token, wrong, key, key.slice('hck_'.length), '1903-07-19', '"1903'])
          expect(bytes.includes(canary), `${canary} in ${place}`).to.equal(false);
        if (place !== 'operator.token') expect(bytes.includes(service.operatorToken), `the operator token in ${place}`).to.equal(false);
      }
      expect(
        files.get('events.db')?.includes('07-19') === true || files.get('events.db-wal')?.includes('07-19') === true,
        'the search finds what is there',
      ).to.equal(true);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  });
});
