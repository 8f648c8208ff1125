import { expect } from 'chai';
import {
  aCard,
  startTestService,
  type Client,
  type Fields,
  type Reply,
  type RunningService,
} from '../support/http/service.js';

const nowhere = '00000000-0000-4000-8000-000000000000';
const refusal = ({ status, code, param }: Reply): unknown[] => [status, code, param];

describe('the books of an organization, over HTTP,', () => {
  let service: RunningService;
  let operator: Client;
  before(async () => {
    service = await startTestService();
    ({ operator } = service);
  });
  after(() => service.stop());

  const at = (org: string, path = ''): string => `/operator/v1/organizations/${org}${path}`;
  const headOf = async (): Promise<string> =>
    String((await operator('/operator/v1/anchor')).body['position']);

  /** An organization that bought, sent two cards, cancelled one, and gave some back. */
  const anOrganization = async () => {
    const tenant = await service.tenant({ credits: 0 });
    const { org, api } = tenant;
    await operator(at(org, '/credits'), { body: { amount: 9, reference: '=1+1', reason: 'March, "paid"' } });
    const send = async () => (await api('/api/v1/cards', { body: aCard({ arrive_on: '2099-01-01' }) })).id;
    const [cancelled] = [await send(), await send()];
    const between = await headOf();
    await api(`/api/v1/cards/${cancelled}`, { method: 'DELETE' });
    await operator(at(org, '/credits/withdraw'), { body: { amount: 3, reason: 'refund' } });
    return { ...tenant, cancelled, between };
  };

  it('add up, for all time and for a period', async () => {
    const { org, between } = await anOrganization();
    const { status, body } = await operator(at(org, '/reconciliation'));
    const { purchases, withdrawals, ...sums } = body;
    expect(status).to.equal(200);
    expect(sums).to.deep.equal({
      object: 'reconciliation',
      organization: org,
      from: null,
      to: null,
      opening: 0,
      purchased: 9,
      withdrawn: 3,
      spent: 2,
      returned: 1,
      closing: 5,
      cards: { paid: 2, cancelled: 1, failed: 0, held: 0, void: 0 },
      open: [],
      findings: [],
    });
    const [purchase] = purchases as Fields[];
    const [withdrawal] = withdrawals as Fields[];
    expect(purchase).to.deep.include({ amount: 9, reference: '=1+1', reason: 'March, "paid"' });
    expect(withdrawal).to.deep.include({ amount: 3, reference: null, reason: 'refund' });
    const before = (await operator(at(org, `/reconciliation?to=${between}`))).body;
    const after = (await operator(at(org, `/reconciliation?from=${between}`))).body;
    expect([
      before['closing'],
      before['returned'],
      after['opening'],
      after['spent'],
      after['closing'],
    ]).to.deep.equal([7, 0, 7, 0, 5]);
    const none = (await operator(at(org, '/reconciliation?to=2001-01-01'))).body;
    expect([none['opening'], none['closing'], none['purchases']]).to.deep.equal([0, 0, []]);
  });

  it('are CSV for who asks for it, and hold no formula', async () => {
    const { org } = await anOrganization();
    const read = (accept: string) => operator(at(org, '/reconciliation'), { headers: { accept } });
    const csv = await read('text/csv');
    expect(csv.headers.get('content-type')).to.equal('text/csv; charset=utf-8');
    const lines = csv.text.split('\r\n');
    expect(lines[0]).to.equal('line,amount,at,position,reference,reason,actor,subject,message');
    expect(lines.map((line) => line.split(',').slice(0, 2).join(' '))).to.deep.equal([
      'line amount',
      'opening 0',
      'purchase 9',
      'purchased 9',
      'withdrawal 3',
      'withdrawn 3',
      'spent 2',
      'returned 1',
      'closing 5',
      'cards paid 2',
      'cards cancelled 1',
      'cards failed 0',
      'cards held 0',
      'cards void 0',
      '',
    ]);
    expect(lines[2]).to.match(/,'=1\+1,"March, ""paid""",operator\b/);
    for (const accept of ['*/*', 'application/json', 'text/csv;q=0.5, application/json', 'text/csv;q=0'])
      expect((await read(accept)).headers.get('content-type'), accept).to.match(/^application\/json/);
    expect((await read('text/csv, application/json;q=0.9')).headers.get('content-type')).to.match(
      /^text\/csv/,
    );
  });

  it('refuse a moment that is none, and an organization that is none', async () => {
    const { org } = await service.tenant();
    const beyond = (BigInt(await headOf()) + 1_000_000n).toString();
    for (const [name, value] of [
      ['from', 'yesterday'],
      ['to', '2026-02-30T99:00'],
      ['to', beyond],
    ])
      expect(refusal(await operator(at(org, `/reconciliation?${name}=${value}`)))).to.deep.equal([
        400,
        'invalid_parameter',
        name,
      ]);
    expect(refusal(await operator(at(nowhere, '/reconciliation')))).to.deep.equal([404, 'not_found', null]);
  });

  it('are shown to their owner line by line, without the names of operators', async () => {
    const { api, org, keyId, withScopes } = await anOrganization();
    const { rows } = await api('/api/v1/credits/movements');
    expect(rows.map(({ kind, change, actor }) => [kind, change, actor])).to.deep.equal([
      ['withdrawal', -3, { kind: 'operator', id: null }],
      ['return', 1, { kind: 'key', id: keyId }],
      ['spend', -1, { kind: 'key', id: keyId }],
      ['spend', -1, { kind: 'key', id: keyId }],
      ['purchase', 9, { kind: 'operator', id: null }],
    ]);
    const own = await operator(at(org, '/credits/movements'));
    const withoutActor = (all: readonly Fields[]) => all.map((row) => ({ ...row, actor: null }));
    expect(withoutActor(rows)).to.deep.equal(withoutActor(own.rows));
    const page = await api('/api/v1/credits/movements?limit=2');
    expect([page.rows.length, page.body['next_cursor']]).to.deep.equal([2, '3']);
    const rest = await api('/api/v1/credits/movements?limit=2&starting_after=1');
    expect(rest.rows.map(({ revision }) => revision)).to.deep.equal(['0']);
    expect(refusal(await api('/api/v1/credits/movements?starting_after=9'))).to.deep.equal([
      400,
      'invalid_cursor',
      'starting_after',
    ]);
    const other = await withScopes('cards:send');
    expect(refusal(await other('/api/v1/credits/movements'))).to.deep.equal([403, 'missing_scope', null]);
    expect(
      (await (await service.tenant({ credits: 0 })).api('/api/v1/credits/movements')).rows,
    ).to.deep.equal([]);
  });
});
