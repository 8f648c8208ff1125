import { expect } from 'chai';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { scopes } from '../../domain/api-key.js';
import { eventually } from '../support/time/eventually.js';
import { authority, receiverSettings, startReceiver, type Receiver } from '../support/http/receiver.js';
import { aCard, clientOf, type Client } from '../support/http/service.js';
import { standsStill } from '../support/servers/stopped.js';

const program = join(import.meta.dirname, '../../bin/serve.js');

interface Running {
  readonly child: ChildProcess;
  readonly url: string;
  readonly operator: Client;
}

const start = async (directory: string): Promise<Running> => {
  const environment = {
    ...receiverSettings,
    PORT: '0',
    DATA_DIR: directory,
    DEMO: 'off',
    LOG_LEVEL: 'silent',
    NODE_EXTRA_CA_CERTS: join(directory, 'authority.pem'),
  };
  const child = spawn(process.execPath, [program], {
    env: environment,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  const url = /http:\/\/\S+/.exec(line)?.[0] ?? '';
  const token = (await readFile(join(directory, 'operator.token'), 'utf8')).trim();
  return { child, url, operator: clientOf(url, token) };
};

const kill = async ({ child }: Running): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
};

describe('a service that is killed while it delivers', () => {
  let directory: string;
  let receiver: Receiver;
  let running: Running;
  let base: string;
  let key: string;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'cards-crash-'));
    await writeFile(join(directory, 'authority.pem'), authority.cert);
    receiver = await startReceiver();
  });
  after(async () => {
    await kill(running);
    await receiver.close();
    await rm(directory, { recursive: true, force: true });
  });

  it('between the 2xx and its record repeats only that delivery, with the same id and attempt number', async () => {
    running = await start(directory);
    const org = (await running.operator('/operator/v1/organizations', { body: { name: 'Acme' } })).id;
    base = `/operator/v1/organizations/${org}`;
    await running.operator(`${base}/credits`, { body: { amount: 10 } });
    await running.operator(`${base}/designs`, { body: { name: 'Thanks' } });
    key = String((await running.operator(`${base}/keys`, { body: { scopes } })).body['key']);
    await clientOf(running.url, key)('/api/v1/webhooks', { body: { url: receiver.url } });

    const { child } = running;
    receiver.answer = (response) => {
      // The service is paused before the response is sent: the kernel receives it, and the service never
      // reads it.
      child.kill('SIGSTOP');
      void eventually(() => standsStill(child)).then(() => response.end(() => child.kill('SIGKILL')));
    };
    const sent = clientOf(running.url, key)('/api/v1/cards', { body: aCard() }).catch(() => null);
    await once(child, 'exit');
    await sent;
    expect(receiver.received).to.have.length(1);

    receiver.answer = 200;
    running = await start(directory);
    const [row] = await eventually(async () => {
      const { rows } = await running.operator(`${base}/deliveries?status=delivered`);
      return rows.length === 1 && rows;
    });
    expect(row?.['attempts']).to.have.length(1);
    expect(receiver.received.map(({ headers }) => headers['service-delivery'])).to.deep.equal([
      row?.['id'],
      row?.['id'],
    ]);
    expect(new Set(receiver.received.map(({ body }) => body)).size).to.equal(1);

    await clientOf(running.url, key)('/api/v1/cards', { body: aCard({ reference: 'after' }) });
    await eventually(() => receiver.received.length === 3);
  });

  it('by SIGTERM waits briefly for a receiver that does not respond, and repeats that delivery after the next start', async () => {
    const before = receiver.received.length;
    receiver.answer = () => undefined;
    await clientOf(running.url, key)('/api/v1/cards', { body: aCard({ reference: 'hanging' }) });
    await eventually(() => receiver.received.length === before + 1);
    running.child.kill('SIGTERM');
    const [code] = (await once(running.child, 'exit')) as [number | null];
    // A process that is still there after 9.5 s ends with another code.
    expect(code).to.equal(0);

    receiver.answer = 200;
    running = await start(directory);
    await eventually(() => receiver.received.length === before + 2);
    const [first, second] = receiver.received.slice(before);
    expect(second?.headers['service-delivery']).to.equal(first?.headers['service-delivery']);
    await eventually(
      async () =>
        (await running.operator(`${base}/deliveries?limit=1&status=delivered`)).rows[0]?.['id'] ===
        first?.headers['service-delivery'],
    );
    const [row] = (await running.operator(`${base}/deliveries?limit=1`)).rows;
    expect(row?.['attempts']).to.have.length(1);
  });
});
