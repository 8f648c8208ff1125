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

/** Each operation that takes a position: with one that the service gave out, and with one that it didn't. */
describe('a position of the log, over HTTP,', () => {
  const sends = 4;
  let service: RunningService;
  let receiver: Receiver;
  let tenant: Tenant;
  const endpoints: string[] = [];
  let events: readonly Fields[];

  before(async () => {
    const settings = { ...receiverSettings, WEBHOOK_BACKOFF: '20ms', WEBHOOK_DISABLE_AFTER: '1000' };
    service = await startTestService(settings, new SystemClock(), [authority.cert]);
    receiver = await startReceiver();
    receiver.answer = 500;
    tenant = await service.tenant({ credits: 9 });
    for (const path of ['one', 'two', 'three'])
      endpoints.push(
        (
          await tenant.api('/api/v1/webhooks', {
            body: { url: `${receiver.url}/${path}`, events: ['card.created'] },
          })
        ).id,
      );
    for (let sent = 0; sent < sends; sent += 1)
      await tenant.api('/api/v1/cards', { body: aCard({ arrive_on: '2099-01-01' }) });
    events = await followed('until=head');
  });
  after(async () => {
    await service.stop();
    await receiver.close();
  });

  const followed = async (query: string): Promise<readonly Fields[]> => {
    const response = await fetch(`${service.baseUrl}/operator/v1/events?${query}`, {
      headers: { authorization: `Bearer ${service.operatorToken}`, accept: 'application/jsonl' },
    });
    const text = await response.text();
    expect(response.status, text).to.equal(200);
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Fields);
  };
  const positionOf = (event: Fields | undefined): string => String(event?.['position']);
  const office = (path: string, body?: object): Promise<Reply> =>
    service.operator(`/operator/v1/organizations/${tenant.org}${path}`, body === undefined ? {} : { body });
  /** The events before a place in the log, with it, and after it. */
  const upTo = (at: number, type: string): number =>
    events.slice(0, at + 1).filter((event) => event['type'] === type).length;
  const from = (at: number, type: string): number =>
    events.slice(at).filter((event) => event['type'] === type).length;

  it('begins a replay, with the event that stands there', async () => {
    for (const [at, position] of ['0', ...events.map(positionOf)].entries()) {
      const made = await tenant.api('/api/v1/webhooks', {
        body: { url: `${receiver.url}/replay-${at}`, events: ['card.created'] },
      });
      const replayed = await office(`/webhooks/${made.id}/replay`, { from: position });
      const deliveries = from(Math.max(at - 1, 0), 'CardScheduled');
      expect([replayed.status, replayed.text]).to.deep.equal([202, JSON.stringify({ deliveries })]);
    }
  });

  it('begins and ends a redrive, with the events that stand there', async () => {
    const cards = events.flatMap(({ type }, at) => (type === 'CardScheduled' ? [at] : []));
    const windows = [[0, 0], [0, 2], [1, sends - 1]] as const; // prettier-ignore
    for (const [index, [first, last]] of windows.entries()) {
      const endpoint = endpoints[index] ?? '';
      await eventually(
        async () => (await office(`/deliveries?status=exhausted&endpoint=${endpoint}`)).rows.length === sends,
      );
      const [begin, end] = [first, last].map((card) => positionOf(events[cards[card] ?? -1]));
      const redriven = await office('/deliveries/redrive', { from: begin, to: end, endpoint });
      expect([redriven.status, redriven.body['deliveries']]).to.deep.equal([202, last - first + 1]);
    }
  });

  it('ends views and books, with the event that stands there', async () => {
    for (const [at, event] of events.entries()) {
      if (upTo(at, 'CreditsPurchased') === 0) continue;
      const balance = 9 * upTo(at, 'CreditsPurchased') - upTo(at, 'CreditSpent');
      const credits = await office(`/credits?at=${positionOf(event)}`);
      expect([credits.status, credits.body['balance']], credits.text).to.deep.equal([200, balance]);
      const books = await office(`/reconciliation?to=${positionOf(event)}`);
      expect([books.status, books.body['closing']], books.text).to.deep.equal([200, balance]);
      const later = await office(`/reconciliation?from=${positionOf(event)}`);
      expect([later.status, later.body['opening']], later.text).to.deep.equal([200, balance]);
    }
  });

  it('begins and ends a feed and an export, after the event that stands there', async () => {
    const [first, last] = [2, events.length - 2];
    const between = `from=${positionOf(events[first])}&`;
    expect(await followed(`${between}until=${positionOf(events[last])}`)).to.deep.equal(
      events.slice(first + 1, last + 1),
    );
    const response = await fetch(
      `${service.baseUrl}/operator/v1/exports?${between}to=${positionOf(events[last])}`,
      { headers: { authorization: `Bearer ${service.operatorToken}` } },
    );
    const lines = (await response.text()).split('\n');
    expect(response.status, lines[0]).to.equal(200);
    const [begin] = lines.map((line) => (line === '' ? {} : (JSON.parse(line) as Fields))).filter(isEvent);
    expect(begin?.['id']).to.equal(events[first + 1]?.['id']);
  });
  const isEvent = (line: Fields): boolean => 'stream' in line;

  it('is refused everywhere if the log has no event there', async () => {
    const made = [String(BigInt(positionOf(events.at(-1))) + 1_000_000n)];
    // Where positions count events, there is none between two.
    if (BigInt(positionOf(events[1])) - BigInt(positionOf(events[0])) > 1n)
      made.push(String(BigInt(positionOf(events[3])) + 1n));
    const [endpoint] = endpoints;
    for (const position of made) {
      const asked: readonly (readonly [string, Reply])[] = [
        ['from', await office(`/webhooks/${endpoint}/replay`, { from: position })],
        ['from', await tenant.api(`/api/v1/webhooks/${endpoint}/replay`, { body: { from: position } })],
        ['from', await office('/deliveries/redrive', { from: position })],
        ['to', await office('/deliveries/redrive', { from: '0', to: position })],
        ['at', await office(`/credits?at=${position}`)],
        ['from', await office(`/reconciliation?from=${position}`)],
        ['to', await office(`/reconciliation?to=${position}`)],
        ['from', await service.operator(`/operator/v1/events?from=${position}`)],
        ['until', await service.operator(`/operator/v1/events?until=${position}`)],
        ['from', await service.operator(`/operator/v1/exports?from=${position}`)],
        ['to', await service.operator(`/operator/v1/exports?from=0&to=${position}`)],
      ];
      for (const [param, { status, code, param: named, text }] of asked)
        expect([status, code, named], `${position}: ${text}`).to.deep.equal([
          400,
          'invalid_parameter',
          param,
        ]);
    }
  });
});
