import { DatabaseSync } from '@photostructure/sqlite';
import { expect } from 'chai';
import { appendFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { keysPath, openPersonalKeys } from '../../adapters/sqlite/keys/personal-keys.js';
import { openLogFile } from '../support/fixtures/offline-log.js';
import { SystemClock } from '../../adapters/system/clock.js';
import { SystemEntropy } from '../../adapters/system/entropy.js';
import { keyRing } from '../../application/personal/key-ring.js';
import { giveUpKeysOf } from '../../bin/offline/personal-data.js';
import { masterKeys } from '../../bin/settings/secret-files.js';
import type { Service } from '../../bin/wiring/service.js';
import { readSettings } from '../../bin/settings/settings.js';
import { aCard, clientOf, clientsOf, type Fields, type Tenant } from '../support/http/service.js';
import { serviceIn } from '../support/http/service-in.js';
import { eventually } from '../support/time/eventually.js';

/** Changes a file while no service has it open. */
const change = (path: string, sql: string): void => {
  const database = new DatabaseSync(path);
  database.exec(sql);
  database.close();
};

const withoutReadModels = async (directory: string): Promise<void> => {
  for (const suffix of ['', '-wal', '-shm']) await rm(join(directory, `read.db${suffix}`), { force: true });
};

const nobody = { name: null, line1: null, line2: null, city: null, state: null, zip: null, country: null };

describe('events whose keys were lost and given up', () => {
  let directory = '';
  let service: Service;
  let tenant: Tenant;
  let lost: string;
  let kept: string;

  const operator = () => clientOf(service.baseUrl, service.operatorToken);
  const api = () => clientOf(service.baseUrl, tenant.key);

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'cards-'));
    service = await serviceIn(directory);
    tenant = await clientsOf(service).tenant();
    const office = `/operator/v1/organizations/${tenant.org}`;
    const send = (key: string) =>
      api()('/api/v1/cards', { body: aCard(), headers: { 'idempotency-key': key } });
    lost = (await send('lost')).id;
    await api()('/api/v1/contacts', { body: { external_id: 'c-1', name: 'Ada Lovelace' } });
    await operator()(`${office}/do-not-mail`, { body: { email: 'ada@example.com' } });
    await service.stop();
    change(join(directory, 'keys.db'), 'create table first as select number from blocks where number > 0');
    // The next process begins a block of keys of its own.
    service = await serviceIn(directory);
    kept = (await send('kept')).id;
    await operator()(`${office}/do-not-mail`, { body: { email: 'grace@example.com' } });
    await service.stop();
    await loseKeyOf(directory, 'do-not-mail');
    change(join(directory, 'keys.db'), 'delete from blocks where number in (select number from first)');
    await giveUpKeysOf(readSettings({ DATA_DIR: directory }), 'Ada');
    await withoutReadModels(directory);
    service = await serviceIn(directory);
    await eventually(async () => (await operator()('/operator/v1/cards')).rows.length === 2);
  });

  after(async () => {
    await service.stop();
    await rm(directory, { recursive: true, force: true });
  });

  it('leave lookups and lists of cards readable: nothing but the recipient is gone', async () => {
    const looked = await api()(`/api/v1/cards/${lost}`);
    expect(looked.status).to.equal(200);
    expect(looked.body['recipient']).to.deep.equal(nobody);
    expect([looked.body['status'], looked.body['unreadable'], looked.body['erased_at']]).to.deep.equal([
      'pending',
      true,
      undefined,
    ]);
    const { rows } = await api()('/api/v1/cards');
    expect(rows.map(({ id, recipient, unreadable }) => ({ id, recipient, unreadable }))).to.deep.equal([
      {
        id: kept,
        recipient: { name: 'Ada Lovelace', city: 'Springfield', state: 'IL' },
        unreadable: undefined,
      },
      { id: lost, recipient: { name: null, city: null, state: null }, unreadable: true },
    ]);
    const forOperator = await operator()(`/operator/v1/cards/${lost}`);
    expect([forOperator.status, forOperator.body['message']]).to.deep.equal([200, null]);
    expect((await operator()(`/operator/v1/cards/${lost}/history`)).status).to.equal(200);
  });

  it('let a card be cancelled and its send be repeated', async () => {
    const repeated = await api()('/api/v1/cards', { body: aCard(), headers: { 'idempotency-key': 'lost' } });
    expect([repeated.status, repeated.id, repeated.body['recipient']]).to.deep.equal([
      201,
      lost,
      { name: null },
    ]);
    expect((await api()(`/api/v1/cards/${lost}`, { method: 'DELETE' })).body['credits_refunded']).to.equal(1);
  });

  it('hold a hook’s card to such a contact, unless the call has an email of its own', async () => {
    const hook = await operator()(`/operator/v1/organizations/${tenant.org}/hooks`, { body: {} });
    const { recipient } = aCard() as { readonly recipient: object };
    const fire = (more: object) =>
      clientOf(service.baseUrl, '')(`/api/v1/hooks/${String(hook.body['token'])}`, {
        body: { ...recipient, message: 'Hello', external_id: 'c-1', ...more },
      });
    const held = await fire({});
    expect([held.status, held.body['status'], held.body['held_reason']]).to.deep.equal([
      201,
      'held',
      'The contact’s email can’t be read any more, so the do-not-mail list can’t be asked about it',
    ]);
    const sent = [await fire({ email: 'bo@example.com' }), await fire({ external_id: 'c-2' })];
    expect(sent.map(({ body }) => body['status'])).to.deep.equal(['scheduled', 'scheduled']);
  });

  it('leave a contact in the list, without its details, and let it be saved again', async () => {
    const { rows } = await api()('/api/v1/contacts');
    expect(rows).to.have.length(1);
    expect(rows[0]).to.include({ name: null, external_id: null, email: null, unreadable: true });
    const saved = await api()('/api/v1/contacts', { body: { external_id: 'c-1', name: 'Ada King' } });
    expect([saved.status, saved.body['name']]).to.deep.equal([200, 'Ada King']);
  });

  it('are not counted in personal_unreadable_total, but one whose key was lost alone is, once', async () => {
    const total = async () => {
      const { text } = await operator()('/metrics');
      return Number(/^personal_unreadable_total (\d+)$/m.exec(text)?.[1]);
    };
    // The keys are compared in the order of the log: that of Grace's address comes last.
    expect(await eventually(async () => (await total()) >= 1 && (await total()))).to.equal(1);
  });

  it('leave the do-not-mail list readable', async () => {
    const { status, rows } = await operator()(`/operator/v1/organizations/${tenant.org}/do-not-mail`);
    expect([status, rows.map(({ email }) => email)]).to.deep.equal([200, [null, null]]);
  });
});

