import { expect } from 'chai';
import { clientOf, startTestService, type RunningService } from '../support/http/service.js';

const allowed = { WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8', WEBHOOK_ALLOW_PORTS: '*' };

describe('the own-host rule', () => {
  const services: RunningService[] = [];
  const start = async (environment: Readonly<Record<string, string>>): Promise<RunningService> => {
    const service = await startTestService({ ...allowed, ...environment });
    services.push(service);
    return service;
  };
  after(() => Promise.all(services.map((service) => service.stop())));

  /** Calls the service at the address on which it listens, whatever its BASE_URL is. */
  const register = async ({ port, operatorToken }: RunningService, url: string) => {
    const address = `http://127.0.0.1:${port}`;
    const operator = clientOf(address, operatorToken);
    const { id } = await operator('/operator/v1/organizations', { body: { name: 'Acme' } });
    const { key } = (
      await operator(`/operator/v1/organizations/${id}/keys`, { body: { scopes: ['webhooks:manage'] } })
    ).body;
    const headers = { authorization: `Bearer ${String(key)}`, 'content-type': 'application/json' };
    const answer = await fetch(`${address}/api/v1/webhooks`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ url }),
    });
    return [answer.status, /"code":"(\w+)"/.exec(await answer.text())?.[1] ?? null];
  };

  it('refuses the host that the service listens on, on any port, if no BASE_URL is set', async () => {
    const service = await start({});
    expect(await register(service, 'https://127.0.0.1:9443/in')).to.deep.equal([422, 'invalid_url']);
    expect(await register(service, 'https://127.0.0.2:9443/in')).to.deep.equal([201, null]);
  });

  it('refuses the host of BASE_URL instead if it is set', async () => {
    const service = await start({ BASE_URL: 'https://cards.example.com' });
    expect(await register(service, 'https://cards.example.com:8443/in')).to.deep.equal([422, 'invalid_url']);
    expect(await register(service, 'https://127.0.0.1:9443/in')).to.deep.equal([201, null]);
  });
});
