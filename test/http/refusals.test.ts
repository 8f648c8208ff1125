import { expect } from 'chai';
import fc from 'fast-check';
import { rounds } from '../support/runner/effort.js';
import { statusOf } from '../../adapters/http/server/errors.js';
import { errorCodes } from '../../domain/errors.js';
import { answersIn, call, codeOf, openRaw, type Call, type Reply } from '../support/http/http.js';
import { operationsOf, readDocument } from '../support/http/document.js';
import { eventually } from '../support/time/eventually.js';
import {
  aCard,
  startTestService,
  type Fields,
  type RunningService,
  type Tenant,
} from '../support/http/service.js';

const later = { arrive_on: '2099-01-01' };
const json = { 'content-type': 'application/json' };
const hello = {
  name: 'Ann Lee',
  line1: '1 Main St',
  city: 'Austin',
  state: 'TX',
  zip: '78701',
  message: 'Hello',
};

/**
 * Refusals that take more than one request, which failures.test.ts and edge.test.ts provoke, and one of the
 * console alone.
 */
const elsewhere = ['request_in_progress', 'invalid_request', 'too_many_designs'];

/** The place and the next step in messages about a state; messages.test.ts has those about a request. */
const says: Readonly<Record<string, readonly string[]>> = {
  no_credits: ['balance is empty', 'Add credits'],
  suspended: ['organization is suspended', 'Ask the people who run the service'],
  no_design_available: ['saved design', 'Save one, or choose a card'],
  hook_disabled: ['hook is paused', 'Resume it'],
  rate_limited: ['This key', 'Wait the number of seconds in Retry-After'],
  too_late_to_cancel: ['it is in production', 'send another one after it'],
  idempotency_key_reused: ['Idempotency-Key', 'Use a new key'],
  invalid_transition: ['the card is in production', 'only pending cards', 'Look the card up'],
  too_many_endpoints: ['webhook endpoints', 'Delete one'],
};