describe('a master key that was given up, and is found again', () => {
  it('opens what was sealed before, with read models that are made again', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'cards-'));
    const path = join(directory, 'personal.key');
    let service = await serviceIn(directory);
    const { key } = await clientsOf(service).tenant();
    const api = () => clientOf(service.baseUrl, key);
    await api()('/api/v1/cards', { body: aCard() });
    await service.stop();
    const older = await readFile(path);
    await rm(path);
    masterKeys(path, new SystemEntropy(), true, 'PERSONAL_KEY_FILE');
    await giveUpKeysOf(readSettings({ DATA_DIR: directory }), 'Ada');
    const shown = async (): Promise<readonly unknown[]> => {
      await withoutReadModels(directory);
      service = await serviceIn(directory);
      const rows = await eventually(async () => {
        const list = (await api()('/api/v1/cards')).rows;
        return list.length > 0 && list;
      });
      await service.stop();
      return rows.map(({ recipient }) => (recipient as Fields)['name']);
    };
    expect(await shown()).to.deep.equal([null]);
    await appendFile(path, older);
    expect(await shown()).to.deep.equal(['Ada Lovelace']);
    await rm(directory, { recursive: true, force: true });
  });
});

describe('keys that are lost one by one', () => {
  let directory = '';
  let service: Service | null = null;
  before(async () => void (directory = await mkdtemp(join(tmpdir(), 'cards-'))));
  after(async () => {
    await service?.stop();
    await rm(directory, { recursive: true, force: true });
  });

  it('leave everything else readable, each time, with read models that are made anew', async () => {
    let running = (service = await serviceIn(directory));
    const { org, key } = await clientsOf(running).tenant();
    const api = () => clientOf(running.baseUrl, key);
    const operator = () => clientOf(running.baseUrl, running.operatorToken);
    const [one, other] = [
      await api()('/api/v1/cards', { body: aCard({ reference: 'order 1' }) }),
      await api()('/api/v1/cards', { body: aCard({ reference: 'order 2' }) }),
    ];
    const contact = await api()('/api/v1/contacts', { body: { external_id: 'c-1', name: 'Grace Hopper' } });
    await operator()(`/operator/v1/organizations/${org}/do-not-mail`, { body: { email: 'ada@example.com' } });
    const shown = async () => {
      const nameOf = async (id: string) =>
        ((await api()(`/api/v1/cards/${id}`)).body['recipient'] as Fields)['name'];
      return {
        [`card-${one.id}`]: await nameOf(one.id),
        [`card-${other.id}`]: await nameOf(other.id),
        [`contact-${contact.id}`]: (await api()('/api/v1/contacts')).rows[0]?.['name'],
        'do-not-mail': (await operator()(`/operator/v1/organizations/${org}/do-not-mail`)).rows[0]?.['email'],
      };
    };
    await eventually(async () => (await api()('/api/v1/contacts')).rows.length === 1);
    let expected: Fields = {
      [`card-${one.id}`]: 'Ada Lovelace',
      [`card-${other.id}`]: 'Ada Lovelace',
      [`contact-${contact.id}`]: 'Grace Hopper',
      'do-not-mail': 'ada@example.com',
    };
    expect(await shown()).to.deep.equal(expected);
    for (const name of Object.keys(expected).filter((each) => !each.includes(other.id))) {
      await running.stop();
      await loseKeyOf(directory, name);
      await withoutReadModels(directory);
      running = service = await serviceIn(directory);
      expected = { ...expected, [name]: null };
      await eventually(async () => (await operator()('/operator/v1/cards')).rows.length === 2);
      await eventually(async () => (await api()('/api/v1/contacts')).rows.length === 1);
      expect(await shown(), name).to.deep.equal(expected);
      const { rows } = await operator()(`/operator/v1/cards/${one.id}/history`);
      expect(rows.map(({ verified }) => verified)).to.deep.equal([true]);
    }
  }).timeout(60_000);
});

/** Destroys the key of the last sealed event of the streams whose names begin so. */
const loseKeyOf = async (directory: string, stream: string): Promise<void> => {
  const file = openLogFile(join(directory, 'events.db'));
  const events = await file.log.readStored(0n, 10_000);
  file.close();
  const keyId = events
    .filter((event) => event.stream.startsWith(stream))
    .flatMap(({ metadata }) => (JSON.parse(metadata) as { readonly keyId?: string | null }).keyId ?? [])
    .at(-1);
  if (keyId === undefined) throw new Error(`${stream} has no key`);
  const [clock, entropy] = [new SystemClock(), new SystemEntropy()];
  const masters = masterKeys(join(directory, 'personal.key'), entropy, false, 'PERSONAL_KEY_FILE');
  const store = openPersonalKeys(keysPath(directory));
  try {
    await keyRing({ store, masters, clock, entropy }).destroy([keyId]);
  } finally {
    store.close();
  }
};
