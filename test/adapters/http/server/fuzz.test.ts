import { expect } from 'chai';
import fc from 'fast-check';
import { eventually } from '../../../support/time/eventually.js';
import {
  answersIn,
  call,
  codeOf,
  keys,
  openRaw,
  operatorToken,
  startHttp,
  type Reply,
  type TestService,
} from '../../../support/http/http.js';
import { newTraces, testRoutes } from '../../../support/http/http-routes.js';

const runs = { numRuns: 150 };
const printable = fc.string({
  unit: fc.constantFrom(...Array.from({ length: 94 }, (_, at) => String.fromCharCode(33 + at))),
  maxLength: 30,
});
const piece = fc.oneof(
  printable,
  fc.constantFrom(
    '%',
    '%2F',
    '%00',
    '%zz',
    '%E2%80',
    '..',
    '.',
    '',
    ';',
    '//',
    '__proto__',
    'constructor',
    'toString',
    '?',
    '#',
    '&',
    '=',
    '[]',
  ),
);
const path = fc
  .tuple(
    fc.constantFrom(
      '',
      '/api/v1/cards',
      '/api/v1/cards/',
      '/api/v1/webhooks/',
      '/api/v1/hooks/',
      '/operator/v1/cards/',
      '/docs',
      '/docs/errors/',
      '/openapi.json',
    ),
    fc.array(piece, { maxLength: 4 }),
  )
  .map(([start, pieces]) => `${start}${start === '' ? '/' : ''}${pieces.join('')}`);
const method = fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE');
const headerName = fc.constantFrom(
  'authorization',
  'content-type',
  'content-encoding',
  'accept',
  'idempotency-key',
  'expect',
  'x-request-id',
  'te',
  'range',
  'if-none-match',
  'cookie',
  'host',
);
const headerValue = fc.oneof(
  fc.constantFrom(
    `Bearer ${keys.all}`,
    `bearer ${operatorToken}`,
    'Bearer',
    'application/json',
    'application/json; charset=',
    'application/json; charset="',
    '100-continue',
    'gzip',
    'text/html',
    '*',
    'bytes=0-1',
  ),
  printable,
);
const headers = fc.dictionary(headerName, headerValue, { maxKeys: 5 });
const body = fc.oneof(
  fc.json(),
  fc.jsonValue().map((value) =>
    JSON.stringify({
      recipient: value,
      message: value,
      arrive_on: value,
      reference: value,
      events: value,
      count: value,
    }),
  ),
  fc
    .record(
      {
        recipient: fc.record({ name: fc.jsonValue(), zip: fc.jsonValue() }, { requiredKeys: [] }),
        message: fc.string(),
      },
      { requiredKeys: [] },
    )
    .map((value) => JSON.stringify(value)),
  fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
  fc.constantFrom(
    '',
    '{',
    '[',
    'null',
    '{"__proto__":{}}',
    '{"recipient":{"__proto__":null}}',
    '{"toString":1}',
    '['.repeat(5000),
    '{"a":1e999}',
    '{"reference":1e999}',
  ),
);

/** What is true of every response, whatever the request. */
const isSound = (reply: Reply, head: boolean): void => {
  expect(reply.status, reply.text).to.be.within(200, 499);
  expect(reply.headers['x-request-id']).to.match(/^req_/);
  expect(reply.headers['x-ratelimit-limit']).to.equal('1000000');
  if (reply.status < 400) return;
  expect(reply.headers['content-type']).to.equal('application/json; charset=utf-8');
  if (!head) expect(codeOf(reply)).to.be.a('string');
};

describe('a service that gets random requests', () => {
  let service: TestService;
  before(async () => {
    service = await startHttp(testRoutes(newTraces()), { requestsPerMinute: 1_000_000 });
  });
  after(() => service.close());

  it('responds soundly to any method, path, header and body', () =>
    fc.assert(
      fc.asyncProperty(
        method,
        path,
        headers,
        fc.option(body, { nil: undefined }),
        async (verb, target, fields, payload) => {
          isSound(
            await call(service, {
              method: verb,
              path: target,
              headers: fields,
              ...(payload === undefined ? {} : { body: payload }),
            }),
            verb === 'HEAD',
          );
        },
      ),
      runs,
    ));

  it('responds soundly to any JSON body', () =>
    fc.assert(
      fc.asyncProperty(
        fc.constantFrom('/api/v1/cards', '/api/v1/hooks/good'),
        body,
        async (target, payload) => {
          isSound(
            await call(service, {
              method: 'POST',
              path: target,
              key: keys.all,
              headers: { 'content-type': 'application/json' },
              body: payload,
            }),
            false,
          );
        },
      ),
      runs,
    ));

  it('responds soundly to any query', () =>
    fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 6 }), async (pieces) => {
        isSound(await call(service, { path: `/api/v1/cards?${pieces.join('')}`, key: keys.all }), false);
      }),
      runs,
    ));

  it('responds only with JSON to any bytes, and always ends the connection', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.oneof(
            fc.string({ unit: 'binary-ascii', maxLength: 40 }),
            fc.constantFrom(
              'GET / HTTP/1.1\r\n',
              'POST /api/v1/hooks/good HTTP/1.1\r\nHost: x\r\n',
              'Host: x\r\n',
              'Content-Length: 3\r\n',
              'Transfer-Encoding: chunked\r\n',
              'Content-Type: application/json\r\n',
              '\r\n',
              '3\r\n{}\n\r\n',
              '0\r\n\r\n',
            ),
          ),
          { minLength: 1, maxLength: 8 },
        ),
        async (pieces) => {
          const connection = openRaw(service.port);
          connection.socket.end(pieces.join(''), 'latin1');
          await eventually(() => connection.ended());
          for (const reply of answersIn(connection.seen())) {
            expect(reply.status).to.be.below(500);
            expect(reply.headers['content-type']).to.equal('application/json; charset=utf-8');
          }
        },
      ),
      runs,
    ));
});
