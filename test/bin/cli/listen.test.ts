import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { SystemClock } from '../../../adapters/system/clock.js';
import { publicEventTypes } from '../../../domain/public-events.js';
import { spawnService } from '../../crash/service-process.js';
import { loadVerifier } from '../../support/examples/examples.js';
import { authority, receiverSettings, startReceiver, type Receiver } from '../../support/http/receiver.js';
import {
  aCard,
  clientsOf,
  startTestService,
  type RunningService,
  type Tenant,
} from '../../support/http/service.js';
import { freePort } from '../../support/servers/ports.js';
import { command, start, type Ended, type Running } from '../../support/servers/programs.js';
import { eventually } from '../../support/time/eventually.js';

const { verifyWebhook } = await loadVerifier();
const aLaterCard = aCard({ arrive_on: '2099-01-01' });

interface Got {
  readonly body: Buffer;
  readonly headers: IncomingHttpHeaders;
}

/** A program on this machine, with all that it got. */
interface Program {
  readonly url: string;
  readonly got: Got[];
}

/** The type of an event as a receiver with this secret reads it. Throws if the signature is wrong. */
const typeOf = ({ body, headers }: Got, secret: string): string =>
  verifyWebhook({ body, headers, secrets: [secret], now: Date.now() }).event.type;

const secretIn = (out: string): string => /^whsec_\S+$/m.exec(out)?.[0] ?? '';
const timesIn = (text: string, pattern: RegExp): number => [...text.matchAll(pattern)].length;

