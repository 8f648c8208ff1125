import { once } from 'node:events';
import { request, type ClientRequest, type IncomingMessage } from 'node:http';
import { expect } from 'chai';
import { eventually } from '../support/time/eventually.js';
import { startTestService, type RunningService, type Tenant } from '../support/http/service.js';

describe('the streams of an organization', () => {
  let service: RunningService;
  before(async () => {
    service = await startTestService();
  });
  after(() => service.stop());

  const open = async (
    { key }: Pick<Tenant, 'key'>,
    path = '/api/v1/events',
  ): Promise<readonly [ClientRequest, IncomingMessage]> => {
    const headers = { authorization: `Bearer ${key}`, accept: 'text/event-stream' };
    const sent = request(`${service.baseUrl}${path}`, { agent: false, headers }).end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    sent.on('error', () => undefined);
    return [sent, response];
  };
  const follow = async (
    tenant: Pick<Tenant, 'key'>,
    path?: string,
  ): Promise<readonly [ClientRequest, number]> => {
    const [sent, { statusCode }] = await open(tenant, path);
    return [sent, statusCode ?? 0];
  };

  it('end when it is suspended', async () => {
    const tenant = await service.tenant();
    const [, response] = await open(tenant);
    const ended = once(response.resume(), 'end');
    const path = `/operator/v1/organizations/${tenant.org}`;
    await service.operator(path, { method: 'PATCH', body: { suspended: true } });
    await ended;
    expect(response.statusCode).to.equal(200);
  });

  it('are a hundred at most, while others follow theirs, and a place is free once one has ended', async () => {
    const tenant = await service.tenant();
    const all = await Promise.all(Array.from({ length: 100 }, () => follow(tenant)));
    expect(new Set(all.map(([, status]) => status))).to.deep.equal(new Set([200]));
    const [refused, status] = await follow(tenant);
    const [others, statusOfOthers] = await follow(await service.tenant());
    expect([status, statusOfOthers]).to.deep.equal([429, 200]);
    all[0]?.[0].destroy();
    const last = await eventually(async () => {
      const [again, now] = await follow(tenant);
      if (now === 200) return again;
      again.destroy();
      return null;
    });
    for (const sent of [last, refused, others, ...all.map(([each]) => each)]) sent.destroy();
  });

  it('are ten at most of deliveries, which leave those of events their places', async () => {
    const tenant = await service.tenant();
    const path = '/api/v1/deliveries/stream';
    const all = await Promise.all(Array.from({ length: 11 }, () => follow(tenant, path)));
    const events = await follow(tenant);
    const statuses = [...all, events].map(([, status]) => status);
    expect(statuses.toSorted((a, b) => a - b)).to.deep.equal([...Array.from({ length: 11 }, () => 200), 429]);
    expect(events[1]).to.equal(200);
    for (const [sent] of [...all, events]) sent.destroy();
  });

  it('are as many at most for operators: a hundred of the log each, and ten of the deliveries of one', async () => {
    const { org } = await service.tenant();
    const operator = { key: service.operatorToken };
    const ofDeliveries = `/operator/v1/organizations/${org}/deliveries/stream`;
    for (const [path, most] of [
      ['/operator/v1/events', 100],
      [ofDeliveries, 10],
    ] as const) {
      const all = await Promise.all(Array.from({ length: most + 1 }, () => follow(operator, path)));
      const refused = all.filter(([, status]) => status === 429);
      expect([refused.length, all.filter(([, status]) => status === 200).length]).to.deep.equal([1, most]);
      for (const [sent] of all) sent.destroy();
    }
  });

  it('are refused before their requests are looked at any further', async () => {
    const tenant = await service.tenant();
    const all = await Promise.all(Array.from({ length: 100 }, () => follow(tenant)));
    const [refused, status] = await follow(tenant, '/api/v1/events?starting_after=evt_unknown');
    expect(status).to.equal(429);
    for (const sent of [refused, ...all.map(([each]) => each)]) sent.destroy();
  });
});
