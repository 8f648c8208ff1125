import { expect } from 'chai';
import { CloudEvent, HTTP } from 'cloudevents';
import {
  aCard,
  startTestService,
  type Fields,
  type RunningService,
  type Tenant,
} from '../support/http/service.js';

const batchType = 'application/cloudevents-batch+json';

/** What a consumer with the SDK of CloudEvents makes of a body. Throws if it is not valid. */
const consumed = (type: string, body: unknown): readonly CloudEvent<Fields>[] =>
  [HTTP.toEvent<Fields>({ headers: { 'content-type': type }, body: JSON.stringify(body) })]
    .flat()
    .map((event) => new CloudEvent<Fields>(event as Partial<CloudEvent<Fields>>));
const consumedOne = (body: unknown): CloudEvent<Fields> => {
  const [event] = consumed('application/cloudevents+json', body);
  if (event === undefined) throw new Error('no event');
  return event;
};

describe('the events as CloudEvents', () => {
  let service: RunningService;
  let tenant: Tenant;
  let codes: readonly string[];
  before(async () => {
    service = await startTestService();
    tenant = await service.tenant();
    const send = async () => (await tenant.api('/api/v1/cards', { body: aCard({ reference: 'r' }) })).id;
    codes = [await send(), await send()];
  });
  after(() => service.stop());

  /** The data of the first server-sent events that are not marks. */
  const follow = async (path: string, token: string, count: number): Promise<readonly Fields[]> => {
    const closing = new AbortController();
    const response = await fetch(`${service.baseUrl}${path}`, {
      headers: { authorization: `Bearer ${token}`, accept: 'text/event-stream' },
      signal: AbortSignal.any([closing.signal, AbortSignal.timeout(20_000)]),
    });
    let read = '';
    const found = () =>
      [...read.matchAll(/^data: (.+)\n\n/gm)].map(([, data = '']) => JSON.parse(data) as Fields);
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      read += chunk;
      if (found().length >= count) break;
    }
    closing.abort();
    return found().slice(0, count);
  };
  const plain = async (): Promise<readonly Fields[]> => (await tenant.api('/api/v1/events')).rows;

  const isToldAs = (event: CloudEvent<Fields>, webhook: Fields | undefined): void => {
    const { id, type, created, data } = webhook ?? {};
    expect(event).to.deep.include({ specversion: '1.0', id, type, time: created, data });
    expect(event).to.include({ source: service.baseUrl, subject: (data as Fields)['card'] });
    expect(event.datacontenttype).to.equal('application/json');
  };

  it('are listed and followed with format=cloudevents, with all that a webhook tells', async () => {
    const webhooks = await plain();
    const listed = await tenant.api('/api/v1/events?format=cloudevents');
    expect(listed.rows).to.have.length(2);
    for (const [at, row] of listed.rows.entries()) {
      expect(row).to.deep.include(webhooks[at]);
      isToldAs(consumedOne(row), webhooks[at]);
    }
    const followed = await follow('/api/v1/events?format=cloudevents', tenant.key, 2);
    expect(followed.toReversed()).to.deep.equal(listed.rows);
  });

  for (const accept of [batchType, 'application/cloudevents+json'])
    it(`are a batch for a client that accepts ${accept}, page by page`, async () => {
      const events: CloudEvent<Fields>[] = [];
      let next: string | null = `${service.baseUrl}/api/v1/events?limit=1&type=card.created`;
      while (next !== null) {
        const response: Response = await fetch(next, {
          headers: { authorization: `Bearer ${tenant.key}`, accept },
        });
        expect(response.headers.get('content-type')).to.equal(batchType);
        const page = (await response.json()) as readonly unknown[];
        expect(page.length).to.be.at.most(1);
        events.push(...consumed(batchType, page));
        next = /^<(.+)>; rel="next"$/.exec(response.headers.get('link') ?? '')?.[1] ?? null;
      }
      for (const [at, webhook] of (await plain()).entries())
        isToldAs(events[at] as CloudEvent<Fields>, webhook);
      // Of this client's responses every header has to be in the OpenAPI document.
      const { headers } = await tenant.api('/api/v1/events?limit=1', { headers: { accept } });
      expect(headers.has('link')).to.equal(true);
      expect(events.map(({ subject }) => subject)).to.deep.equal(codes.toReversed());
    });

  it('of the log come with their JSON as data', async () => {
    const events = '/operator/v1/events?category=card';
    const [usual] = await follow(events, service.operatorToken, 1);
    const [told] = await follow(`${events}&format=cloudevents`, service.operatorToken, 1);
    const event = consumedOne(told);
    const { id, at, stream: subject, log, type } = usual as Record<string, string>;
    const time = at?.replace('+00:00', 'Z');
    expect(time).to.match(/Z$/).and.not.to.equal(at);
    expect(event.data).to.deep.equal(usual);
    expect(event).to.include({ id, time, subject, source: `urn:uuid:${log}`, type: `card.${type}` });
  });

  it('refuse another format', async () => {
    const { status, code, param } = await tenant.api('/api/v1/events?format=avro');
    expect([status, code, param]).to.deep.equal([400, 'invalid_parameter', 'format']);
  });
});