describe('webhook listen', () => {
  let service: RunningService;
  let receiver: Receiver;
  let tenant: Tenant;
  /** The user's configuration folder. */
  let config: string;
  const listeners: Running[] = [];
  const servers: Server[] = [];
  before(async () => {
    const settings = { ...receiverSettings, WEBHOOK_BACKOFF: '20ms', WEBHOOK_DISABLE_AFTER: '2' };
    service = await startTestService(settings, new SystemClock(), [authority.cert]);
  });
  beforeEach(async () => {
    receiver = await startReceiver();
    tenant = await service.tenant();
    config = mkdtempSync(join(tmpdir(), 'cards-config-'));
  });
  afterEach(async () => {
    for (const listener of listeners) listener.kill('SIGINT');
    await Promise.all(listeners.splice(0).map(({ ended }) => ended));
    for (const server of servers.splice(0)) {
      server.closeAllConnections();
      server.close();
    }
    await receiver.close();
    rmSync(config, { recursive: true });
  });
  after(() => service.stop());

  const aProgram = async (
    respond: (response: ServerResponse) => void = (response) => response.writeHead(204).end(),
  ): Promise<Program> => {
    const got: Got[] = [];
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        got.push({ body: Buffer.concat(chunks), headers: request.headers });
        respond(response);
      });
    }).listen(0, '127.0.0.1');
    servers.push(server);
    await once(server, 'listening');
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, got };
  };

  const environment = (key = tenant.key) => ({
    BASE_URL: service.baseUrl,
    API_KEY: key,
    XDG_CONFIG_HOME: config,
  });

  const listening = async (words: readonly string[] = [], settings = environment()): Promise<Running> => {
    const listener = start('cli', ['webhook', 'listen', ...words], settings);
    listeners.push(listener);
    await eventually(() => /^Ready: [^]*\n/m.test(listener.out()));
    return listener;
  };

  const interrupted = (listener: Running): Promise<Ended> => {
    listener.kill('SIGINT');
    return listener.ended;
  };

  const sendCard = async (): Promise<string> => (await tenant.api('/api/v1/cards', { body: aLaterCard })).id;

  it('shows events and signs them alike, whether an endpoint is registered or deleted meanwhile', async () => {
    const program = await aProgram();
    const listener = await listening(['--forward-to', program.url]);
    const secret = secretIn(listener.out());
    const first = await sendCard();
    const endpoint = (await tenant.api('/api/v1/webhooks', { body: { url: receiver.url } })).id;
    const second = await sendCard();
    await tenant.api(`/api/v1/webhooks/${endpoint}`, { method: 'DELETE' });
    const third = await sendCard();
    await eventually(() => timesIn(listener.out(), /forwarded to \S+: 204/g) === 3);
    for (const card of [first, second, third])
      expect(listener.out()).to.match(new RegExp(`^card\\.created ${card} evt_\\w+$`, 'm'));
    expect(program.got.map((one) => typeOf(one, secret))).to.deep.equal(Array(3).fill('card.created'));
    const { code, error } = await interrupted(listener);
    expect([code, error]).to.deep.equal([0, '']);
  });

  it('has one secret per key, the same in every run, in a file that only its owner may read', async () => {
    const other = await service.tenant();
    const runs = await Promise.all([listening(), listening(), listening([], environment(other.key))]);
    const again = await listening();
    const [first, second, others, later] = [...runs, again].map((run) => secretIn(run.out()));
    expect(first).to.match(/^whsec_/);
    expect([second, later]).to.deep.equal([first, first]);
    expect(others).not.to.equal(first);
    const folder = join(config, 'handwritten-cards');
    const files = readdirSync(folder).map((name) => join(folder, name));
    expect(files.map((file) => statSync(file).mode & 0o777)).to.deep.equal([0o600, 0o600]);
    expect(new Set(files.map((file) => readFileSync(file, 'utf8').trim()))).to.deep.equal(
      new Set([first, others]),
    );
  });

  it('does not begin where it cannot keep its secret', async () => {
    const { code, error } = await command(['webhook', 'listen'], {
      ...environment(),
      XDG_CONFIG_HOME: '/dev/null',
    });
    expect([code, error]).to.deep.equal([
      2,
      "The signing secret can't be kept: ENOTDIR: not a directory, mkdir '/dev/null/handwritten-cards'. Set XDG_CONFIG_HOME.\n",
    ]);
  });

  it('shows only the types of --events', async () => {
    const listener = await listening(['--events', 'card.cancelled,card.held']);
    const id = await sendCard();
    await tenant.api(`/api/v1/cards/${id}`, { method: 'DELETE' });
    await eventually(() => listener.out().includes(`card.cancelled ${id}`));
    expect(listener.out()).not.to.include('card.created');
    const { code, error } = await command(['webhook', 'listen', '--events', 'card.heled'], environment());
    expect([code, error]).to.deep.equal([
      2,
      'There is no event type card.heled. Did you mean card.held? The types are card.created, card.written, card.mailed, card.held, card.cancelled.\n',
    ]);
  });

  it('goes on when the service was away, and misses nothing that happened before it is back', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'cards-'));
    const port = await freePort();
    const begin = async () => {
      const started = spawnService(directory, port);
      await started.ready;
      return started;
    };
    let running = await begin();
    try {
      const operatorToken = readFileSync(join(directory, 'operator.token'), 'utf8').trim();
      const owner = await clientsOf({ baseUrl: running.url, operatorToken }).tenant();
      const send = async () => (await owner.api('/api/v1/cards', { body: aLaterCard })).id;
      const listener = await listening([], { ...environment(owner.key), BASE_URL: running.url });
      const sent = [await send()];
      await running.end('SIGTERM');
      await eventually(() => /was lost\. .*Trying again until Ctrl-C\.$/m.test(listener.out()));
      running = await begin();
      sent.push(await send());
      await eventually(() => listener.out().includes('The service is back.'));
      await running.end('SIGKILL');
      running = await begin();
      sent.push(await send());
      await eventually(() => sent.every((id) => listener.out().includes(`card.created ${id}`)));
      expect(timesIn(listener.out(), /^card\.created/gm)).to.equal(sent.length);
      await running.end('SIGKILL');
      await eventually(() => timesIn(listener.out(), /Trying again/g) === 3);
      expect((await interrupted(listener)).code).to.equal(0);
    } finally {
      await running.end('SIGKILL');
      rmSync(directory, { recursive: true });
    }
  });

  it('ends with a code that says why: a wrong key, a scope that is missing, no service, no key', async () => {
    const scopes = ['webhooks:manage'];
    const made = await service.operator(`/operator/v1/organizations/${tenant.org}/keys`, {
      body: { scopes },
    });
    const outcome = async (settings: Readonly<Record<string, string>>) => {
      const { code, error } = await command(['webhook', 'listen'], settings);
      return [code, error.replace(/[ :].*\n/, '')];
    };
    expect(await outcome(environment(`hck_${'x'.repeat(43)}`))).to.deep.equal([1, 'invalid_key']);
    expect(await outcome(environment(String(made.body['key'])))).to.deep.equal([1, 'missing_scope']);
    expect(await outcome({ ...environment(), BASE_URL: 'http://127.0.0.1:1' })).to.deep.equal([69, 'The']);
    expect(await outcome({ ...environment(), API_KEY: '' })).to.deep.equal([2, 'Give']);
    expect(readdirSync(config)).to.deep.equal([]);
  });

  describe('webhook trigger and webhook resend', () => {
    const webhook = (words: readonly string[], settings = environment()) =>
      command(['webhook', ...words], settings);

    it('reach every listener of the key, each in its own mode, and say what its program responded', async () => {
      const { id: endpoint } = await tenant.api('/api/v1/webhooks', { body: { url: receiver.url } });
      const other = await service.tenant();
      const [first, second, others] = await Promise.all([aProgram(), aProgram(), aProgram()]);
      const elsewhere = mkdtempSync(join(config, 'elsewhere-'));
      const [listener, ofEndpoint] = await Promise.all([
        listening(['--forward-to', first.url]),
        listening(['--endpoint', endpoint, '--forward-to', second.url], {
          ...environment(),
          XDG_CONFIG_HOME: elsewhere,
        }),
        listening(['--forward-to', others.url], environment(other.key)),
      ]);
      for (const type of publicEventTypes) {
        const { code, out } = await webhook(['trigger', type]);
        expect([
          code,
          out
            .replace(/\d+ ms/g, '… ms')
            .split('\n')
            .sort(),
        ]).to.deep.equal([
          0,
          ['', ...[first.url, second.url].sort().map((url) => `${type} forwarded to ${url}: 204 in … ms`)],
        ]);
      }
      for (const [program, { out }] of [
        [first, listener],
        [second, ofEndpoint],
      ] as const)
        expect(program.got.map((one) => typeOf(one, secretIn(out())))).to.deep.equal(publicEventTypes);
      expect(secretIn(ofEndpoint.out())).not.to.equal(secretIn(listener.out()));
      expect(others.got).to.deep.equal([]);
      expect(receiver.received).to.deep.equal([]);
    });

    it('give an event of before once more, as it was', async () => {
      const program = await aProgram();
      const listener = await listening(['--forward-to', program.url]);
      await sendCard();
      const [, event = ''] = await eventually(() => / (evt_\w+)\n {2}forwarded/.exec(listener.out()));
      expect((await webhook(['resend', event])).code).to.equal(0);
      const [one, again] = program.got;
      expect([String(again?.body), again?.headers['service-delivery']]).to.deep.equal([
        String(one?.body),
        one?.headers['service-delivery'],
      ]);
      expect((await webhook(['resend', 'evt_none'])).code).to.equal(1);
      const other = await service.tenant();
      expect((await webhook(['resend', event], environment(other.key))).error).to.match(/^not_found: /);
    });

    it('need no service while a listener runs', async () => {
      const program = await aProgram();
      await listening(['--forward-to', program.url]);
      const away = { ...environment(), BASE_URL: 'http://127.0.0.1:1' };
      expect((await webhook(['trigger', 'card.mailed'], away)).code).to.equal(0);
      expect(program.got).to.have.length(1);
    });

    it('end with a code that says why an event was not delivered', async () => {
      const outcome = async (words: readonly string[], settings = environment()) =>
        (await webhook(words, settings)).code;
      const trigger = ['trigger', 'card.held'];
      expect(await outcome(trigger)).to.equal(3);
      expect(await outcome(['trigger', 'card.lost'])).to.equal(2);
      expect(await outcome(trigger, environment(`hck_${'x'.repeat(43)}`))).to.equal(1);
      expect(await outcome(trigger, { ...environment(), BASE_URL: 'http://127.0.0.1:1' })).to.equal(69);
      const shown = await listening();
      expect(await outcome(trigger)).to.equal(0);
      await sendCard();
      const [, event = ''] = await eventually(() => /card\.created.* (evt_\w+)/.exec(shown.out()));
      await interrupted(shown);
      expect(await outcome(['resend', event])).to.equal(3);
      const leavesOut = await listening(['--events', 'card.mailed']);
      expect(await outcome(trigger)).to.equal(3);
      leavesOut.kill('SIGKILL');
      await leavesOut.ended;
      const { url } = await aProgram((response) => response.writeHead(500).end());
      const refusing = await listening(['--forward-to', url]);
      const { code, out, error } = await webhook([...trigger, '--json']);
      expect([code, JSON.parse(out)]).to.deep.equal([
        4,
        { ...(JSON.parse(out) as object), url, http_status: 500, error: null },
      ]);
      expect(error).to.match(/2xx/);
      expect(await outcome(['resend', event])).to.equal(4);
      await interrupted(refusing);
      expect(await outcome(trigger)).to.equal(3);
    });
  });

  describe('--endpoint', () => {
    let endpoint: string;
    beforeEach(async () => {
      endpoint = (await tenant.api('/api/v1/webhooks', { body: { url: receiver.url } })).id;
    });
    const forwarding = (url: string) => listening(['--endpoint', endpoint, '--forward-to', url]);

    it('passes deliveries on, signed with the secret of the listener', async () => {
      const program = await aProgram();
      const listener = await forwarding(program.url);
      await sendCard();
      const got = await eventually(() => program.got[0] ?? null);
      expect(typeOf(got, secretIn(listener.out()))).to.equal('card.created');
    });

    it('never counts against the endpoint: not what refuses, nor what is gone, nor a listener that dies', async () => {
      const refusing = await aProgram((response) => response.writeHead(500).end());
      const gone = await aProgram();
      servers.pop()?.close();
      const silent = await aProgram(() => undefined);
      const [refused, alone, dying] = await Promise.all(
        [refusing, gone, silent].map(({ url }) => forwarding(url)),
      );
      for (const _ of [1, 2, 3]) await sendCard();
      await eventually(() => silent.got.length > 0);
      dying?.kill('SIGKILL');
      for (const _ of [1, 2, 3]) await sendCard();
      await eventually(
        () =>
          refused !== undefined &&
          alone !== undefined &&
          timesIn(refused.out(), /forwarded to \S+: 500/g) === 6 &&
          timesIn(alone.out(), /forwarded to \S+: .*ECONNREFUSED/g) === 6,
      );
      await eventually(() => receiver.received.length === 6);
      const { body } = await tenant.api(`/api/v1/webhooks/${endpoint}`);
      expect(body).to.include({ active: true, failure_count: 0, consecutive_failures: 0 });
    });

    it('goes on with an endpoint that its own address has switched off', async () => {
      receiver.answer = 503;
      const { url } = await aProgram();
      const listener = await forwarding(url);
      await sendCard();
      await eventually(
        async () => (await tenant.api(`/api/v1/webhooks/${endpoint}`)).body['active'] === false,
      );
      const id = await sendCard();
      await eventually(() => timesIn(listener.out(), /forwarded to \S+: 204/g) === 2);
      expect(listener.out()).to.match(
        new RegExp(`card\\.created ${id} dlv_\\w+ dropped: the endpoint is disabled: 2 failures in a row, `),
      );
    });
  });
});