describe('a refusal', () => {
  let service: RunningService;
  let tenant: Tenant;
  let key: string;
  before(async () => {
    service = await startTestService({ WEBHOOK_ENDPOINTS: '1' });
    tenant = await service.tenant({ credits: 10 });
    ({ key } = tenant);
  });
  after(() => service.stop());

  /** The head of the log: it moves with anything that is created, charged or changed. */
  const head = async (): Promise<unknown> => (await service.operator('/operator/v1/anchor')).body['position'];
  const post = (body: object | string | Buffer, headers: Call['headers'] = json, by = key): Call => ({
    method: 'POST',
    path: '/api/v1/cards',
    key: by,
    headers,
    body,
  });

  it('is invalid_cursor in every list for a cursor that names nothing in it', async () => {
    const asking = await service.tenant();
    const hook = await service.operator(`/operator/v1/organizations/${asking.org}/hooks`, { body: {} });
    const card = (await asking.api('/api/v1/cards', { body: aCard(later) })).id;
    const known: Readonly<Record<string, string>> = { org: asking.org, id: hook.id };
    const documents = ['/openapi.json', '/operator/openapi.json'];
    const operations = await Promise.all(
      documents.map(async (path) => operationsOf(await readDocument(service.baseUrl, path))),
    );
    const lists = operations
      .flat()
      .filter(({ parameters }) => parameters?.some(({ name }) => name === 'starting_after'));
    expect(lists.length).to.be.above(15);
    for (const { path, operationId } of lists) {
      const address = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => known[name] ?? '');
      const query = `?starting_after=zzz${operationId === 'listRequests' ? `&subject=${card}` : ''}`;
      const ask = path.startsWith('/operator') ? service.operator : asking.api;
      const { status, code, param } = await ask(`${address}${query}`);
      expect([status, code, param], path).to.deep.equal([400, 'invalid_cursor', 'starting_after']);
    }
  });

  it('creates nothing and charges nothing, whatever its code', async () => {
    const poor = await service.tenant({ credits: 0 });
    const bare = await service.tenant({ credits: 5, designs: false });
    const slow = await service.tenant({ requestsPerMinute: 1 });
    const full = await service.tenant();
    await full.api('/api/v1/webhooks', { body: { url: 'https://93.184.215.14/first' } });
    const idle = await service.tenant();
    await service.operator(`/operator/v1/organizations/${idle.org}`, {
      method: 'PATCH',
      body: { suspended: true },
    });
    const made = await service.operator(`/operator/v1/organizations/${tenant.org}/keys`, {
      body: { scopes: ['cards:read'] },
    });
    const reader = String(made.body['key']);
    const gone = await service.operator(`/operator/v1/organizations/${tenant.org}/keys`, {
      body: { scopes: ['cards:read'] },
    });
    await service.operator(`/operator/v1/organizations/${tenant.org}/keys/${gone.id}`, { method: 'DELETE' });
    const { id } = await tenant.api('/api/v1/cards', {
      body: aCard(later),
      headers: { 'idempotency-key': 'used' },
    });
    await service.operator(`/operator/v1/cards/${id}/queue`, { method: 'POST' });
    await service.operator(`/operator/v1/cards/${id}/steps/card_stock_prepared`, {
      body: { status: 'in_progress' },
    });
    const hookOf = async ({ org }: Tenant, fields: object = {}) =>
      (await service.operator(`/operator/v1/organizations/${org}/hooks`, { body: fields })).body;
    const [open, templated, paused, deleted] = await Promise.all([
      hookOf(tenant),
      hookOf(tenant, { template: 'Hi {{nick}}' }),
      hookOf(tenant),
      hookOf(tenant),
    ]);
    const [poorHook, bareHook] = [await hookOf(poor), await hookOf(bare)];
    const hooks = `/operator/v1/organizations/${tenant.org}/hooks`;
    await service.operator(`${hooks}/${String(paused['id'])}`, { method: 'PATCH', body: { paused: true } });
    await service.operator(`${hooks}/${String(deleted['id'])}`, { method: 'DELETE' });
    const fire = (hook: Fields, body: object | string | Buffer, headers: Call['headers'] = json): Call => ({
      method: 'POST',
      path: `/api/v1/hooks/${String(hook['token'])}`,
      headers,
      body,
    });

    const requests: readonly (readonly [string, number, Call])[] = [
      ['invalid_json', 400, post('{')],
      ['invalid_body', 400, post('[]')],
      ['missing_id', 400, { method: 'DELETE', path: '/api/v1/cards/', key }],
      ['invalid_cursor', 400, { path: '/api/v1/cards?starting_after=x', key }],
      ['invalid_idempotency_key', 400, post(aCard(), { ...json, 'idempotency-key': 'k'.repeat(256) })],
      ['invalid_parameter', 400, { path: '/api/v1/cards?limit=x', key }],
      ['invalid_parameter', 400, post(aCard({ reference: {} }))],
      ['missing_key', 401, { method: 'POST', path: '/api/v1/cards', body: aCard() }],
      ['malformed_key', 401, post(aCard(), json, 'x')],
      ['invalid_key', 401, post(aCard(), json, `hck_${'x'.repeat(43)}`)],
      ['revoked_key', 401, post(aCard(), json, String(gone.body['key']))],
      ['no_credits', 402, post(aCard(), { ...json, 'idempotency-key': 'poor' }, poor.key)],
      ['missing_scope', 403, post(aCard(), json, reader)],
      ['suspended', 403, post(aCard(), json, idle.key)],
      ['missing_scope', 403, { method: 'DELETE', path: `/api/v1/cards/${id}`, key: reader }],
      ['card_not_found', 404, { method: 'DELETE', path: '/api/v1/cards/HC-0000000', key }],
      ['card_not_found', 404, { method: 'DELETE', path: `/api/v1/cards/${id}`, key: poor.key }],
      ['design_not_found', 404, post(aCard({ design_id: 'card:x' }))],
      ['not_found', 404, { ...post(aCard()), path: '/api/v1/card' }],
      ['method_not_allowed', 405, { ...post(aCard()), method: 'PUT' }],
      ['too_late_to_cancel', 409, { method: 'DELETE', path: `/api/v1/cards/${id}`, key }],
      ['body_too_large', 413, post(' '.repeat(102_401))],
      ['unsupported_media_type', 415, post(aCard(), { 'content-type': 'text/plain' })],
      ['invalid_recipient', 422, post({ message: 'x' })],
      ['missing_message', 422, post(aCard({ message: null }))],
      ['message_too_long', 422, post(aCard({ message: 'x'.repeat(501) }))],
      ['broken_merge_field', 422, post(aCard({ message: '{{x}}' }))],
      ['invalid_date', 422, post(aCard({ arrive_on: 'x' }))],
      ['unknown_handwriting', 422, post(aCard({ handwriting: 'x' }))],
      ['no_design_available', 422, post(aCard(), json, bare.key)],
      [
        'idempotency_key_reused',
        422,
        post(aCard({ message: 'Other' }), { ...json, 'idempotency-key': 'used' }),
      ],
      ['rate_limited', 429, post(aCard(), json, slow.key)],
      ['missing_name', 422, { ...post({ email: 'ann@example.com' }), path: '/api/v1/contacts' }],
      ['invalid_birthday', 422, { ...post({ name: 'Ann', birthday: '13-01' }), path: '/api/v1/contacts' }],
      ['invalid_url', 422, { ...post({ url: 'http://example.com' }), path: '/api/v1/webhooks' }],
      [
        'invalid_events',
        422,
        { ...post({ url: 'https://93.184.215.14/', events: ['x'] }), path: '/api/v1/webhooks' },
      ],
      [
        'invalid_transition',
        409,
        { method: 'POST', path: `/operator/v1/cards/${id}/queue`, key: service.operatorToken },
      ],
      [
        'too_many_endpoints',
        422,
        { ...post({ url: 'https://93.184.215.14/second' }, json, full.key), path: '/api/v1/webhooks' },
      ],
      ['invalid_hook', 401, fire({ token: 'x' }, hello)],
      ['invalid_hook', 401, fire(deleted, hello)],
      ['hook_disabled', 403, fire(paused, hello)],
      ['invalid_json', 400, fire(open, '{')],
      ['invalid_body', 400, fire(open, '[]')],
      ['invalid_parameter', 400, fire(open, { ...hello, reference: {} })],
      ['no_credits', 402, fire(poorHook, hello)],
      ['design_not_found', 404, fire(open, { ...hello, design_id: 'card:x' })],
      ['body_too_large', 413, fire(open, ' '.repeat(102_401))],
      ['unsupported_media_type', 415, fire(open, hello, { 'content-type': 'text/plain' })],
      ['invalid_recipient', 422, fire(open, { ...hello, zip: 'x' })],
      ['missing_message', 422, fire(open, { ...hello, message: null })],
      ['message_too_long', 422, fire(open, { ...hello, message: 'x'.repeat(501) })],
      ['broken_merge_field', 422, fire(open, { ...hello, message: '{{x}}' })],
      ['invalid_date', 422, fire(open, { ...hello, arrive_on: 'x' })],
      ['unknown_handwriting', 422, fire(open, { ...hello, handwriting: 'x' })],
      ['no_design_available', 422, fire(bareHook, hello)],
      ['template_incomplete', 422, fire(templated, { ...hello, message: null })],
    ];
    const refusals = errorCodes.filter((code) => statusOf(code) < 500 && !elsewhere.includes(code));
    expect(new Set(requests.map(([code]) => code))).to.deep.equal(new Set(refusals));
    for (const [code, status, request] of requests) {
      // Immediately before, because a clock minute may end at any time.
      if (code === 'rate_limited')
        await eventually(async () => (await slow.api('/api/v1/account')).status === 429);
      const before = await head();
      const reply = await call(service, request);
      expect([reply.status, codeOf(reply), await head()], code).to.deep.equal([status, code, before]);
      for (const word of says[code] ?? []) expect(reply.text).to.include(word);
    }
    const balances = await Promise.all([tenant, poor, bare].map(({ balance }) => balance()));
    expect(balances).to.deep.equal([9, 0, 5]);
  });

  const piece = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 12 }).map(encodeURIComponent),
    fc.constantFrom(
      '%',
      '%zz',
      '%00',
      '..',
      '.',
      ';',
      '[]',
      '__proto__',
      'HC-0000000',
      '%2f',
      '%ff',
      'cards',
      'x'.repeat(500),
    ),
  );
  const path = fc
    .tuple(
      fc.constantFrom('/api/v1/', '/api/v1/cards/', '/v1/', '/operator/v1/', '/operator/v1/cards/', '/'),
      fc.array(piece, { maxLength: 3 }),
      fc.array(piece, { maxLength: 4 }),
    )
    .map(
      ([root, pieces, query]) =>
        `${root}${pieces.join('/')}${query.length === 0 ? '' : `?${query.map((each, at) => (at % 2 === 0 ? `${each}=` : `${each}&`)).join('')}`}`,
    );
  /** The order page of a card, which people see. */
  const isPageOfConsole = (target: string): boolean => /^\/cards\/[^/?]+(\?|$)/.test(target);
  const header = fc.tuple(
    fc.constantFrom('accept', 'authorization', 'content-type', 'content-encoding', 'idempotency-key', 'if-none-match', 'range', 'x-forwarded-for', 'x-http-method-override', 'x-request-id', 'transfer-encoding', 'cookie', 'expect'),
    fc.oneof(fc.string({ unit: 'grapheme-ascii', maxLength: 20 }).map((text) => text.trim()), fc.constantFrom('application/json', 'text/html', 'chunked', '100-continue', 'bytes=0-1', '*')),
  ); // prettier-ignore
  const body = fc.oneof(
    fc.json(),
    fc.constantFrom(
      '',
      '{',
      'null',
      '{"recipient":{}}',
      '{"__proto__":{"recipient":1}}',
      `{"message":"${'{{'.repeat(5_000)}"}`,
    ),
    fc.uint8Array({ maxLength: 50 }).map((bytes) => Buffer.from(bytes)),
  );

  it('is the response to random requests: in JSON, with a status below 500, and nothing changes', async () => {
    const before = await head();
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE'),
        path,
        fc.array(header, { maxLength: 4 }),
        fc.option(body, { nil: undefined }),
        fc.constantFrom(key, service.operatorToken, undefined),
        async (method, target, headers, sent, token) => {
          const { 'transfer-encoding': chunked, ...rest } = Object.fromEntries(headers);
          const fields = { ...(token !== undefined && { authorization: `Bearer ${token}` }), ...rest };
          const reply: Reply = await call(service, { method, path: target, headers: chunked === undefined || sent === undefined ? fields : rest, ...(sent !== undefined && { body: sent }) });
          expect(reply.status, reply.text).to.be.within(200, 499);
          expect(reply.headers['x-request-id']).to.match(/^req_/);
          // An Expect that is not supported is refused before anybody looks at the path.
          const isPage = reply.status !== 417 && isPageOfConsole(target) && (method === 'POST' || method === 'GET' || method === 'HEAD');
          const type = isPage ? 'text/html; charset=utf-8' : 'application/json; charset=utf-8';
          if (reply.status >= 400) expect(reply.headers['content-type'], target).to.equal(type);
        },
      ),
      { numRuns: rounds({ usually: 100, thoroughly: 400 }) },
    ); // prettier-ignore
    expect(await head()).to.equal(before);
  });
  it('is the response to random bytes, and the connection ends', async () => {
    const before = await head();
    const line = fc.constantFrom(
      'GET /api/v1/cards HTTP/1.1\r\n',
      `POST /api/v1/cards HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n`,
      'Host: x\r\n',
      'Content-Length: 5\r\n',
      'Transfer-Encoding: chunked\r\n',
      'Content-Type: application/json\r\n',
      '\r\n',
      '5\r\n{"a":\r\n',
      '0\r\n\r\n',
      '\0',
      'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof(line, fc.string({ unit: 'binary-ascii', maxLength: 20 })), {
          minLength: 1,
          maxLength: 8,
        }),
        async (pieces) => {
          const connection = openRaw(service.port);
          connection.socket.end(pieces.join(''), 'latin1');
          await eventually(() => connection.ended());
          for (const reply of answersIn(connection.seen())) {
            expect(reply.status).to.be.within(200, 499);
            expect(reply.headers['content-type']).to.equal('application/json; charset=utf-8');
          }
        },
      ),
      { numRuns: rounds({ usually: 40, thoroughly: 100 }) },
    );
    expect(await head()).to.equal(before);
  });
});
