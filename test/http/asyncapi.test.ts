import { get, type IncomingMessage } from 'node:http';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import { z } from 'zod';
import { card } from '../../domain/card.js';
import { categories } from '../../domain/ids.js';
import {
  aCard,
  startTestService,
  type RunningService,
  type Send,
  type Tenant,
} from '../support/http/service.js';
import { memberOf, password, Visitor } from '../support/http/visitor.js';

const Reference = z.object({ $ref: z.string() });
const Document = z.object({
  asyncapi: z.literal('3.1.0'),
  info: z.object({ contact: z.object({ url: z.string() }), license: z.object({ name: z.string() }) }),
  servers: z.record(z.string(), z.object({ host: z.string(), protocol: z.string() })),
  channels: z.record(
    z.string(),
    z.object({
      address: z.string(),
      messages: z.record(z.string(), Reference),
      servers: z.array(Reference),
      bindings: z
        .object({ amqp: z.object({ exchange: z.object({ name: z.string(), type: z.string() }) }) })
        .optional(),
    }),
  ),
  operations: z.record(
    z.string(),
    z.object({ action: z.literal('send'), channel: Reference, description: z.string() }),
  ),
  components: z.object({
    messages: z.record(
      z.string(),
      z.object({ name: z.string(), summary: z.string(), payload: z.record(z.string(), z.unknown()) }),
    ),
    schemas: z.record(z.string(), z.unknown()),
  }),
});
type Document = z.infer<typeof Document>;

/** Closes every object: an event must have no field that the document does not name. */
const closed = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const inside = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, closed(value)]));
  return typeof inside['properties'] === 'object' ? { ...inside, additionalProperties: false } : inside;
};

const Published = z.looseObject({ position: z.string(), stream: z.string(), type: z.string() });
type Published = z.infer<typeof Published>;

/** Events that only a dying process, a failing receiver, an offline command or a console form causes. */
const notMadeHere = [
  'HeadGivenUp',
  'KeysLost',
  'CardAbandoned',
  'ReleaseAbandoned',
  'HouseHandChosen',
  'DesignRenamed',
  'DesignErased',
  'DesignWithdrawn',
  'WithdrawalCarriedOut',
  'DesignReinstated',
  'EndpointDisabled',
  'EndpointEnabled',
];

