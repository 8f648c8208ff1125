import { expect } from 'chai';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { requestsOfADrain, sendAll } from '../support/http/balanced.js';
import { aCard } from '../support/http/service.js';
import { describeWithEngines } from '../support/runner/engines.js';
import { distributedWiring } from '../support/runner/wiring.js';
import { freePort } from '../support/servers/ports.js';
import { eventually } from '../support/time/eventually.js';
import { operate, spawnService, type ServiceProcess } from './service-process.js';

describeWithEngines(['MONGODB_URL', 'RABBITMQ_URL'], 'a process on servers that is replaced', () => {
  let directory = '';
  let wiring: Awaited<ReturnType<typeof distributedWiring>>;
  const running: ServiceProcess[] = [];
  const start = async (): Promise<ServiceProcess> => {
    const environment = { ...wiring.environment, EVENTSTORE_PREFIX: wiring.namespace, DRAIN: '10m' };
    const service = spawnService(directory, await freePort(), [], { environment });
    running.push(service);
    await service.ready;
    await eventually(async () => (await fetch(`${service.url}/readyz`)).ok, { what: 'readiness' });
    return service;
  };
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'cards-'));
    wiring = await distributedWiring(directory);
  });
  after(async () => {
    for (const service of running) await service.end('SIGKILL');
    await wiring.clear();
    await rm(directory, { recursive: true, force: true });
  });

  it('loses no request while a balancer has not noticed yet that it stops, nor when it ends', async () => {
    const [old, next] = [await start(), await start()];
    const { id } = await operate(old, directory, '/organizations', { name: 'Acme' });
    const org = `/organizations/${String(id)}`;
    await operate(old, directory, `${org}/credits`, { amount: 1_000_000 });
    const scopes = ['cards:send', 'cards:read'];
    const { key } = await operate(old, directory, `${org}/keys`, { scopes });
    const count = requestsOfADrain;
    const answers = await sendAll({
      count,
      key: String(key),
      // The balancer notices half of all requests later.
      target: (number) => {
        if (number === count / 4) void old.end('SIGTERM');
        if (number === (count * 3) / 4) void old.end('SIGINT');
        return number % 3 > 0 && number < (count * 3) / 4 ? old.url : next.url;
      },
      what: (number) =>
        number % 20 === 0
          ? ['/api/v1/cards', aCard({ design_id: 'card:thank-you-classic' })]
          : number % 20 === 10
            ? ['/api/v1/cards']
            : ['/api/v1/account'],
    });
    expect(answers, JSON.stringify(answers)).to.deep.equal({ 200: (count * 19) / 20, 201: count / 20 });
    expect(await old.ended).to.equal(0);
  }).timeout(60_000 + 60 * requestsOfADrain);
});
