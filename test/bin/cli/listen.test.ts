import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { SystemClock } from '../../../adapters/system/clock.js';
import { authority, receiverSettings, startReceiver, type Receiver } from '../../support/http/receiver.js';
import { aCard, startTestService, type RunningService, type Tenant } from '../../support/http/service.js';
import { start, type Running } from '../../support/servers/programs.js';
import { eventually } from '../../support/time/eventually.js';

const aLaterCard = aCard({ arrive_on: '2099-01-01' });

describe('webhook listen --endpoint', () => {
  let service: RunningService;
  let receiver: Receiver;
  let tenant: Tenant;
  let endpoint: string;
  const listeners: Running[] = [];
  const programs: Server[] = [];
  before(async () => {
    const settings = { ...receiverSettings, WEBHOOK_BACKOFF: '20ms', WEBHOOK_DISABLE_AFTER: '2' };
    service = await startTestService(settings, new SystemClock(), [authority.cert]);
  });
  beforeEach(async () => {
    receiver = await startReceiver();
    tenant = await service.tenant();
    endpoint = (await tenant.api('/api/v1/webhooks', { body: { url: receiver.url } })).id;
  });
  afterEach(async () => {
    for (const listener of listeners) listener.kill('SIGKILL');
    await Promise.all(listeners.splice(0).map(({ ended }) => ended));
    for (const program of programs.splice(0)) {
      program.closeAllConnections();
      program.close();
    }
    await receiver.close();
  });
  after(() => service.stop());

  /** The address of a program on this machine that responds so. */
  const aProgram = async (respond: (response: ServerResponse) => void): Promise<string> => {
    const program = createServer((request, response) => {
      request.resume();
      respond(response);
    }).listen(0, '127.0.0.1');
    programs.push(program);
    await once(program, 'listening');
    return `http://127.0.0.1:${(program.address() as AddressInfo).port}/`;
  };

  const listening = async (url: string): Promise<Running> => {
    const words = ['--endpoint', endpoint, '--forward-to', url];
    const settings = { BASE_URL: service.baseUrl, API_KEY: tenant.key };
    const listener = start('cli', ['webhook', 'listen', ...words], settings);
    listeners.push(listener);
    await eventually(() => /^Ready: /m.test(listener.out()));
    return listener;
  };

  const sendCard = () => tenant.api('/api/v1/cards', { body: aLaterCard });
  const timesIn = (listener: Running, pattern: RegExp): number =>
    [...listener.out().matchAll(pattern)].length;

  it('never counts against the endpoint: not what refuses, nor what is gone, nor a listener that dies', async () => {
    const refusing = await aProgram((response) => response.writeHead(500).end());
    const gone = await aProgram(() => undefined);
    const left = programs.pop();
    left?.close();
    let reached = 0;
    const silent = await aProgram(() => void reached++);
    const [refused, alone, dying] = await Promise.all([refusing, gone, silent].map(listening));
    for (const _ of [1, 2, 3]) await sendCard();
    await eventually(() => reached > 0);
    dying?.kill('SIGKILL');
    for (const _ of [1, 2, 3]) await sendCard();
    await eventually(
      () =>
        refused !== undefined &&
        alone !== undefined &&
        timesIn(refused, /forwarded to \S+: 500/g) === 6 &&
        timesIn(alone, /forwarded to \S+: .*ECONNREFUSED/g) === 6,
    );
    await eventually(() => receiver.received.length === 6);
    const { body } = await tenant.api(`/api/v1/webhooks/${endpoint}`);
    expect(body).to.include({ active: true, failure_count: 0, consecutive_failures: 0 });
  });

  it('goes on with an endpoint that its own address has switched off', async () => {
    receiver.answer = 503;
    const working = await aProgram((response) => response.writeHead(204).end());
    const listener = await listening(working);
    await sendCard();
    await eventually(async () => (await tenant.api(`/api/v1/webhooks/${endpoint}`)).body['active'] === false);
    const { id } = await sendCard();
    await eventually(() => timesIn(listener, /forwarded to \S+: 204/g) === 2);
    expect(listener.out()).to.match(
      new RegExp(`card\\.created ${id} dlv_\\w+ dropped: the endpoint is disabled: 2 failures in a row, `),
    );
  });
});