describe('GET /asyncapi.json', () => {
  let service: RunningService;
  let tenant: Tenant;
  let document: Document;
  before(async () => {
    service = await startTestService();
    tenant = await service.tenant();
    document = Document.parse((await service.anonymous('/asyncapi.json')).body);
  });
  after(() => service.stop());

  const operate = async (path: string, send: Send = { method: 'POST' }) => {
    const reply = await service.operator(`/operator/v1/${path}`, send);
    expect(reply.status, `${path} ${reply.text}`).to.be.lessThan(300);
    return reply;
  };
  const ask = async (path: string, send?: Send) => {
    const reply = await tenant.api(`/api/v1/${path}`, send);
    expect(reply.status, `${path} ${reply.text}`).to.be.lessThan(300);
    return reply;
  };
  const remove = { method: 'DELETE' };
  const send = (changes: object = {}) => ask('cards', { body: aCard(changes) });

  /** Makes events of nearly every type. */
  const everything = async (): Promise<void> => {
    const own = (path: string, send?: Send) =>
      operate(`organizations/${tenant.org}${path === '' ? '' : `/${path}`}`, send);
    const { id: made } = await send({ arrive_on: '2099-01-01' });
    await ask(`cards/${made}`, remove);
    await operate('collection/spring', { method: 'PUT', body: { title: 'Spring', active: true } });
    const { id: stepped } = await send({ design_id: 'card:spring' });
    await operate(`cards/${stepped}/hold`, { body: { reason: 'a look' } });
    await operate(`cards/${stepped}/release`);
    await operate(`cards/${stepped}/queue`);
    for (const status of ['in_progress', 'failed', 'in_progress', 'completed'])
      await operate(`cards/${stepped}/steps/card_stock_prepared`, { body: { status, machine: 'pen 1' } });
    await operate(`cards/${stepped}/fail`, { body: { reason: 'no paper' } });
    await own('do-not-mail', { body: { email: 'ada@example.com' } });
    await own('do-not-mail/ada@example.com', remove);
    for (const name of ['Ada', 'Ada Lovelace'])
      await ask('contacts', {
        body: { name, external_id: '1', email: 'ada@example.com', birthday: '12-10' },
      });
    const [contact] = (await ask('contacts')).rows;
    await own('erasures', { body: { cards: [made], contacts: [contact?.['id']], reason: 'a request' } });
    const { id: hook } = await own('hooks', { body: { label: 'Shop' } });
    await own(`hooks/${hook}`, { method: 'PATCH', body: { label: 'Store' } });
    for (const paused of [true, false]) await own(`hooks/${hook}`, { method: 'PATCH', body: { paused } });
    await own(`hooks/${hook}`, remove);
    const { id: endpoint } = await ask('webhooks', { body: { url: 'https://93.184.215.14/cards' } });
    await own(`webhooks/${endpoint}/rotate`);
    await ask(`webhooks/${endpoint}`, { method: 'PATCH', body: { description: 'CRM' } });
    await ask(`webhooks/${endpoint}`, remove);
    const { id: key } = await own('keys', { body: { scopes: ['cards:read'] } });
    await own(`keys/${key}`, remove);
    await own(`designs/${tenant.design}`, remove);
    await own('credits', { body: { amount: 2, reference: 'invoice 1' } });
    await operate('keys', { body: { scopes: ['operator:floor'] } });
    await own('credits/withdraw', { body: { amount: 1, reason: 'refund' } });
    await operate(`exports?card=${made}`, { method: 'GET' });
    const email = 'ada@example.com';
    const ada = await memberOf(service, tenant.org, 'owner', email);
    await new Visitor(service).submit('/console/sign-in', 'signIn', { email, password });
    await ada.submit('/console/me', 'signOutOthers');
    await ada.submit('/console/me', 'changePassword', { password, next: 'another pelican staircase' });
    const { id: met } = await ask('contacts', { body: { name: 'Mae', external_id: '2' } });
    await ada.submit(`/console/${tenant.org}/contacts/${met}`, 'remove');
    await memberOf(service, tenant.org, 'viewer');
    const [, viewer] = (await own('members', {})).rows;
    await own(`members/${String(viewer?.['id'])}`, { method: 'PATCH', body: { role: 'developer' } });
    await own(`members/${String(viewer?.['id'])}`, remove);
    for (const suspended of [true, false])
      await own('', { method: 'PATCH', body: { suspended, name: `Acme ${suspended}` } });
    for (const active of [true, false]) {
      await operate('collection/spring', { method: 'PUT', body: { title: 'Spring', active } });
      await operate('handwriting/Spidery', { method: 'PUT', body: { active } });
    }
  };

  const log = async (): Promise<readonly Published[]> => {
    const { position } = (await service.operator('/operator/v1/anchor')).body;
    const options = {
      headers: { authorization: `Bearer ${service.operatorToken}` },
      agent: false,
      timeout: 5_000,
    };
    const request = get(`${service.baseUrl}/operator/v1/events`, options);
    const response = await new Promise<IncomingMessage>((done, fail) =>
      request.once('response', done).once('error', fail),
    );
    const events: Published[] = [];
    let rest = '';
    for await (const chunk of response.setEncoding('utf8')) {
      const lines = (rest + String(chunk)).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines)
        if (line.startsWith('data: ')) events.push(Published.parse(JSON.parse(line.slice(6))));
      if (events.at(-1)?.position === position) break;
    }
    return events;
  };

  it('has one channel with one message for every event type, on the topic exchange', () => {
    const { log: _, ...channels } = document.channels;
    const keys = Object.keys(channels);
    for (const [key, { address, messages, bindings, servers }] of Object.entries(channels)) {
      const type = key.slice(key.indexOf('.') + 1);
      const { exchange } = bindings?.amqp ?? {};
      expect([servers, address, messages, exchange?.name, exchange?.type]).to.deep.equal([
        [{ $ref: '#/servers/rabbitmq' }],
        key,
        { [type]: { $ref: `#/components/messages/${type}` } },
        'cards.events',
        'topic',
      ]);
      expect(document.operations[`publish${type}`]).to.deep.include({
        action: 'send',
        channel: { $ref: `#/channels/${key}` },
      });
      expect(document.components.messages[type]?.summary, type).to.match(/\.$/);
    }
    expect(Object.keys(document.components.messages)).to.have.length(keys.length);
    expect(new Set(keys.map((key) => key.split('.')[0]))).to.deep.equal(new Set(categories));
    expect(keys.filter((key) => key.startsWith('card.'))).to.deep.equal(
      Object.keys(card.schemas).map((type) => `card.${type}`),
    );
  });

  it('has the log over HTTP as an operation, on the server of the operator API', () => {
    const { log } = document.channels;
    expect([log?.address, log?.servers]).to.deep.equal(['/operator/v1/events', [{ $ref: '#/servers/http' }]]);
    expect(log?.messages).to.deep.equal(
      Object.fromEntries(
        Object.keys(document.components.messages).map((type) => [
          type,
          { $ref: `#/components/messages/${type}` },
        ]),
      ),
    );
    expect(document.operations['followEvents']).to.deep.include({
      action: 'send',
      channel: { $ref: '#/channels/log' },
    });
    expect(document.servers['http']?.host).to.equal(new URL(service.baseUrl).host);
    expect(document.servers['rabbitmq']?.protocol).to.equal('amqp');
  });

  it('describes exactly the fields of the events that the service publishes', async () => {
    await everything();
    const { messages, schemas } = document.components;
    const ajv = new Ajv2020({
      strict: true,
      allowUnionTypes: true,
      keywords: ['components'],
      formats: {
        uuid: /^[0-9a-f-]{36}$/,
        'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}(?:Z|\+00:00)$/,
      },
    });
    ajv.addSchema({ $id: 'doc:', components: closed({ schemas }) });
    const checks = new Map(
      Object.entries(messages).map(([type, { payload }]) => [
        type,
        ajv.compile(
          JSON.parse(
            JSON.stringify(closed(payload)).replaceAll('"#/components', '"doc:#/components'),
          ) as object,
        ),
      ]),
    );
    const events = await log();
    for (const event of events) {
      const check = checks.get(event.type);
      expect(check?.(event), `${JSON.stringify(event)} ${JSON.stringify(check?.errors)}`).to.equal(true);
    }
    expect(new Set([...events.map(({ type }) => type), ...notMadeHere])).to.deep.equal(
      new Set(Object.keys(messages)),
    );
  });

  it('says of every field what it means', () => {
    const unexplained: string[] = [];
    const look = (schema: unknown, path: string): void => {
      if (typeof schema !== 'object' || schema === null) return;
      for (const [keyword, value] of Object.entries(schema)) {
        if (keyword !== 'properties') look(value, path);
        else
          for (const [name, field] of Object.entries(value as Readonly<Record<string, object>>)) {
            if (!('description' in field) && !('$ref' in field)) unexplained.push(`${path}.${name}`);
            look(field, `${path}.${name}`);
          }
      }
    };
    const { messages, schemas } = document.components;
    for (const [type, { payload }] of Object.entries(messages)) look(payload, type);
    look(schemas, 'metadata');
    expect(unexplained).to.deep.equal([]);
  });

  it('is linked from the documentation and explained there', async () => {
    const { text } = await service.anonymous('/docs');
    expect(text)
      .to.include('href="/asyncapi.json"')
      .and.to.include('<section id="event-stream"')
      .and.to.include('cards.events');
  });
});
