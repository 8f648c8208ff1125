import { expect } from 'chai';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { SystemClock } from '../../../adapters/system/clock.js';
import { publicEventTypes } from '../../../domain/public-events.js';
import { loadVerifier } from '../../support/examples/examples.js';
import { eventually } from '../../support/time/eventually.js';
import { authority, receiverSettings, startReceiver, type Receiver } from '../../support/http/receiver.js';
import { command, type Ended } from '../../support/servers/programs.js';
import {
  aCard,
  startTestService,
  type Fields,
  type RunningService,
  type Tenant,
} from '../../support/http/service.js';

const { verifyWebhook } = await loadVerifier();
const program = join(import.meta.dirname, '../../../bin/cli.js');

describe('the webhook and delivery commands', () => {
  let service: RunningService;
  let receiver: Receiver;
  let tenant: Tenant;
  let endpoint: string;
  let secret: string;
  before(async () => {
    service = await startTestService({ ...receiverSettings, WEBHOOK_BACKOFF: '20ms' }, new SystemClock(), [
      authority.cert,
    ]);
    receiver = await startReceiver();
    tenant = await service.tenant();
    const made = await tenant.api('/api/v1/webhooks', { body: { url: receiver.url } });
    [endpoint, secret] = [made.id, String(made.body['signing_secret'])];
  });
  after(async () => {
    await service.stop();
    await receiver.close();
  });

  const environment = () => ({ BASE_URL: service.baseUrl, DATA_DIR: service.dataDir });
  const cli = (...words: readonly string[]): Promise<Ended> => command(words, environment());

  it('list, test, enable, replay, retry and redrive', async () => {
    expect(
      JSON.parse((await cli('webhook', 'list', '--org', tenant.org, '--json')).out),
    ).to.have.nested.property('data[0].id', endpoint);
    expect(
      JSON.parse((await cli('webhook', 'test', endpoint, '--org', tenant.org, '--json')).out),
    ).to.include({ http_status: 200 });
    expect((await cli('webhook', 'enable', endpoint, '--org', tenant.org)).code).to.equal(0);
    expect((await cli('webhook', 'enable', 'nonsense', '--org', tenant.org)).code).to.equal(1);
    expect(
      JSON.parse(
        (await cli('webhook', 'replay', endpoint, '--org', tenant.org, '--from', '0', '--json')).out,
      ),
    ).to.deep.equal({ deliveries: 0 });
    expect((await cli('webhook', 'replay', endpoint, '--org', tenant.org)).code).to.equal(2);
    expect(
      JSON.parse((await cli('delivery', 'list', tenant.org, '--status', 'pending', '--json')).out),
    ).to.deep.include({ data: [] });
    expect((await cli('delivery', 'retry', 'dlv_none', '--org', tenant.org)).code).to.equal(1);
    expect(
      JSON.parse(
        (await cli('delivery', 'redrive', '--org', tenant.org, '--from', '2020-01-01', '--json')).out,
      ),
    ).to.deep.equal({ deliveries: 0 });
  });

  it('list dead letters and endpoints without an organization, and whose they are', async () => {
    const gone = await service.tenant();
    const { id } = await gone.api('/api/v1/webhooks', { body: { url: 'https://gone.invalid/' } });
    await gone.api('/api/v1/cards', { body: aCard() });
    const listed = async (...words: readonly string[]): Promise<readonly Fields[]> =>
      (JSON.parse((await cli(...words, '--json')).out) as { data: readonly Fields[] }).data;
    const [dead] = await eventually(async () => {
      const rows = await listed('delivery', 'list', '--status', 'exhausted');
      return rows.length > 0 ? rows : null;
    });
    expect(dead).to.include({ organization_id: gone.org, endpoint: id });
    const endpoints = await listed('webhook', 'list', '--limit', '200');
    expect(endpoints.find((row) => row['id'] === id)).to.include({ organization_id: gone.org, active: true });
    expect(endpoints.some((row) => row['id'] === endpoint)).to.equal(true);
    expect(await listed('webhook', 'list', '--active', 'false')).to.deep.equal([]);
    expect((await cli('delivery', 'list', '--status', 'pending')).code).to.equal(1);
  });

  it('show one delivery with its attempts', async () => {
    await tenant.api('/api/v1/cards', { body: aCard() });
    const first = await eventually(async () => {
      const { rows } = await tenant.api('/api/v1/deliveries?status=delivered');
      return rows[0] ?? null;
    });
    const id = String(first['id']);
    const { out } = await cli('delivery', 'show', id, '--org', tenant.org, '--json');
    expect(JSON.parse(out)).to.deep.equal(first);
    expect((await tenant.api(`/api/v1/deliveries/${id}`)).body).to.deep.equal(first);
    expect((await cli('delivery', 'show', id, '--org', tenant.org)).out).to.match(
      /^attempts\n {2}at +http_status +duration_ms +body\n/m,
    );
    expect((await cli('delivery', 'show', 'dlv_none', '--org', tenant.org)).code).to.equal(1);
  });

  it('test an endpoint with a made-up event of every type', async () => {
    for (const type of publicEventTypes) {
      const before = receiver.received.length;
      const words = ['webhook', 'test', endpoint, '--org', tenant.org, '--type', type];
      expect((await cli(...words)).code).to.equal(0);
      const { event } = verifyWebhook({
        body: Buffer.from(receiver.received[before]?.body ?? '', 'latin1'),
        headers: receiver.received[before]?.headers ?? {},
        secrets: [secret],
        now: Date.now(),
      });
      expect(event.type).to.equal(type);
    }
    const unknown = await cli('webhook', 'test', endpoint, '--org', tenant.org, '--type', 'card.lost');
    expect([unknown.code, /card\.mailed/.test(unknown.error)]).to.deep.equal([1, true]);
  });

  it('listen to one endpoint, and say when they are ready', async () => {
    const second = await tenant.api('/api/v1/webhooks', { body: { url: `${receiver.url}second` } });
    const words = ['webhook', 'listen', '--endpoint', second.id, '--org', tenant.org, '--json'];
    expect((await cli('webhook', 'listen', '--endpoint', 'none', '--org', tenant.org)).code).to.equal(2);
    const child = spawn(process.execPath, [program, ...words], { env: environment() });
    let [out, error] = ['', ''];
    child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (error += chunk.toString()));
    try {
      await eventually(() => error.includes(`Ready: deliveries to ${receiver.url}second are shown`));
      await eventually(async () => {
        await tenant.api('/api/v1/cards', { body: aCard() });
        return out.includes('"attempted"');
      });
      const heard = out
        .split('\n')
        .flatMap((line) => (line.endsWith('}') ? [JSON.parse(line) as Fields] : []));
      expect(new Set(heard.map(({ delivery }) => (delivery as Fields)['endpoint']))).to.deep.equal(
        new Set([second.id]),
      );
    } finally {
      child.kill('SIGINT');
      await once(child, 'exit');
      await tenant.api(`/api/v1/webhooks/${second.id}`, { method: 'DELETE' });
    }
  });

  it('ask for an organization or an API key', async () => {
    const { code, error } = await cli('webhook', 'listen');
    expect([code, /API_KEY/.test(error)]).to.deep.equal([2, true]);
  });

  it('accept only a URL as the address to forward to', async () => {
    for (const url of ['localhost:3000/hook', 'nonsense'])
      expect((await cli('webhook', 'listen', '--org', tenant.org, '--forward-to', url)).code).to.equal(2);
  });

  const ways = {
    'with the operator token': () => ({ words: ['--org', tenant.org], settings: environment() }),
    'with nothing but an API key': () => ({
      words: ['--endpoint', endpoint],
      settings: { BASE_URL: service.baseUrl, API_KEY: tenant.key, XDG_CONFIG_HOME: service.dataDir },
    }),
  };
  for (const [title, way] of Object.entries(ways))
    it(`show deliveries live and forward each, signed, ${title}`, async () => {
      const { words, settings } = way();
      const passedOn: string[] = [];
      let out = '';
      const local = createServer((request, response) => {
        const chunks: Buffer[] = [];
        request.on('data', (chunk: Buffer) => chunks.push(chunk));
        request.on('end', () => {
          const { event } = verifyWebhook({
            body: Buffer.concat(chunks),
            headers: request.headers,
            secrets: [/whsec_\S+/.exec(out)?.[0] ?? secret],
            now: Date.now(),
          });
          passedOn.push(event.type);
          response.writeHead(204).end();
        });
      });
      await new Promise<void>((resolve) => local.listen(0, '127.0.0.1', resolve));
      const url = `http://127.0.0.1:${(local.address() as AddressInfo).port}/hook`;
      const child = spawn(process.execPath, [program, 'webhook', 'listen', ...words, '--forward-to', url], {
        env: settings,
      });
      child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
      try {
        await eventually(async () => {
          await tenant.api('/api/v1/cards', { body: aCard() });
          return (
            /card\.created HC-\w+ dlv_\w+ delivered 200/.test(out) && out.includes(`forwarded to ${url}: 204`)
          );
        });
        expect(passedOn[0]).to.equal('card.created');
      } finally {
        child.kill('SIGINT');
        await once(child, 'exit');
        local.closeAllConnections();
        local.close();
      }
    });
});
