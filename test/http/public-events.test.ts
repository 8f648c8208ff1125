import { expect } from 'chai';
import { SystemClock } from '../../adapters/system/clock.js';
import { authority, receiverSettings, startReceiver, type Receiver } from '../support/http/receiver.js';
import {
  aCard,
  startTestService,
  type Fields,
  type Reply,
  type RunningService,
  type Tenant,
} from '../support/http/service.js';
import { eventually } from '../support/time/eventually.js';

const refusal = ({ status, code, param }: Reply): unknown[] => [status, code, param];
const path = '/api/v1/events';

describe('GET /api/v1/events/{id}', () => {
  let service: RunningService;
  before(async () => (service = await startTestService()));
  after(() => service.stop());

  it('returns an event of the organization, as the list has it, and no other', async () => {
    const [tenant, other] = [await service.tenant(), await service.tenant()];
    await tenant.api('/api/v1/cards', { body: aCard() });
    const [event = {}] = (await tenant.api(path)).rows;
    const { status, body } = await tenant.api(`${path}/${String(event['id'])}`);
    expect([status, body]).to.deep.equal([200, event]);
    for (const [{ api }, id] of [
      [tenant, 'evt_none'],
      [other, String(event['id'])],
    ] as const)
      expect(refusal(await api(`${path}/${id}`))).to.deep.equal([404, 'not_found', null]);
  });
});

