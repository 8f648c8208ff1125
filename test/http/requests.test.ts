import { expect } from 'chai';
import { z } from 'zod';
import {
  aCard,
  clientOf,
  startTestService,
  type Client,
  type Fields,
  type Reply,
  type RunningService,
} from '../support/http/service.js';
import { memberOf, operatorOf } from '../support/http/visitor.js';
import { eventually } from '../support/time/eventually.js';

const idOf = ({ headers }: Reply): string => headers.get('x-request-id') ?? '';

describe('GET /operator/v1/requests/{id}', () => {
  let service: RunningService;
  let operator: Client;
  before(async () => {
    service = await startTestService();
    ({ operator } = service);
  });
  after(() => service.stop());

  const show = (id: string): Promise<Reply> => operator(`/operator/v1/requests/${id}`);

  it('shows who asked for what, how it ended, and what it wrote', async () => {
    const { api, org, keyId } = await service.tenant();
    const sent = await api('/api/v1/cards', {
      body: aCard({ arrive_on: '2099-01-01' }),
      headers: { 'idempotency-key': 'one' },
    });
    const { body } = await show(idOf(sent));
    const { rows } = await operator(`/operator/v1/cards/${sent.id}/history`);
    const { at, ms, wrote, events, address, ...rest } = body;
    const { order } = z.object({ order: z.object({ request: z.string() }) }).parse(rows[0]?.['data']);
    expect(rest).to.deep.equal({
      object: 'request',
      id: idOf(sent),
      method: 'POST',
      route: '/api/v1/cards',
      status: 201,
      code: null,
      actor: { kind: 'key', id: keyId },
      organization: org,
      idempotency_key: order.request,
      subjects: [],
    });
    expect(order.request).to.have.length(43);
    expect([typeof ms, String(address)]).to.deep.equal(['number', '127.0.0.1']);
    expect(at).to.match(/\+00:00$/);
    const shown = events as Fields[];
    expect(shown.map(({ stream, type }) => [stream, type])).to.have.deep.members([
      [`credits-${org}`, 'CreditSpent'],
      [`card-${sent.id}`, 'CardScheduled'],
    ]);
    const own = shown.find(({ type }) => type === 'CardScheduled');
    expect([own?.['position'], rows[0]?.['request_id']]).to.deep.equal([rows[0]?.['position'], idOf(sent)]);
    expect(wrote).to.deep.equal(shown.map(({ position }) => position));
  });

  it('tells who has asked for a card: operators, an export, people in the console, and not API keys', async () => {
    const { api, org } = await service.tenant();
    const { id: card } = await api('/api/v1/cards', { body: aCard({ arrive_on: '2099-01-01' }) });
    const { id: other } = await api('/api/v1/cards', { body: aCard({ arrive_on: '2099-01-01' }) });
    await api(`/api/v1/cards/${card}`);
    await operator(`/operator/v1/cards/${other}`);
    const read = await operator(`/operator/v1/cards/${card.toLowerCase()}`);
    await operator(`/operator/v1/cards/${card}/history`);
    const exported = await fetch(`${service.baseUrl}/operator/v1/exports?card=${card}&personal=include`, {
      headers: { authorization: `Bearer ${service.operatorToken}` },
    });
    await exported.text();
    const owner = await memberOf(service, org, 'owner');
    await owner.get(`/cards/${card}`);
    await owner.get(`/cards/${other}`);
    // Whoever is not let in has read nothing.
    await fetch(`${service.baseUrl}/cards/${card}`, { redirect: 'manual' });
    const about = (subject: string, more = '') => operator(`/operator/v1/requests?subject=${subject}${more}`);
    const rows = await eventually(async () => {
      const found = (await about(card)).rows;
      return found.length === 4 && found;
    });
    expect(rows.map(({ route, subjects }) => [route, subjects])).to.deep.equal([
      ['/cards/{code}', [card]],
      ['/operator/v1/exports', [card]],
      ['/operator/v1/cards/{card_code}/history', [card]],
      ['/operator/v1/cards/{card_code}', [card]],
    ]);
    expect(rows[3]?.['id']).to.equal(idOf(read));
    expect(rows.map(({ actor }) => (actor as Fields)['kind'])).to.deep.equal([
      'member',
      'operator',
      'operator',
      'operator',
    ]);
    const first = await about(card, '&limit=3');
    const next = await about(card, `&limit=3&starting_after=${String(first.body['next_cursor'])}`);
    expect([first.rows, next.rows].flat()).to.deep.equal(rows);
    expect((await about(card, '&starting_after=req_nothing')).code).to.equal('invalid_cursor');
    expect((await about('Xanthippe')).rows).to.deep.equal([]);
    expect((await about(org)).rows.length).to.be.above(0);
    const staff = await operatorOf(service);
    const page = await staff.get(`/console/${org}/requests?q=${card}`);
    expect(page.text).to.include('Requests about it').and.include('/operator/v1/cards/{card_code}/history');
    const links = [...page.text.matchAll(/href="([^"]*q=req_[^"]*)">([^<]*)</g)];
    expect(links.length).to.be.at.least(4);
    for (const [, to = '', name = ''] of links)
      expect((await staff.get(to)).text, to).to.include(`<h2 id="request">${name}</h2>`);
    for (let reads = 0; reads < 50; reads += 1) await owner.get(`/cards/${card}`);
    const all = await eventually(async () => {
      const { text } = await staff.get(`/console/${org}/requests?q=${card}`);
      return text.includes('before=req_') && text;
    });
    const older = /href="([^"]*before=req_[^"]*)"/.exec(all)?.[1] ?? '';
    expect((await staff.get(older.replaceAll('&amp;', '&'))).text).to.include('/operator/v1/exports');
    const { org: another } = await service.tenant();
    const stranger = await memberOf(service, another, 'owner', 'stranger@example.com');
    const { text } = await stranger.get(`/console/${another}/requests?q=${card}`);
    expect(text).to.include('No such request').and.not.include('before=');
    const before = /before=(req_\w+)/.exec(older)?.[1];
    const pages = [before, 'req_nothing'].map((id) =>
      stranger.get(`/console/${another}/requests?q=${card}&before=${id}`),
    );
    const [known, unknown] = await Promise.all(pages);
    expect(known?.status).to.equal(unknown?.status);
  });

  it('keeps refusals and reads, too, and no key that was sent', async () => {
    const { api, key } = await service.tenant();
    const wrong = `hck_${'0'.repeat(43)}`;
    const refused = await clientOf(service.baseUrl, wrong)('/api/v1/account');
    const shown = await show(idOf(refused));
    expect([
      shown.body['status'],
      shown.body['code'],
      shown.body['actor'],
      shown.body['wrote'],
    ]).to.deep.equal([401, 'invalid_key', null, []]);
    const read = await api('/api/v1/cards/HC-0000000');
    const looked = await show(idOf(read));
    expect([looked.body['route'], looked.body['status'], looked.body['code']]).to.deep.equal([
      '/api/v1/cards/{card_code}',
      404,
      'card_not_found',
    ]);
    expect(shown.text + looked.text)
      .not.to.include(wrong)
      .and.not.to.include(key);
    const own = await show(idOf(looked));
    expect([own.body['actor'], own.body['route']]).to.deep.equal([
      { kind: 'operator', id: 'root' },
      '/operator/v1/requests/{request_id}',
    ]);
  });

  it('has a request for every request id in the log', async () => {
    const { api } = await service.tenant();
    const { id } = await api('/api/v1/cards', { body: aCard({ arrive_on: '2099-01-01' }) });
    await operator(`/operator/v1/cards/${id}/hold`, { body: { reason: 'why' } });
    const { text } = await operator('/operator/v1/events?until=head', {
      headers: { accept: 'application/jsonl' },
    });
    const ids = new Set(
      text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { readonly metadata: { readonly requestId: string | null } })
        .flatMap(({ metadata: { requestId } }) => requestId ?? []),
    );
    expect(ids.size).to.be.above(5);
    for (const requestId of ids) expect((await show(requestId)).status, requestId).to.equal(200);
    const unknown = await show('req_nothing');
    expect([unknown.status, unknown.code]).to.deep.equal([404, 'not_found']);
  });
});
