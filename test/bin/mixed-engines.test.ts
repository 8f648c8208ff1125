import { expect } from 'chai';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { SystemClock } from '../../adapters/system/clock.js';
import { SystemEntropy } from '../../adapters/system/entropy.js';
import { startService } from '../../bin/service.js';
import { readSettings } from '../../bin/settings.js';
import { describeWithEngines } from '../support/runner/engines.js';
import { sampleOf } from '../support/runner/effort.js';
import { eventually } from '../support/time/eventually.js';
import { authority, receiverSettings, startReceiver } from '../support/http/receiver.js';
import { aCard, clientsOf } from '../support/http/service.js';
import { distributedWiring, testWaits } from '../support/runner/wiring.js';

const mixes = [
  ['MONGODB_URL'],
  ['RABBITMQ_URL'],
  ['EVENTSTORE_URL', 'MONGODB_URL'],
  ['MONGODB_URL', 'RABBITMQ_URL'],
] as const;

describeWithEngines(['MONGODB_URL', 'RABBITMQ_URL'], 'one process with some of the servers', () => {
  for (const servers of sampleOf(mixes, 2)) {
    it(`sends, repeats, lists and delivers with ${servers.join(' and ')}, even after a restart`, async () => {
      const directory = await mkdtemp(join(tmpdir(), 'cards-'));
      const wiring = await distributedWiring(directory);
      const receiver = await startReceiver();
      const urls = Object.fromEntries(servers.map((name) => [name, wiring.environment[name]]));
      const files = { DATA_DIR: directory, SECRET_KEY_FILE: wiring.environment['SECRET_KEY_FILE'] };
      const settings = readSettings({
        PORT: '0',
        DEMO: 'off',
        WEBHOOK_BACKOFF: testWaits,
        ...receiverSettings,
        ...files,
        ...urls,
      });
      const fail = (error: unknown): void => {
        throw error;
      };
      const { namespace } = wiring;
      const machine = {
        clock: new SystemClock(),
        entropy: new SystemEntropy(),
        log: pino({ level: 'silent' }),
      };
      const start = () =>
        startService({
          settings,
          role: 'all',
          ...machine,
          fail,
          extraCertificates: [authority.cert],
          namespace,
        });
      try {
        const first = await start();
        await first.prepared;
        const tenant = await clientsOf(first).tenant({ credits: 10 });
        expect((await tenant.api('/api/v1/webhooks', { body: { url: receiver.url } })).status).to.equal(201);
        const order = { body: aCard(), headers: { 'idempotency-key': 'one' } };
        const sent = await tenant.api('/api/v1/cards', order);
        expect([sent.status, sent.text]).to.deep.equal([201, sent.text]);
        await eventually(() => receiver.received.length === 1);
        await first.stop();
        const second = await start();
        try {
          await second.prepared;
          const { key } = tenant;
          const call = (path: string, init: RequestInit = {}) =>
            fetch(`${second.baseUrl}${path}`, {
              ...init,
              headers: {
                authorization: `Bearer ${key}`,
                'content-type': 'application/json',
                ...init.headers,
              },
            });
          const again = await call('/api/v1/cards', {
            method: 'POST',
            body: JSON.stringify(order.body),
            headers: order.headers,
          });
          const repeated: unknown = await again.json();
          expect(repeated).to.deep.equal({
            ...sent.body,
            url: sent.text.includes(first.baseUrl) ? `${second.baseUrl}/cards/${sent.id}` : null,
          });
          const list = await eventually(async () => {
            const body: unknown = await (await call('/api/v1/cards')).json();
            return typeof body === 'object' &&
              body !== null &&
              'data' in body &&
              Array.isArray(body.data) &&
              body.data.length > 0
              ? body.data
              : null;
          });
          expect(list.map((row: { readonly id: string }) => row.id)).to.deep.equal([sent.id]);
          expect(await (await call('/api/v1/credits')).json()).to.include({ balance: 9 });
        } finally {
          await second.stop();
        }
        expect(receiver.received.length).to.equal(1);
      } finally {
        await receiver.close();
        await wiring.clear();
        await rm(directory, { recursive: true, force: true });
      }
    });
  }
});