describe('GET /api/v1/events', () => {
  let service: RunningService;
  let receiver: Receiver;
  before(async () => {
    service = await startTestService(receiverSettings, new SystemClock(), [authority.cert]);
    receiver = await startReceiver();
  });
  after(async () => {
    await receiver.close();
    await service.stop();
  });

  /** Two cards, one of which is held, released and cancelled. */
  const live = async ({ api }: Tenant): Promise<readonly [string, string]> => {
    const send = async (reference: string) =>
      (await api('/api/v1/cards', { body: aCard({ arrive_on: '2099-01-01', reference }) })).id;
    const [first, second] = [await send('one'), await send('two')];
    await service.operator(`/operator/v1/cards/${first}/hold`, { body: { reason: 'why' } });
    await service.operator(`/operator/v1/cards/${first}/release`, { method: 'POST' });
    await api(`/api/v1/cards/${first}`, { method: 'DELETE' });
    return [first, second];
  };
  const told = ({ rows }: Reply) => rows.map(({ type, data }) => [type, (data as Fields)['card']]);

  /** The frames of the stream: this many, and then the connection is cut. */
  const follow = async (
    { key }: Tenant,
    count: number,
    { query = '', last }: { readonly query?: string; readonly last?: string } = {},
    meanwhile: () => Promise<unknown> = () => Promise.resolve(),
  ): Promise<readonly { readonly id: string; readonly event: string; readonly data: string }[]> => {
    const closing = new AbortController();
    const response = await fetch(`${service.baseUrl}${path}${query}`, {
      headers: {
        authorization: `Bearer ${key}`,
        accept: 'text/event-stream',
        ...(last !== undefined && { 'last-event-id': last }),
      },
      signal: AbortSignal.any([closing.signal, AbortSignal.timeout(20_000)]),
    });
    expect(response.headers.get('content-type')).to.equal('text/event-stream; charset=utf-8');
    const running = meanwhile();
    let text = '';
    const blocks = () =>
      text
        .split('\n\n')
        .slice(0, -1)
        .filter((block) => block.startsWith('id: '));
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk;
      if (blocks().length >= count) break;
    }
    closing.abort();
    await running;
    return blocks()
      .slice(0, count)
      .map((block) => {
        const [id = '', event = '', data = ''] = block
          .split('\n')
          .map((line) => line.slice(line.indexOf(': ') + 2));
        return { id, event, data };
      });
  };

  it('lists what webhooks tell, newest first, with the same ids and bodies', async () => {
    const tenant = await service.tenant();
    await tenant.api('/api/v1/webhooks', { body: { url: `${receiver.url}${tenant.org}` } });
    const [first, second] = await live(tenant);
    const listed = await tenant.api(path);
    expect(told(listed)).to.deep.equal([
      ['card.cancelled', first],
      ['card.created', first],
      ['card.held', first],
      ['card.created', second],
      ['card.created', first],
    ]);
    const bodies = await eventually(() => {
      const got = receiver.received.filter((one) => one.path === `/${tenant.org}`).map(({ body }) => body);
      return got.length === 5 && got;
    });
    expect(listed.rows.map((row) => JSON.stringify(row))).to.have.members([...bodies]);
    expect(listed.rows[2]).to.have.nested.property('data.heldReason', 'why');
    const other = await service.tenant();
    expect((await other.api(path)).rows).to.deep.equal([]);
    expect(
      refusal(await other.api(`${path}?starting_after=${String(listed.rows[0]?.['id'])}`)),
    ).to.deep.equal([400, 'invalid_cursor', 'starting_after']);
    expect((await other.api(`${path}?card=${first}`)).rows).to.deep.equal([]);
    const blind = await tenant.withScopes('cards:send');
    expect(refusal(await blind(path))).to.deep.equal([403, 'missing_scope', null]);
  });

  it('filters by type and by card, and goes on where the page before ended', async () => {
    const tenant = await service.tenant();
    const [first, second] = await live(tenant);
    const ask = (query: string) => tenant.api(`${path}?${query}`);
    expect(told(await ask('type=card.created'))).to.deep.equal([
      ['card.created', first],
      ['card.created', second],
      ['card.created', first],
    ]);
    expect(told(await ask(`card=${second.toLowerCase()}`))).to.deep.equal([['card.created', second]]);
    expect(told(await ask(`card=${first}&type=card.held`))).to.deep.equal([['card.held', first]]);
    expect(told(await ask('card=HC-0000000'))).to.deep.equal([]);
    for (const query of ['', `&card=${first}`]) {
      const whole = (await ask(`limit=50${query}`)).rows;
      const paged: Fields[] = [];
      let cursor = '';
      for (;;) {
        const page = await ask(`limit=2${query}${cursor}`);
        paged.push(...page.rows);
        const next = page.body['next_cursor'];
        if (typeof next !== 'string') break;
        cursor = `&starting_after=${next}`;
      }
      expect(paged, query).to.deep.equal(whole);
    }
    const [cancelled, , , ofSecond] = (await ask('limit=50')).rows.map(({ id }) => String(id));
    const after = async (query: string) => told(await ask(`limit=50&card=${query}`));
    expect(await after(`${first}&starting_after=${ofSecond}`)).to.deep.equal([['card.created', first]]);
    expect(await after(`${second}&starting_after=${cancelled}`)).to.deep.equal([['card.created', second]]);
    expect(await after(`${second}&starting_after=${ofSecond}`)).to.deep.equal([]);
    expect(refusal(await ask('type=card.delivered'))).to.deep.equal([400, 'invalid_parameter', 'type']);
  });

  it('streams them oldest first, every one once and in order, cut anywhere and resumed', async () => {
    const tenant = await service.tenant();
    await live(tenant);
    const { rows } = await tenant.api(path);
    const wanted = rows.toReversed().map((row) => JSON.stringify(row));
    const all = await follow(tenant, 5);
    expect(all.map(({ data }) => data)).to.deep.equal(wanted);
    expect(all.map(({ id, event }) => [id, event])).to.deep.equal(
      rows.toReversed().map(({ id, type }) => [id, type]),
    );
    for (const [index, { id }] of all.slice(0, -1).entries())
      expect(await follow(tenant, 4 - index, { last: id })).to.deep.equal(all.slice(index + 1));
    const held = await follow(tenant, 1, { query: '?type=card.held' });
    expect(held).to.deep.equal([all[2]]);
  });

  it('goes on as they happen, and tells nobody of others', async () => {
    const tenant = await service.tenant();
    const other = await service.tenant();
    await live(tenant);
    const [newest] = (await tenant.api(path)).rows;
    let code = '';
    const [next] = await follow(tenant, 1, { last: String(newest?.['id']) }, async () => {
      await live(other);
      code = (await tenant.api('/api/v1/cards', { body: aCard({ arrive_on: '2099-01-01' }) })).id;
    });
    const { type, data } = JSON.parse(next?.data ?? '{}') as Fields;
    expect([type, (data as Fields)['card']]).to.deep.equal(['card.created', code]);
    const wrong = await other.api(path, {
      headers: { accept: 'text/event-stream', 'last-event-id': String(newest?.['id']) },
    });
    expect(refusal(wrong).slice(0, 2)).to.deep.equal([400, 'invalid_cursor']);
    expect((wrong.body['error'] as Fields)['message']).to.include(`\`${String(newest?.['id'])}\``);
    const both = await tenant.api(`${path}?starting_after=${String(newest?.['id'])}`, {
      headers: { accept: 'text/event-stream', 'last-event-id': 'evt_none' },
    });
    expect([...refusal(both), (both.body['error'] as Fields)['message']]).to.deep.equal([
      400,
      'invalid_cursor',
      null,
      '`Last-Event-ID` matches no event of this organization: `evt_none`. Leave it out to begin with the first.',
    ]);
  });
});
