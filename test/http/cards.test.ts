import { expect } from 'chai';
import { aCard, startTestService, type RunningService } from '../support/service.js';

describe('POST /api/v1/cards', () => {
  let service: RunningService;
  before(async () => {
    service = await startTestService();
  });
  after(() => service.stop());

  it('sends a card, spends one credit, and shows it in lookup and list', async () => {
    const { api, balance } = await service.tenant({ credits: 3 });
    const sent = await api('/api/v1/cards', { body: aCard({ reference: 'order-1' }) });
    expect(sent.status).to.equal(201);
    expect(await balance()).to.equal(2);
    const found = await api(`/api/v1/cards/${sent.id}`);
    expect([found.status, found.body['status']]).to.deep.equal([200, 'pending']);
    const listed = await api('/api/v1/cards?reference=order-1');
    expect(listed.rows.map((row) => row['id'])).to.deep.equal([sent.id]);
  });
});
