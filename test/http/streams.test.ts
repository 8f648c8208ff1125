import { expect } from 'chai';
import { SystemClock } from '../../adapters/system/clock.js';
import { mistakeIn } from '../support/http/conformance.js';
import { operationsOf, readDocument, type Document } from '../support/http/document.js';
import { authority, receiverSettings, startReceiver, type Receiver } from '../support/http/receiver.js';
import { aCard, startTestService, type RunningService, type Tenant } from '../support/http/service.js';

const type = 'text/event-stream';
type Sent = Readonly<Record<string, string>>;

/** An event as a reader of server-sent events puts it together; null for a comment. */
const eventOf = (block: string): Sent | null => {
  const lines = block.split('\n').filter((line) => !line.startsWith(':'));
  const fields = lines.map((line) => /^(\w+): ?(.*)$/.exec(line)?.slice(1) ?? [line, '']);
  return fields.length === 0 ? null : (Object.fromEntries(fields) as Sent);
};

describe('the streams of server-sent events', () => {
  let service: RunningService;
  let receiver: Receiver;
  let tenant: Tenant;
  let document: Document;
  before(async () => {
    receiver = await startReceiver();
    service = await startTestService(receiverSettings, new SystemClock(), [authority.cert]);
    tenant = await service.tenant();
    document = await readDocument(service.baseUrl);
    await tenant.api('/api/v1/webhooks', { body: { url: receiver.url } });
  });
  after(() => Promise.all([service.stop(), receiver.close()]));

  /** The first events of a stream; a card is sent once it is open. */
  const read = async (path: string, token: string, count: number): Promise<readonly Sent[]> => {
    const closing = new AbortController();
    const response = await fetch(`${service.baseUrl}${path}`, {
      headers: { authorization: `Bearer ${token}`, accept: type },
      signal: AbortSignal.any([closing.signal, AbortSignal.timeout(30_000)]),
    });
    expect(response.headers.get('content-type')).to.equal(`${type}; charset=utf-8`);
    await tenant.api('/api/v1/cards', { body: aCard() });
    let text = '';
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk;
      const events = text
        .split('\n\n')
        .slice(0, -1)
        .map(eventOf)
        .filter((event) => event !== null);
      if (events.length < count) continue;
      closing.abort();
      return events;
    }
    throw new Error(`The stream has ended: ${text}`);
  };

  const streams = () => operationsOf(document).filter(({ responses }) => responses['200']?.content?.[type]);

  it('send what their schemas describe', async () => {
    expect(streams().map(({ operationId }) => operationId)).to.have.members([
      'listEvents',
      'followDeliveries',
      'followOrganizationDeliveries',
      'followEvents',
    ]);
    for (const { operationId, path, responses } of streams()) {
      const { schema = {} } = responses['200']?.content?.[type] ?? {};
      const data = schema.properties?.['data'];
      expect([schema.type, data?.type, data?.contentMediaType], operationId).to.deep.equal([
        'object',
        'string',
        'application/json',
      ]);
      const token = path.startsWith('/operator') ? service.operatorToken : tenant.key;
      // A delivery has an event when it is made, and one after its attempt.
      const count = operationId.endsWith('Deliveries') ? 2 : 1;
      for (const event of await read(path.replaceAll(/\{\w+\}/g, tenant.org), token, count)) {
        expect(mistakeIn(document, schema, event), operationId).to.equal(null);
        const told = JSON.parse(String(event['data'])) as unknown;
        expect(mistakeIn(document, data?.contentSchema ?? {}, told), operationId).to.equal(null);
      }
      expect(mistakeIn(document, schema, { id: '1' })).not.to.equal(null);
      const { contentSchema = {} } = data ?? {};
      if (contentSchema.$ref !== undefined)
        expect(mistakeIn(document, contentSchema, {}), operationId).not.to.equal(null);
    }
  });

  it('tell how far the log has come, and CloudEvents, as the schema of the log describes', async () => {
    const log = operationsOf(document).find(({ operationId }) => operationId === 'followEvents');
    const { contentSchema = {} } = log?.responses['200']?.content?.[type]?.schema?.properties?.['data'] ?? {};
    const first = async (query: string): Promise<object> => {
      const [event] = await read(`/operator/v1/events?${query}`, service.operatorToken, 1);
      return JSON.parse(String(event?.['data'])) as object;
    };
    const [mark, cloudEvent] = [
      await first('until=head&types=PasswordChanged'),
      await first('format=cloudevents'),
    ];
    expect([mark, cloudEvent].map((told) => mistakeIn(document, contentSchema, told))).to.deep.equal([
      null,
      null,
    ]);
    expect(mark).to.have.keys('position', 'done');
    expect(cloudEvent).to.include.keys('specversion', 'data');
    expect(mistakeIn(document, contentSchema, { ...cloudEvent, data: {} })).not.to.equal(null);
  });

  it('show events that their schemas describe', () => {
    for (const { operationId, responses } of streams()) {
      const { schema } = responses['200']?.content?.[type] ?? {};
      const [example] = (schema?.examples ?? []) as readonly Sent[];
      const told = JSON.parse(String(example?.['data'])) as unknown;
      const contentSchema = schema?.properties?.['data']?.contentSchema ?? {};
      expect(mistakeIn(document, contentSchema, told), operationId).to.equal(null);
    }
  });
});
