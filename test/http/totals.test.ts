import { expect } from 'chai';
import { aCard, startTestService, type RunningService } from '../support/http/service.js';

describe('the business metrics', () => {
  let service: RunningService;
  before(async () => {
    service = await startTestService();
  });
  after(() => service.stop());

  it('count the cards of all organizations by status, and their credits', async () => {
    const [one, other] = [await service.tenant({ credits: 5 }), await service.tenant({ credits: 7 })];
    const sent = await one.api('/api/v1/cards', { body: aCard({ arrive_on: '2099-01-01' }) });
    const cancelled = await other.api('/api/v1/cards', { body: aCard({ arrive_on: '2099-01-01' }) });
    await other.api(`/api/v1/cards/${cancelled.id}`, { method: 'DELETE' });
    await one.api('/api/v1/cards', { body: aCard({ arrive_on: '2099-01-01' }) });
    await service.operator(`/operator/v1/cards/${sent.id}/hold`, { body: { reason: 'to look at' } });
    // Lists and balances wait for the read models: from now on they have all of it.
    expect((await one.api('/api/v1/cards')).rows.length).to.equal(2);
    expect([await one.balance(), await other.balance()]).to.deep.equal([4, 7]);
    const { text } = await service.anonymous('/metrics');
    const shown = [
      ...text.matchAll(
        /^(cards_by_status\{status="(?:pending|blocked|cancelled)"\}|credits_outstanding) (\d+)$/gm,
      ),
    ];
    expect(Object.fromEntries(shown.map(([, name, value]) => [name, Number(value)]))).to.deep.equal({
      'cards_by_status{status="pending"}': 1,
      'cards_by_status{status="blocked"}': 1,
      'cards_by_status{status="cancelled"}': 1,
      credits_outstanding: 11,
    });
    expect(text).to.match(/^webhook_disabled_endpoints 0$/m);
  });
});
