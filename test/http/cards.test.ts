import { expect } from 'chai';
import { settableClock } from '../support/http/http.js';
import {
  aCard,
  startTestService,
  type Fields,
  type Reply,
  type RunningService,
  type Tenant,
} from '../support/http/service.js';

const later = { arrive_on: '2026-06-10' };
const codeShape = /^HC-[0-9A-HJKMNP-TV-Z]{7}$/;

const ids = ({ rows }: Reply): unknown[] => rows.map((row) => row['id']);
const refusal = ({ status, code, param }: Reply): unknown[] => [status, code, param];

describe('cards', () => {
  let service: RunningService;
  const clock = settableClock('2026-03-02T15:00:00.250Z');
  before(async () => {
    service = await startTestService({}, clock);
  });
  after(() => service.stop());

  const send = async ({ api }: Tenant, changes: object = {}): Promise<Reply> => {
    const sent = await api('/api/v1/cards', { body: aCard({ ...later, ...changes }) });
    expect(sent.status, sent.text).to.equal(201);
    return sent;
  };
  const cancel = ({ api }: Tenant, id: string): Promise<Reply> =>
    api(`/api/v1/cards/${id}`, { method: 'DELETE' });
  const floor = async (id: string, path: string, body?: object): Promise<void> => {
    const done = await service.operator(`/operator/v1/cards/${id}/${path}`, {
      method: 'POST',
      ...(body && { body }),
    });
    expect(done.status, done.text).to.equal(200);
  };

  describe('POST /api/v1/cards', () => {
    it('returns the whole card as scheduled, and spends one credit', async () => {
      const tenant = await service.tenant({ credits: 3 });
      const sent = await send(tenant, { reference: 'order-1' });
      const { note, ...rest } = sent.body;
      expect(note).to.be.a('string').and.not.equal('');
      expect(rest).to.deep.equal({
        id: sent.id,
        object: 'card',
        status: 'scheduled',
        held_reason: null,
        recipient: { name: 'Ada Lovelace' },
        arrives_between: { earliest: '2026-06-06', latest: '2026-06-10' },
        reference: 'order-1',
        url: `${service.baseUrl}/cards/${sent.id}`,
      });
      expect(sent.id).to.match(codeShape);
      expect(sent.headers.has('idempotent-replay')).to.equal(false);
      expect(await tenant.balance()).to.equal(2);
    });
    it('shows the card at once in the lookup, in the list and on the floor', async () => {
      const tenant = await service.tenant();
      const { id } = await send(tenant, {
        reference: 'order-2',
        recipient: { ...Object(aCard()).recipient, line2: 'Apt 5' },
      });
      const card = {
        id,
        object: 'card',
        status: 'pending',
        recipient: {
          name: 'Ada Lovelace',
          line1: '12 Analytical Way',
          line2: 'Apt 5',
          city: 'Springfield',
          state: 'IL',
          zip: '62701',
          country: 'US',
        },
        arrives_between: { earliest: '2026-06-06', latest: '2026-06-10' },
        mailed_at: null,
        created_at: '2026-03-02T15:00:00.250+00:00',
        reference: 'order-2',
      };
      const whole = {
        ...card,
        held_reason: null,
        handwriting: 'Everyday',
        steps: [
          'card_stock_prepared',
          'card_written',
          'envelope_addressed',
          'packed',
          'stamped',
          'posted',
        ].map((step) => ({
          step,
          status: 'pending',
          completed_at: null,
        })),
        url: `${service.baseUrl}/cards/${id}`,
      };
      expect((await tenant.api(`/api/v1/cards/${id}`)).body).to.deep.equal(whole);
      expect((await tenant.api('/api/v1/cards')).rows).to.deep.equal([
        { ...card, recipient: { name: 'Ada Lovelace', city: 'Springfield', state: 'IL' } },
      ]);
      expect((await service.operator(`/operator/v1/cards/${id}`)).body).to.deep.equal({
        ...whole,
        organization: tenant.org,
        message: 'Thank you, Ada.',
        design_id: tenant.design,
        source: 'api',
      });
    });
    it('returns a held card with its reason, and charges nothing', async () => {
      const tenant = await service.tenant({ credits: 0 });
      const sent = await send(tenant, { message: 'Bravo 🎉' });
      expect([sent.body['status'], await tenant.balance()]).to.deep.equal(['held', 0]);
      const found = await tenant.api(`/api/v1/cards/${sent.id}`);
      expect([found.body['status'], found.body['held_reason']]).to.deep.equal([
        'blocked',
        sent.body['held_reason'],
      ]);
    });
    it('refuses with 402 on an empty balance, says what to do, and creates nothing', async () => {
      const tenant = await service.tenant({ credits: 1 });
      const { id } = await send(tenant);
      const refused = await tenant.api('/api/v1/cards', { body: aCard() });
      expect(refusal(refused)).to.deep.equal([402, 'no_credits', null]);
      expect(refused.body)
        .to.have.nested.property('error.message')
        .that.matches(/add credits/i);
      expect([await tenant.balance(), ids(await tenant.api('/api/v1/cards'))]).to.deep.equal([0, [id]]);
    });
    it('gives every card a code of its own', async () => {
      const tenant = await service.tenant();
      const codes = (await Promise.all(Array.from({ length: 50 }, () => send(tenant)))).map(({ id }) => id);
      expect(new Set(codes).size).to.equal(50);
      for (const code of codes) expect(code).to.match(codeShape);
    });
  });

  describe('GET /api/v1/cards/{card_code}', () => {
    it('normalizes the code', async () => {
      const { api, ...tenant } = await service.tenant();
      const { id } = await send({ api, ...tenant });
      const bare = id.slice(3);
      const typed = [
        id.toLowerCase(), `hC${bare}`, `HC--${bare}`, `HC%20${bare}`, `%20${id}%20`, `HC-${bare.slice(0, 3)}-${bare.slice(3)}`, `hc ${bare}`,
        id.replaceAll('0', 'O'), id.replaceAll('0', 'o').replaceAll('1', 'l'), id.replaceAll('1', 'I'),
      ]; // prettier-ignore
      for (const code of typed) {
        const found = await api(`/api/v1/cards/${code}`);
        expect([found.status, found.id], code).to.deep.equal([200, id]);
      }
    });
    it('responds with 404 if the code is unknown, mistyped or not a code', async () => {
      const { api, ...tenant } = await service.tenant();
      const { id } = await send({ api, ...tenant });
      const other = id.endsWith('A') ? 'B' : 'A';
      for (const code of [
        `${id.slice(0, -1)}${other}`,
        'HC-0000001',
        'nonsense',
        'XX-0000000',
        `${id}0`,
        id.slice(0, -1),
        'HC-UUUUUUU',
        '%zz',
        '%',
        '%E0%A4',
        'a%2Fb',
        `${id}%00`,
        '__proto__',
        'x'.repeat(2_000),
      ])
        for (const method of ['GET', 'DELETE'])
          expect(refusal(await api(`/api/v1/cards/${code}`, { method })).slice(0, 2), code).to.deep.equal([
            404,
            'card_not_found',
          ]);
      const mistyped = await api(`/api/v1/cards/${id.slice(0, -1)}${other}`);
      expect(mistyped.body)
        .to.have.nested.property('error.message')
        .that.matches(/mistyped/);
    });
    it('is refused with missing_id without a code, and so is DELETE', async () => {
      const { api } = await service.tenant();
      for (const path of [
        '/api/v1/cards/',
        '/api/v1/cards/%20',
        '/api/v1/cards/%20%09',
        '/api/v1/cards/?limit=5',
      ])
        for (const method of ['GET', 'DELETE'])
          expect(refusal(await api(path, { method })).slice(0, 2), `${method} ${path}`).to.deep.equal([
            400,
            'missing_id',
          ]);
    });
    it("does not find another organization's card, and neither does DELETE", async () => {
      const [mine, theirs] = [await service.tenant(), await service.tenant()];
      const { id } = await send(theirs);
      const missing = await mine.api('/api/v1/cards/HC-0000000');
      const foreign = await mine.api(`/api/v1/cards/${id}`);
      const cancelled = await cancel(mine, id);
      const plain = ({ status, body }: Reply) => [status, Object(body)['error'].code];
      expect([plain(foreign), plain(cancelled)]).to.deep.equal([plain(missing), plain(missing)]);
      expect([foreign.status, (await theirs.api(`/api/v1/cards/${id}`)).body['status']]).to.deep.equal([
        404,
        'pending',
      ]);
      expect([await mine.balance(), await theirs.balance()]).to.deep.equal([100, 99]);
    });
  });

  describe('DELETE /api/v1/cards/{card_code}', () => {
    const gone = (id: string, credits_refunded: number) => ({
      id,
      object: 'card',
      status: 'cancelled',
      cancelled: true,
      credits_refunded,
    });
    const cancelledAs = async (tenant: Tenant, id: string): Promise<Fields> => {
      const reply = await cancel(tenant, id);
      expect(reply.status, reply.text).to.equal(200);
      const { note, ...rest } = reply.body;
      expect(note).to.be.a('string').and.not.equal('');
      return rest;
    };

    it('cancels a pending card and returns its credit, once', async () => {
      const tenant = await service.tenant({ credits: 5 });
      const { id } = await send(tenant);
      expect(await cancelledAs(tenant, id.toLowerCase())).to.deep.equal(gone(id, 1));
      expect(await cancelledAs(tenant, id)).to.deep.equal(gone(id, 0));
      expect(await tenant.balance()).to.equal(5);
      const found = await tenant.api(`/api/v1/cards/${id}`);
      expect([found.body['status'], found.body['held_reason']]).to.deep.equal(['cancelled', null]);
    });
    it('cancels a queued card and returns its credit', async () => {
      const tenant = await service.tenant({ credits: 1 });
      const { id } = await send(tenant);
      await floor(id, 'queue');
      expect(await cancelledAs(tenant, id)).to.deep.equal(gone(id, 1));
      expect(await tenant.balance()).to.equal(1);
    });
    it('cancels a held card, which cost nothing', async () => {
      const tenant = await service.tenant({ credits: 1 });
      const { id } = await send(tenant, { message: '🎉' });
      expect(await cancelledAs(tenant, id)).to.deep.equal(gone(id, 0));
      const found = await tenant.api(`/api/v1/cards/${id}`);
      expect([found.body['status'], found.body['held_reason'], await tenant.balance()]).to.deep.equal([
        'cancelled',
        null,
        1,
      ]);
    });
    it('cancels a card that was put on hold, whose credit was already returned', async () => {
      const tenant = await service.tenant({ credits: 1 });
      const { id } = await send(tenant);
      await floor(id, 'hold', { reason: 'Ask Ada' });
      expect(await tenant.balance()).to.equal(1);
      expect(await cancelledAs(tenant, id)).to.deep.equal(gone(id, 0));
      expect(await tenant.balance()).to.equal(1);
    });
    it('refuses with too_late_to_cancel for a card in production, and says how far the card is', async () => {
      const tenant = await service.tenant({ credits: 1 });
      const { id } = await send(tenant);
      await floor(id, 'queue');
      const told: [string, RegExp][] = [
        ['card_stock_prepared', /production/], ['card_written', /production/], ['envelope_addressed', /written/], ['packed', /written/], ['stamped', /packed/], ['posted', /carrier/],
      ]; // prettier-ignore
      for (const [step, where] of told) {
        await floor(id, `steps/${step}`, { status: 'in_progress' });
        expect(refusal(await cancel(tenant, id)).slice(0, 2)).to.deep.equal([409, 'too_late_to_cancel']);
        await floor(id, `steps/${step}`, { status: 'completed' });
        const refused = await cancel(tenant, id);
        expect(refusal(refused).slice(0, 2)).to.deep.equal([409, 'too_late_to_cancel']);
        expect(refused.body)
          .to.have.nested.property('error.message')
          .that.matches(where)
          .and.matches(/\. Let it go out, or send another one after it\.$/);
      }
      expect(await tenant.balance()).to.equal(0);
    });
    it('refuses with too_late_to_cancel for a card that failed, whose credit was already returned', async () => {
      const tenant = await service.tenant({ credits: 1 });
      const { id } = await send(tenant);
      await floor(id, 'queue');
      await floor(id, 'steps/card_stock_prepared', { status: 'in_progress' });
      await floor(id, 'fail', { reason: 'Out of paper' });
      expect([...refusal(await cancel(tenant, id)), await tenant.balance()]).to.deep.equal([
        409,
        'too_late_to_cancel',
        null,
        1,
      ]);
    });
    it('ignores a body', async () => {
      const tenant = await service.tenant();
      const { id } = await send(tenant);
      const reply = await tenant.api(`/api/v1/cards/${id}`, {
        method: 'DELETE',
        body: '{not json',
        headers: { 'content-type': 'text/plain' },
      });
      expect(reply.status).to.equal(200);
    });
  });

  describe('GET /api/v1/cards', () => {
    let tenant: Tenant;
    let codes: readonly string[];
    const list = (query = ''): Promise<Reply> => tenant.api(`/api/v1/cards${query}`);
    before(async () => {
      tenant = await service.tenant({ credits: 500 });
      const made: string[] = [];
      for (let at = 0; at < 7; at++) {
        clock.set(`2026-03-02T15:00:0${9 - at}.000Z`);
        made.unshift((await send(tenant, { reference: at % 2 === 0 ? 'Even' : 'odd' })).id);
      }
      codes = made;
    });

    it('lists the cards in creation order, newest first, whatever the clock says', async () => {
      const { body } = await list();
      expect({ ...body, data: ids(await list()) }).to.deep.equal({
        object: 'list',
        has_more: false,
        next_cursor: null,
        data: codes,
      });
    });
    it('pages by cursor until a page is not full', async () => {
      const pages: unknown[] = [];
      for (let query = '?limit=3'; query !== '';) {
        const page = await list(query);
        pages.push([page.body['has_more'], page.body['next_cursor'], ids(page)]);
        const cursor = page.body['next_cursor'];
        query = typeof cursor === 'string' ? `?limit=3&starting_after=${cursor}` : '';
      }
      expect(pages).to.deep.equal([
        [true, codes[2], codes.slice(0, 3)],
        [true, codes[5], codes.slice(3, 6)],
        [false, null, codes.slice(6)],
      ]);
    });
    it('has an empty last page if the page before it was full', async () => {
      const full = await list('?limit=7');
      expect([full.body['has_more'], full.body['next_cursor']]).to.deep.equal([true, codes[6]]);
      const { body } = await list(`?limit=7&starting_after=${codes[6]}`);
      expect(body).to.deep.equal({ object: 'list', has_more: false, next_cursor: null, data: [] });
    });
    it('normalizes the cursor, which need not match the filter', async () => {
      const odd = codes[1] ?? '';
      for (const cursor of [odd.toLowerCase(), odd.replace('-', ''), `%20${odd}%20`])
        expect(ids(await list(`?reference=Even&starting_after=${cursor}`)), cursor).to.deep.equal([
          codes[2],
          codes[4],
          codes[6],
        ]);
    });
    it('refuses a cursor that is not a card of the organization', async () => {
      const { id } = await send(await service.tenant());
      for (const cursor of [
        id,
        'HC-0000000',
        'nonsense',
        '0',
        codes[0]?.slice(0, -1) ?? '',
        '00000000-0000-4000-8000-000000000000',
      ])
        expect(refusal(await list(`?starting_after=${cursor}`)), cursor).to.deep.equal([
          400,
          'invalid_cursor',
          'starting_after',
        ]);
    });
    const limits: readonly (readonly [string, number])[] = [
      ['', 7],
      ['0', 7],
      ['%20', 7],
      ['1', 1],
      ['%203%20', 3],
      ['200', 7],
      ['201', 7],
      ['99999999999999999999', 7],
      ['007', 7],
    ];
    for (const [limit, rows] of limits)
      it(`accepts a limit of "${limit}"`, async () => {
        const page = await list(`?limit=${limit}`);
        expect([page.status, page.rows.length]).to.deep.equal([200, rows]);
      });
    for (const limit of ['-1', '1.5', '1.0', 'ten', '1e2', '0x10', '+5', 'NaN', '5;', '٣', 'null', 'true'])
      it(`refuses a limit of "${limit}"`, async () => {
        expect(refusal(await list(`?limit=${encodeURIComponent(limit)}`))).to.deep.equal([
          400,
          'invalid_parameter',
          'limit',
        ]);
      });
    it('returns 50 rows by default and at most 200', async () => {
      const many = await service.tenant({ credits: 500 });
      for (let at = 0; at < 5; at++) await Promise.all(Array.from({ length: 41 }, () => send(many)));
      const page = async (query: string) => {
        const { rows, body } = await many.api(`/api/v1/cards${query}`);
        return [rows.length, body['has_more']];
      };
      expect([
        await page(''),
        await page('?limit='),
        await page('?limit=0'),
        await page('?limit=500'),
      ]).to.deep.equal([
        [50, true],
        [50, true],
        [50, true],
        [200, true],
      ]);
    });
    it('filters by exact reference, truncated like the reference of a card', async () => {
      expect(ids(await list('?reference=Even'))).to.deep.equal([codes[0], codes[2], codes[4], codes[6]]);
      expect(ids(await list('?reference=%20odd%20'))).to.deep.equal([codes[1], codes[3], codes[5]]);
      for (const none of ['even', 'Eve', 'Even%25', '*', 'Even%00'])
        expect(ids(await list(`?reference=${none}`)), none).to.deep.equal([]);
      expect(ids(await list('?reference='))).to.deep.equal(codes);
      const other = await service.tenant();
      const { id } = await send(other, { reference: 'x'.repeat(45) });
      expect(ids(await other.api(`/api/v1/cards?reference=${'x'.repeat(60)}`))).to.deep.equal([id]);
      const spaced = `${'y'.repeat(39)} z`;
      const cut = await send(other, { reference: spaced });
      expect((await other.api(`/api/v1/cards/${cut.id}`)).body['reference']).to.equal('y'.repeat(39));
      for (const asked of [spaced, `${'y'.repeat(39)} `, 'y'.repeat(39)])
        expect(ids(await other.api(`/api/v1/cards?reference=${encodeURIComponent(asked)}`))).to.deep.equal([
          cut.id,
        ]);
      const number = await send(other, { reference: 1007 });
      expect(ids(await other.api('/api/v1/cards?reference=1007'))).to.deep.equal([number.id]);
    });
    it('filters by status, also by the words of a create response', async () => {
      const other = await service.tenant();
      const pending = (await send(other)).id;
      const blocked = (await send(other, { message: '🎉' })).id;
      const cancelled = (await send(other)).id;
      await cancel(other, cancelled);
      const queued = (await send(other)).id;
      await floor(queued, 'queue');
      const started = (await send(other)).id;
      await floor(started, 'queue');
      await floor(started, 'steps/card_stock_prepared', { status: 'in_progress' });
      const failed = (await send(other)).id;
      await floor(failed, 'queue');
      await floor(failed, 'steps/card_stock_prepared', { status: 'in_progress' });
      await floor(failed, 'fail', { reason: 'torn' });
      const expected: readonly (readonly [string, readonly string[]])[] = [
        ['pending', [pending]], ['scheduled', [pending]], ['blocked', [blocked]], ['held', [blocked]], ['cancelled', [cancelled]], ['queued', [queued]],
        ['in_production', [started]], ['failed', [failed]], ['written', []], ['packed', []], ['posted', []], ['', [failed, started, queued, cancelled, blocked, pending]],
      ]; // prettier-ignore
      for (const [status, found] of expected)
        expect(ids(await other.api(`/api/v1/cards?status=${status}`)), status).to.deep.equal(found);
    });
    for (const status of [
      'PENDING',
      'Pending',
      'canceled',
      'all',
      'pending,queued',
      '1',
      'in-production',
      '__proto__',
    ])
      it(`refuses a status of "${status}"`, async () => {
        expect(refusal(await list(`?status=${status}`))).to.deep.equal([400, 'invalid_parameter', 'status']);
      });
    it('refuses any parameter that is given twice, and ignores unknown ones', async () => {
      for (const query of [
        'limit=1&limit=1',
        'status=pending&status=',
        'x=1&x=2',
        'reference=a&reference=a',
        '__proto__=1&__proto__=2',
        'limit=1&%6cimit=2',
      ])
        expect(refusal(await list(`?${query}`)).slice(0, 2), query).to.deep.equal([400, 'invalid_parameter']);
      for (const query of [
        'x=1',
        'page=2',
        'limit[]=1',
        '__proto__=1',
        '&&&',
        '=',
        'Limit=-1',
        'reference[gt]=1',
        '%',
        'x=%zz',
        'constructor=1',
      ])
        expect(ids(await list(`?${query}`)), query).to.deep.equal(codes);
    });
    it('shows nothing of other organizations', async () => {
      const empty = await service.tenant();
      expect((await empty.api('/api/v1/cards')).body).to.deep.equal({
        object: 'list',
        has_more: false,
        next_cursor: null,
        data: [],
      });
    });
  });
});
