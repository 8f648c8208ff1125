import { expect } from 'chai';
import {
  startTestService,
  aCard,
  type Client,
  type Reply,
  type RunningService,
  type Tenant,
} from '../support/http/service.js';

const refusal = ({ status, code, param }: Reply): unknown[] => [status, code, param];

describe('the list of all cards, for the operator,', () => {
  let service: RunningService;
  let operator: Client;
  let one: Tenant;
  let two: Tenant;
  /** By name, in the order in which they were sent. */
  const sent: Record<string, string> = {};
  before(async () => {
    service = await startTestService();
    ({ operator } = service);
    [one, two] = [await service.tenant(), await service.tenant()];
    const later = { arrive_on: '2099-01-01' };
    const send = async (name: string, by: Tenant, changes: object = {}): Promise<void> => {
      sent[name] = (await by.api('/api/v1/cards', { body: aCard({ ...later, ...changes }) })).id;
    };
    await send('held1', one, { message: 'For you 🎂' });
    await send('pending1', one, { reference: 'R1' });
    await send('pending2', two, { reference: 'R1' });
    await send('held2', two, { message: 'For you 🎂', reference: 'R1' });
    await send('cancelled1', one);
    await one.api(`/api/v1/cards/${sent['cancelled1']}`, { method: 'DELETE' });
    await send('queued2', two, { reference: 'R2' });
    await operator(`/operator/v1/cards/${sent['queued2']}/queue`, { method: 'POST' });
  });
  after(() => service.stop());

  const list = (query = ''): Promise<Reply> => operator(`/operator/v1/cards${query}`);
  const names = ({ rows }: Reply): unknown[] =>
    rows.map((row) => Object.keys(sent).find((name) => sent[name] === row['id']));

  it('has those that need a person first, then the newest', async () => {
    expect(names(await list())).to.deep.equal([
      'held2',
      'held1',
      'queued2',
      'cancelled1',
      'pending2',
      'pending1',
    ]);
  });
  it('shows whose a card is, and why it is held', async () => {
    const [row] = (await list()).rows;
    const { rows } = await two.api('/api/v1/cards?status=held');
    expect(row).to.deep.equal({ ...rows[0], organization: two.org, held_reason: row?.['held_reason'] });
    expect(row?.['held_reason']).to.include('🎂');
  });
  it('comes in pages that begin where the one before ended, also between those that wait and the others', async () => {
    for (const limit of [1, 2, 3, 4]) {
      const seen: unknown[] = [];
      for (let cursor = '', pages = 0; pages < 8; pages++) {
        const page = await list(`?limit=${limit}&starting_after=${cursor}`);
        seen.push(...names(page));
        const next = page.body['next_cursor'];
        if (typeof next !== 'string') break;
        cursor = next;
      }
      expect(seen, `limit ${limit}`).to.deep.equal(names(await list()));
    }
    for (const cursor of ['x', 'blocked:x', 'HC-0000000'])
      expect(refusal(await list(`?starting_after=${cursor}`))).to.deep.equal([
        400,
        'invalid_cursor',
        'starting_after',
      ]);
  });
  it('is filtered by status, organization and reference, and by all of them', async () => {
    const found = async (query: string) => names(await list(query));
    expect(await found('?status=pending')).to.deep.equal(['pending2', 'pending1']);
    expect(await found('?status=held')).to.deep.equal(['held2', 'held1']);
    expect(await found('?status=posted')).to.deep.equal([]);
    expect(await found('?reference=R1')).to.deep.equal(['held2', 'pending2', 'pending1']);
    expect(await found('?reference=R1&status=pending')).to.deep.equal(['pending2', 'pending1']);
    expect(await found(`?organization=${one.org}`)).to.deep.equal(['held1', 'cancelled1', 'pending1']);
    expect(await found(`?organization=${two.org}&reference=R1&status=blocked`)).to.deep.equal(['held2']);
    expect(await found('?organization=nobody')).to.deep.equal([]);
    expect(refusal(await list('?status=nonsense'))).to.deep.equal([400, 'invalid_parameter', 'status']);
    expect(refusal(await list('?state=held'))).to.deep.equal([400, 'invalid_parameter', 'state']);
  });
  it('agrees with the counts of cards by status', async () => {
    const { body } = await operator(`/operator/v1/organizations/${two.org}`);
    expect(body['cards']).to.deep.equal({
      pending: 1,
      queued: 1,
      in_production: 0,
      written: 0,
      packed: 0,
      posted: 0,
      blocked: 1,
      cancelled: 0,
      failed: 0,
    });
  });
});
