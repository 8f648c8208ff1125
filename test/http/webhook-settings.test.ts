import { expect } from 'chai';
import { SystemClock } from '../../adapters/system/clock.js';
import { authority, receiverSettings, startReceiver, type Receiver } from '../support/http/receiver.js';
import { aCard, startTestService, type RunningService } from '../support/http/service.js';
import { eventually } from '../support/time/eventually.js';

describe('webhooks with WEBHOOK_DELIVERY=off and WEBHOOK_ENDPOINTS=2', () => {
  let service: RunningService;
  let receiver: Receiver;
  before(async () => {
    const settings = { ...receiverSettings, WEBHOOK_DELIVERY: 'off', WEBHOOK_ENDPOINTS: '2' };
    service = await startTestService(settings, new SystemClock(), [authority.cert]);
    receiver = await startReceiver();
  });
  after(async () => {
    await service.stop();
    await receiver.close();
  });

  it('keeps deliveries, and sends nothing', async () => {
    const tenant = await service.tenant();
    const endpoint = await tenant.api('/api/v1/webhooks', { body: { url: receiver.url } });
    expect(endpoint.status).to.equal(201);
    for (const test of [
      await tenant.api(`/api/v1/webhooks/${endpoint.id}/test`, { body: {} }),
      await service.operator(`/operator/v1/organizations/${tenant.org}/webhooks/${endpoint.id}/test`, {
        body: {},
      }),
    ])
      expect(test.body).to.include({
        http_status: null,
        error: 'nothing is sent: WEBHOOK_DELIVERY is off',
      });
    await tenant.api('/api/v1/cards', { body: aCard() });
    const rows = await eventually(async () => {
      const log = await service.operator(`/operator/v1/organizations/${tenant.org}/deliveries`);
      return log.rows.length === 1 && log.rows;
    });
    expect(rows[0]).to.include({ status: 'pending' }).and.to.have.deep.property('attempts', []);
    expect(receiver.received).to.deep.equal([]);
  });

  it('refuses a third endpoint of an organization, but not a URL that it has already', async () => {
    const tenant = await service.tenant();
    const register = async (path: string) => {
      const { status, code } = await tenant.api('/api/v1/webhooks', { body: { url: receiver.url + path } });
      return code === null ? status : [status, code];
    };
    expect([await register('a'), await register('b')]).to.deep.equal([201, 201]);
    expect(await register('c')).to.deep.equal([422, 'too_many_endpoints']);
    expect(await register('b')).to.equal(200);
  });
});
