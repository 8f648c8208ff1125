import { expect } from 'chai';
import { eventually } from '../support/time/eventually.js';
import {
  aCard,
  startTestService,
  type Fields,
  type RunningService,
  type Tenant,
} from '../support/http/service.js';

interface LogEvent {
  readonly id: string;
  readonly event: string;
  readonly data: Fields;
}

const fieldOf = (block: string, name: string): string =>
  block
    .split('\n')
    .find((line) => line.startsWith(`${name}: `))
    ?.slice(name.length + 2) ?? '';

describe('GET /operator/v1/events', () => {
  let service: RunningService;
  let tenant: Tenant;
  before(async () => {
    service = await startTestService();
    tenant = await service.tenant();
  });
  after(() => service.stop());

  /** Reads this many events; `meanwhile` runs once the stream is open. */
  const read = async (
    query: string,
    count: number,
    meanwhile: () => Promise<unknown> = () => Promise.resolve(),
    sent: Readonly<Record<string, string>> = {},
  ): Promise<readonly LogEvent[]> => {
    const closing = new AbortController();
    const signal = AbortSignal.any([closing.signal, AbortSignal.timeout(60_000)]);
    const headers = { authorization: `Bearer ${service.operatorToken}`, ...sent };
    const response = await fetch(`${service.baseUrl}/operator/v1/events${query}`, { headers, signal });
    expect([response.status, response.headers.get('content-type')]).to.deep.equal([
      200,
      'text/event-stream; charset=utf-8',
    ]);
    expect(response.headers.get('x-request-id')).to.match(/^req_/);
    expect(response.headers.get('cache-control')).to.equal('no-store');
    const events: LogEvent[] = [];
    let rest = '';
    const running = meanwhile();
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      const blocks = (rest + chunk).split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks.filter((text) => text.includes('data: ')))
        events.push({
          id: fieldOf(block, 'id'),
          event: fieldOf(block, 'event'),
          data: JSON.parse(fieldOf(block, 'data')) as Fields,
        });
      if (events.length >= count) break;
    }
    closing.abort();
    await running;
    return events.slice(0, count);
  };
  const send = async (): Promise<string> =>
    (await tenant.api('/api/v1/cards', { body: aCard({ arrive_on: '2099-01-01' }) })).id;

  it('sends the log from the beginning, in order', async () => {
    const { position, log } = (await service.operator('/operator/v1/anchor')).body;
    const events = await read('', 20);
    const positions = events.map(({ id }) => Number(id));
    expect(positions).to.deep.equal(positions.toSorted((a, b) => a - b));
    expect(positions[0]).to.be.at.most(Number(position));
    for (const { id, event, data } of events) {
      expect(data).to.include.keys('position', 'stream', 'revision', 'id', 'type', 'at', 'data', 'metadata');
      expect([data['log'], data['position'], data['type']]).to.deep.equal([log, id, event]);
    }
  });
  it('continues after a position, then live', async () => {
    const { position } = (await service.operator('/operator/v1/anchor')).body;
    let code = '';
    const events = await read(`?from=${String(position)}&category=card`, 2, async () => {
      code = await send();
      await tenant.api(`/api/v1/cards/${code}`, { method: 'DELETE' });
    });
    expect(events.map(({ event, data }) => [event, data['stream'], data['revision']])).to.deep.equal([
      ['CardScheduled', `card-${code}`, '0'],
      ['CardCancelled', `card-${code}`, '1'],
    ]);
    for (const { id } of events) expect(Number(id)).to.be.greaterThan(Number(position));
    expect(await read(`?from=${events[0]?.id}&category=card`, 1)).to.deep.equal(events.slice(1));
  });
  it('shows one stream, one category, or both', async () => {
    const code = await send();
    const [first] = await read(`?stream=card-${code}`, 1);
    expect([first?.event, first?.data['stream']]).to.deep.equal(['CardScheduled', `card-${code}`]);
    const credits = await read(`?stream=credits-${tenant.org}&category=credits`, 2);
    expect(credits.map(({ event }) => event)).to.deep.equal(['CreditsPurchased', 'CreditSpent']);
    const names = new Set(
      (await read('?category=organization', 2)).map(({ data }) => String(data['stream']).split('-')[0]),
    );
    expect(names).to.deep.equal(new Set(['organization']));
  });
  it('continues after the event in Last-Event-ID', async () => {
    const [first, second, third] = await read('', 3);
    const after = (query: string, id: string | undefined) =>
      read(query, 1, undefined, { 'last-event-id': String(id) });
    expect(await after('', first?.id)).to.deep.equal([second]);
    expect(await after('?from=0', second?.id)).to.deep.equal([third]);
    expect(await after(`?from=${first?.id}`, 'dlv_1')).to.deep.equal([second]);
  });
  it('refuses a position that the log has not reached, as from and as Last-Event-ID', async () => {
    const { position } = (await service.operator('/operator/v1/anchor')).body;
    const past = String(Number(position) + 1_000_000_000);
    for (const [query, headers] of [
      [`?from=${past}`, {}],
      ['', { 'last-event-id': past }],
    ] as const) {
      const reply = await service.operator(`/operator/v1/events${query}`, { headers });
      expect([reply.status, reply.code]).to.deep.equal([400, 'invalid_parameter']);
      expect(reply.body['error']).to.deep.include({ param: 'from' });
    }
  });
  it('refuses invalid positions, unknown categories and parameters that are given twice', async () => {
    for (const query of [
      'from=-1',
      'from=x',
      'from=1.5',
      `from=${'9'.repeat(30)}`,
      'category=cards',
      'category=x',
      'from=1&from=2',
    ]) {
      const { status, code } = await service.operator(`/operator/v1/events?${query}`);
      expect([status, code], query).to.deep.equal([400, 'invalid_parameter']);
    }
  });
  /** The whole feed up to `until`, and its text. */
  const whole = async (query: string, headers: Readonly<Record<string, string>> = {}) => {
    const reply = await service.operator(`/operator/v1/events${query}`, { headers });
    expect(reply.status, reply.text).to.equal(200);
    return reply;
  };
  const frames = (text: string): readonly LogEvent[] =>
    text
      .split('\n\n')
      .slice(0, -1)
      .filter((block) => block.includes('data: '))
      .map((block) => ({
        id: fieldOf(block, 'id'),
        event: fieldOf(block, 'event'),
        data: JSON.parse(fieldOf(block, 'data')) as Fields,
      }));
  const headNow = async () => String((await service.operator('/operator/v1/anchor')).body['position']);

  it('ends with `until`, at a position or at the head, and says so', async () => {
    await send();
    const head = await headNow();
    const all = frames((await whole('?until=head')).text);
    expect(all.at(-1)).to.deep.equal({ id: head, event: 'position', data: { position: head, done: true } });
    const events = all.slice(0, -1);
    expect(events.at(-1)?.id).to.equal(head);
    const middle = events[2]?.id ?? '';
    expect(frames((await whole(`?until=${middle}`)).text).slice(0, -1)).to.deep.equal(events.slice(0, 3));
    expect(frames((await whole(`?from=${middle}&until=${head}`)).text).slice(0, -1)).to.deep.equal(
      events.slice(3),
    );
    expect(frames((await whole(`?from=${head}&until=${middle}`)).text)).to.have.length(1);
    expect((await whole('?until=0')).text).to.equal(
      'id: 0\nevent: position\ndata: {"position":"0","done":true}\n\n',
    );
  });
  it('gives every event once and in order, cut anywhere and resumed', async () => {
    const other = await service.tenant();
    await other.api('/api/v1/cards', { body: aCard({ arrive_on: '2099-01-01' }) });
    const query = `?organization=${other.org}&until=${await headNow()}`;
    const { text } = await whole(query);
    const all = frames(text);
    expect(all.length).to.be.above(6);
    let complete = -1;
    for (let cut = 0; cut <= text.length; cut++) {
      const blocks = text.slice(0, cut).split('\n\n').length - 1;
      // What is cut off inside of a block is thrown away, so the cuts in one block are the same.
      if (blocks === complete) continue;
      complete = blocks;
      const seen = frames(text.slice(0, cut));
      const last = seen.at(-1);
      const headers = last === undefined ? {} : { 'last-event-id': last.id };
      const rest = last?.event === 'position' ? [] : frames((await whole(query, headers)).text);
      expect([...seen, ...rest], `cut at ${cut}`).to.deep.equal(all);
    }
    expect(complete).to.equal(all.length);
  });
  it('shows the events of one organization and of some types', async () => {
    const other = await service.tenant();
    const code = (await other.api('/api/v1/cards', { body: aCard({ arrive_on: '2099-01-01' }) })).id;
    await send();
    const own = frames((await whole(`?organization=${other.org}&until=head`)).text).slice(0, -1);
    expect(own.length).to.be.above(3);
    expect(new Set(own.map(({ data }) => (data['metadata'] as Fields)['org']))).to.deep.equal(
      new Set([other.org]),
    );
    const some = frames(
      (await whole(`?organization=${other.org}&types=CreditSpent,%20CardScheduled&until=head`)).text,
    ).slice(0, -1);
    expect(some.map(({ event, data }) => [event, data['stream']])).to.have.deep.members([
      ['CreditSpent', `credits-${other.org}`],
      ['CardScheduled', `card-${code}`],
    ]);
  });
  it('is JSON lines for who asks for them', async () => {
    const head = await headNow();
    const lines = await whole(`?until=${head}`, { accept: 'application/jsonl' });
    expect(lines.headers.get('content-type')).to.equal('application/jsonl; charset=utf-8');
    const events = frames((await whole(`?until=${head}`)).text).slice(0, -1);
    expect(lines.text).to.equal(events.map(({ data }) => `${JSON.stringify(data)}\n`).join(''));
  });
  it('gives every event once and in order as JSON lines, too, cut after any line and resumed', async () => {
    const other = await service.tenant();
    const query = `?organization=${other.org}&until=${await headNow()}`;
    const accept = { accept: 'application/jsonl' };
    const { text } = await whole(query, accept);
    const lines = text.split(/(?<=\n)/u);
    expect(lines.length).to.be.above(3);
    for (let cut = 0; cut <= lines.length; cut++) {
      const seen = lines.slice(0, cut);
      const last = seen.at(-1);
      const position = last === undefined ? '0' : String((JSON.parse(last) as Fields)['position']);
      for (const rest of [
        await whole(`${query}&from=${position}`, accept),
        await whole(query, { ...accept, 'last-event-id': position }),
      ])
        expect(seen.join('') + rest.text, `cut after line ${cut}`).to.equal(text);
    }
  });
  it('withholds what events say about a person', async () => {
    const code = await send();
    const shownOf = async (query: string) => (await whole(`?stream=card-${code}&until=head${query}`)).text;
    await service.operator(`/operator/v1/cards/${code}/hold`, { body: { reason: 'Ask her son' } });
    expect(await shownOf(''))
      .to.include('Ada Lovelace')
      .and.to.include('Ask her son');
    const [shown] = frames(await shownOf('&personal=withhold'));
    for (const text of ['Ada', 'Ask her son'])
      expect(await shownOf('&personal=withhold')).not.to.include(text);
    expect(shown?.data['data']).to.include.keys('order').and.not.to.include.keys('personal');
    expect(shown?.data).to.have.nested.property('metadata.personal.digest');
  });
  it('refuses types that there are not, and an end that the log has not reached', async () => {
    for (const [query, param] of [
      ['types=CardSheduled', 'types'],
      ['until=999999999999999999', 'until'],
      ['until=tomorrow', 'until'],
      ['personal=show', 'personal'],
      ['org=x', 'org'],
    ] as const) {
      const reply = await service.operator(`/operator/v1/events?${query}`);
      expect([reply.status, reply.code, reply.param], query).to.deep.equal([400, 'invalid_parameter', param]);
    }
    expect((await service.operator('/operator/v1/events?types=CardSheduled')).text).to.include(
      '`CardScheduled`',
    );
  });
  it('requires the operator token', async () => {
    expect([
      (await service.anonymous('/operator/v1/events')).code,
      (await tenant.api('/operator/v1/events')).code,
    ]).to.deep.equal(['missing_key', 'invalid_key']);
  });
  it('ends when the service stops', async () => {
    const other = await startTestService();
    const response = await fetch(`${other.baseUrl}/operator/v1/events`, {
      headers: { authorization: `Bearer ${other.operatorToken}` },
    });
    let text = '';
    const read = async (): Promise<void> => {
      const decoder = new TextDecoder();
      for await (const chunk of response.body ?? []) text += decoder.decode(chunk, { stream: true });
    };
    const ended = read();
    await eventually(() => text.includes('event: '));
    await Promise.all([ended, other.stop()]);
    expect(text).to.include('event: ');
  });
});
