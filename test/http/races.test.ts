import { expect } from 'chai';
import {
  aCard,
  startTestService,
  type Reply,
  type RunningService,
  type Tenant,
} from '../support/http/service.js';

const later = { arrive_on: '2099-01-01' };

/** How often each outcome occurred: an error code, or a status. */
const tally = (replies: readonly Reply[]): Readonly<Record<string, number>> => {
  const counts: Record<string, number> = {};
  for (const { status, code } of replies) counts[code ?? status] = (counts[code ?? status] ?? 0) + 1;
  return counts;
};

describe('requests at once', () => {
  let service: RunningService;
  before(async () => {
    service = await startTestService();
  });
  after(() => service.stop());

  const together = (count: number, ask: (at: number) => Promise<Reply>): Promise<readonly Reply[]> =>
    Promise.all(Array.from({ length: count }, (_, at) => ask(at)));
  const send = ({ api }: Tenant, changes: object = {}): Promise<Reply> =>
    api('/api/v1/cards', { body: aCard({ ...later, ...changes }) });
  const cancel = ({ api }: Tenant, id: string): Promise<Reply> =>
    api(`/api/v1/cards/${id}`, { method: 'DELETE' });

  it('spend no more credits than there are: 100 sends on a balance of 1', async () => {
    const tenant = await service.tenant({ credits: 1 });
    expect(tally(await together(100, () => send(tenant)))).to.deep.equal({ 201: 1, no_credits: 99 });
    expect([await tenant.balance(), (await tenant.api('/api/v1/cards')).rows.length]).to.deep.equal([0, 1]);
  });
  it('spend one credit per card, but none for held cards, if there are enough', async () => {
    const tenant = await service.tenant({ credits: 60 });
    const replies = await together(100, (at) => send(tenant, at % 2 === 0 ? {} : { message: '🎉' }));
    expect([tally(replies), await tenant.balance()]).to.deep.equal([{ 201: 100 }, 10]);
    expect(new Set(replies.map(({ id }) => id)).size).to.equal(100);
    const listed = (await tenant.api('/api/v1/cards?limit=200')).rows.map((row) => row['id']);
    expect(new Set(listed)).to.deep.equal(new Set(replies.map(({ id }) => id)));
  });
  it('return one credit: 100 cancels of one card', async () => {
    const tenant = await service.tenant({ credits: 1 });
    const { id } = await send(tenant);
    const replies = await together(100, () => cancel(tenant, id));
    expect(tally(replies)).to.deep.equal({ 200: 100 });
    expect(replies.filter(({ body }) => body['credits_refunded'] === 1).length).to.equal(1);
    expect(await tenant.balance()).to.equal(1);
  });
  it('leave every credit accounted for: sends, cancels, holds and releases', async () => {
    const tenant = await service.tenant({ credits: 20 });
    const cards = (await together(10, () => send(tenant))).map(({ id }) => id);
    const floor = (id: string, path: string, body?: object) =>
      service.operator(`/operator/v1/cards/${id}/${path}`, { method: 'POST', ...(body && { body }) });
    await together(100, (at) => {
      const id = cards[at % 10] ?? '';
      if (at < 40) return at % 3 === 0 ? cancel(tenant, id) : floor(id, 'hold', { reason: 'Wait' });
      return at < 80 ? floor(id, 'release') : send(tenant);
    });
    const { rows } = await tenant.api('/api/v1/cards?limit=200');
    const paid = rows.filter((row) => row['status'] === 'pending').length;
    expect(await tenant.balance()).to.equal(20 - paid);
  });
  it('copy a collection card only once', async () => {
    const tenant = await service.tenant({ credits: 50 });
    const replies = await together(30, () => send(tenant, { design_id: 'card:welcome-home' }));
    const used = await Promise.all(
      replies.map(async ({ id }) => (await service.operator(`/operator/v1/cards/${id}`)).body['design_id']),
    );
    expect([tally(replies), new Set(used).size]).to.deep.equal([{ 201: 30 }, 1]);
    expect((await tenant.api('/api/v1/designs')).rows.map((row) => row['collection_slug'])).to.deep.equal([
      'welcome-home',
      null,
    ]);
  });
  it('show each write at once: list, lookup and balance after every response', async () => {
    const tenants = await Promise.all([1, 2, 3, 4].map(() => service.tenant({ credits: 10 })));
    await Promise.all(
      tenants.map(async (tenant) => {
        for (let left = 9; left >= 5; left--) {
          const { id } = await send(tenant);
          const [list, found, balance] = await Promise.all([
            tenant.api('/api/v1/cards?limit=1'),
            tenant.api(`/api/v1/cards/${id}`),
            tenant.balance(),
          ]);
          expect([list.rows[0]?.['id'], found.id, balance]).to.deep.equal([id, id, left]);
        }
      }),
    );
  });
  it('start a step only once', async () => {
    const tenant = await service.tenant();
    const { id } = await send(tenant);
    await service.operator(`/operator/v1/cards/${id}/queue`, { method: 'POST' });
    const start = () =>
      service.operator(`/operator/v1/cards/${id}/steps/card_stock_prepared`, {
        body: { status: 'in_progress' },
      });
    expect(tally(await together(20, start))).to.deep.equal({ 200: 1, invalid_transition: 19 });
  });
});
