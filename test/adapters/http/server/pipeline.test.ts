import { expect } from 'chai';
import { wholeList } from '../../../../adapters/http/api/responses.js';
import { route } from '../../../../adapters/http/server/route.js';
import {
  authenticate,
  call,
  codeOf,
  keyOf,
  keys,
  operatorToken,
  paramOf,
  startHttp,
  type Call,
  type Reply,
  type TestService,
} from '../../../support/http/http.js';
import { eventually } from '../../../support/time/eventually.js';
import { newTraces, operation, testRoutes } from '../../../support/http/http-routes.js';

const recipient = { name: 'Ada', line1: '12 Way', state: 'IL', zip: '62701' };
const card = { recipient, message: 'Thank you.' };

describe('the request pipeline', () => {
  const traces = newTraces();
  let service: TestService;
  before(async () => {
    service = await startHttp(testRoutes(traces));
  });
  after(() => service.close());

  const refuses = async (request: Call, status: number, code: string): Promise<Reply> => {
    const reply = await call(service, request);
    expect([reply.status, codeOf(reply)]).to.deep.equal([status, code]);
    return reply;
  };

  it('tells a handler when the request came, by the clock of the keys, however long its key is looked up', async () => {
    let now = 1_000;
    const slow = await startHttp(
      [
        route('GET /api/v1/account', {
          access: { kind: 'key', scope: 'cards:read' },
          ...operation('getAccount'),
          handle: ({ came }) => Promise.resolve({ status: 200, body: { echo: { came } } }),
        }),
      ],
      {
        keysClock: { now: () => now },
        authenticator: {
          authenticate: (secret) => {
            now += 86_400_000;
            return authenticate(secret);
          },
        },
      },
    );
    const reply = await call(slow, { path: '/api/v1/account', key: keys.readOnly });
    await slow.close();
    expect(reply.body).to.deep.include({ echo: { came: 1_000 } });
  });

  describe('the order of checks (decision 1)', () => {
    const wrongEverything = { method: 'POST', headers: { 'content-type': 'text/plain' }, body: '{' };

    it('checks the route before the key', async () => {
      await refuses({ ...wrongEverything, path: '/api/v1/nothing', key: keys.unknown }, 404, 'not_found');
      await refuses(
        { ...wrongEverything, method: 'PATCH', path: '/api/v1/cards', key: keys.unknown },
        405,
        'method_not_allowed',
      );
    });
    it('checks the key before the rate', () =>
      refuses({ ...wrongEverything, path: '/api/v1/cards', key: keys.unknown }, 401, 'invalid_key').then(
        () => undefined,
      ));
    it('checks the rate before the scope', async () => {
      service.clock.set('2026-03-02T16:00:00.000Z');
      await call(service, { path: '/api/v1/account', key: keys.slow });
      await call(service, { path: '/api/v1/account', key: keys.slow });
      await refuses({ ...wrongEverything, path: '/api/v1/cards', key: keys.slow }, 429, 'rate_limited');
    });
    it('checks the scope before the content type', () =>
      refuses({ ...wrongEverything, path: '/api/v1/cards', key: keys.readOnly }, 403, 'missing_scope').then(
        () => undefined,
      ));
    it('checks the content type before the size', () =>
      refuses(
        { ...wrongEverything, path: '/api/v1/cards', key: keys.all, body: 'x'.repeat(200_000) },
        415,
        'unsupported_media_type',
      ).then(() => undefined));
    it('checks the size before the JSON syntax', () =>
      refuses(
        {
          method: 'POST',
          path: '/api/v1/cards',
          key: keys.all,
          headers: { 'content-type': 'application/json' },
          body: '{'.repeat(200_000),
        },
        413,
        'body_too_large',
      ).then(() => undefined));
    it('checks the JSON syntax before the type of the body', () =>
      refuses(
        {
          method: 'POST',
          path: '/api/v1/cards',
          key: keys.all,
          headers: { 'content-type': 'application/json' },
          body: '[',
        },
        400,
        'invalid_json',
      ).then(() => undefined));
    it('checks the type of the body before the fields', () =>
      refuses({ method: 'POST', path: '/api/v1/cards', key: keys.all, body: [] }, 400, 'invalid_body').then(
        () => undefined,
      ));
    it('calls the handler only after all checks have passed', async () => {
      traces.calls.length = 0;
      await refuses({ method: 'POST', path: '/api/v1/cards', key: keys.all, body: [] }, 400, 'invalid_body');
      expect(traces.calls).to.deep.equal([]);
      expect(
        (await call(service, { method: 'POST', path: '/api/v1/cards', key: keys.all, body: card })).status,
      ).to.equal(201);
      expect(traces.calls).to.deep.equal(['sendCard']);
    });
  });

  describe('reading fields (decisions 2, 7)', () => {
    const send = (body: object) =>
      call(service, { method: 'POST', path: '/api/v1/cards', key: keys.all, body });

    it('reports the first wrong field in the order of the schema, with its name', async () => {
      const reply = await send({ arrive_on: 'x', message: '', recipient: { zip: 1, state: 'Illinois' } });
      expect([reply.status, codeOf(reply), paramOf(reply)]).to.deep.equal([
        422,
        'invalid_recipient',
        'recipient.name',
      ]);
    });
    it('names a wrong field inside an object', async () => {
      const reply = await send({ ...card, recipient: { ...recipient, zip: 62701 } });
      expect([reply.status, codeOf(reply), paramOf(reply)]).to.deep.equal([
        422,
        'invalid_recipient',
        'recipient.zip',
      ]);
    });
    it('gives the handler the body both as it was sent, for the fingerprint, and as it was read', async () => {
      const reply = await send({
        recipient: { ...recipient, line2: null },
        message: '  Hi  ',
        reference: 17,
        extra: [1],
      });
      expect(reply.body).to.deep.equal({
        echo: {
          raw: { recipient: { ...recipient, line2: null }, message: '  Hi  ', reference: 17, extra: [1] },
          read: {
            recipient: { ...recipient, line2: null },
            message: 'Hi',
            arrive_on: null,
            reference: '17',
            events: null,
            count: null,
          },
          keys: [],
        },
      });
    });
    it('gives the handler every value of a repeated header', async () => {
      const reply = await call(service, {
        method: 'POST',
        path: '/api/v1/cards',
        key: keys.all,
        body: card,
        headers: { 'idempotency-key': ['a', 'b'] },
      });
      expect(reply.body).to.have.nested.property('echo.keys').that.deep.equals(['a', 'b']);
    });
  });

  describe('routes and methods (decisions 3, 4)', () => {
    it('responds to an unknown route with 404 for every method, with or without a key', async () => {
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE'])
        await refuses({ method, path: '/api/v1/nothing', key: keys.all }, 404, 'not_found');
      const head = await call(service, { method: 'HEAD', path: '/api/v1/nothing' });
      expect([head.status, head.text]).to.deep.equal([404, '']);
    });
    it('responds to another method on a known route with 405 and Allow, even without a key', async () => {
      const reply = await refuses({ method: 'PUT', path: '/api/v1/cards' }, 405, 'method_not_allowed');
      expect(reply.headers['allow']).to.equal('GET, HEAD, POST, OPTIONS');
      expect(
        (await refuses({ method: 'TRACE', path: '/api/v1/cards/HC-1' }, 405, 'method_not_allowed')).headers[
          'allow'
        ],
      ).to.equal('GET, HEAD, DELETE, OPTIONS');
    });
    it('responds to OPTIONS with 204 and Allow, without CORS headers', async () => {
      const reply = await call(service, {
        method: 'OPTIONS',
        path: '/api/v1/cards',
        headers: { origin: 'https://a.example', 'access-control-request-method': 'POST' },
      });
      expect([reply.status, reply.text, reply.headers['allow']]).to.deep.equal([
        204,
        '',
        'GET, HEAD, POST, OPTIONS',
      ]);
      expect(Object.keys(reply.headers).filter((name) => name.startsWith('access-control'))).to.deep.equal(
        [],
      );
    });
    it('responds to HEAD as to GET, without a body', async () => {
      const get = await call(service, { path: '/api/v1/cards?limit=7', key: keys.all });
      const head = await call(service, { method: 'HEAD', path: '/api/v1/cards?limit=7', key: keys.all });
      expect([
        head.status,
        head.text,
        head.headers['content-length'],
        head.headers['content-type'],
      ]).to.deep.equal([200, '', get.headers['content-length'], get.headers['content-type']]);
      expect((await call(service, { method: 'HEAD', path: '/api/v1/cards' })).status).to.equal(401);
    });
    it('refuses a path with no code or a blank one with missing_id', async () => {
      for (const path of ['/api/v1/cards/', '/api/v1/cards/%20', '/api/v1/cards/%09%20'])
        for (const method of ['GET', 'DELETE'])
          expect(paramOf(await refuses({ method, path, key: keys.all }, 400, 'missing_id'))).to.equal('code');
    });
    it('checks the key before it asks for the code', () =>
      refuses({ path: '/api/v1/cards/' }, 401, 'missing_key').then(() => undefined));
    it('is strict about slashes and case', async () => {
      for (const path of [
        '/api/v1/account/',
        '/API/v1/account',
        '/api/v1/Account',
        '//api/v1/account',
        '/api/v1//account',
        '/api/v1/cards/HC-1/',
      ])
        await refuses({ path, key: keys.all }, 404, 'not_found');
    });
    it('responds to broken percent-encoding in JSON', async () => {
      for (const code of ['%', '%zz', '%E0%A4%A', 'HC-%ff'])
        await refuses({ path: `/api/v1/cards/${code}`, key: keys.all }, 404, 'card_not_found');
      await refuses({ path: '/api/v1/cards/%zz' }, 401, 'missing_key');
      await refuses({ path: '/%zz' }, 404, 'not_found');
      await refuses({ method: 'POST', path: '/api/v1/hooks/%zz', body: {} }, 404, 'not_found');
    });
    it('can pass a broken path to the handler unchanged', async () => {
      const reply = await call(service, { method: 'DELETE', path: '/api/v1/webhooks/%zz%20', key: keys.all });
      expect(reply.body).to.deep.equal({ echo: { id: '%zz%20' } });
    });
    it('decodes path parameters, slashes included', async () => {
      expect(
        (await call(service, { path: '/api/v1/cards/a%2Fb%20c%C3%A9', key: keys.all })).body,
      ).to.deep.equal({ echo: { code: 'a/b cé' } });
    });
    it('accepts a request target in absolute form', async () => {
      expect(
        (await call(service, { path: `http://elsewhere.example/api/v1/account?x=1#y`, key: keys.all }))
          .status,
      ).to.equal(200);
    });
    it('ignores a body on GET and DELETE, and if the operation takes none', async () => {
      const body = { headers: { 'content-type': 'text/plain' }, body: '{"not json' };
      expect((await call(service, { path: '/api/v1/cards', key: keys.all, ...body })).status).to.equal(200);
      expect(
        (await call(service, { method: 'DELETE', path: '/api/v1/cards/HC-1', key: keys.all, ...body }))
          .status,
      ).to.equal(200);
      expect(
        (
          await call(service, {
            method: 'POST',
            path: '/operator/v1/cards/HC-7K3M9QX/queue',
            key: operatorToken,
            ...body,
          })
        ).status,
      ).to.equal(200);
      expect(
        (
          await call(service, {
            method: 'POST',
            path: '/operator/v1/cards/HC-7K3M9QX/queue',
            key: operatorToken,
          })
        ).status,
      ).to.equal(200);
    });
  });

  describe('the query (decisions 26, 27)', () => {
    const query = async (search: string) =>
      (await call(service, { path: `/api/v1/cards${search}`, key: keys.all })).body;
    const none = { limit: 50, status: null, reference: null };

    it('reads limit, at most 200 and by default 50', async () => {
      for (const [search, limit] of [
        ['', 50],
        ['?limit=', 50],
        ['?limit=%20', 50],
        ['?limit=0', 50],
        ['?limit=1', 1],
        ['?limit=007', 7],
        ['?limit=200', 200],
        ['?limit=201', 200],
        [`?limit=${'9'.repeat(400)}`, 200],
        ['?limit=+5', 5],
      ] as const)
        expect(await query(search), search).to.deep.equal({ echo: { ...none, limit } });
    });
    it('refuses a limit that is not a whole number', async () => {
      for (const limit of [
        '-1',
        '-0',
        '1.5',
        'ten',
        '1e2',
        '0x10',
        '%EF%BC%95',
        '1,2',
        'NaN',
        'Infinity',
        '%2B5',
        'null',
      ])
        expect(
          paramOf(
            await refuses({ path: `/api/v1/cards?limit=${limit}`, key: keys.all }, 400, 'invalid_parameter'),
          ),
          limit,
        ).to.equal('limit');
    });
    it('refuses a repeated parameter, known or not', async () => {
      for (const [search, param] of [
        ['limit=1&limit=1', 'limit'],
        ['x=&x=', 'x'],
        ['status=pending&a=1&status=', 'status'],
        ['__proto__=1&__proto__=2', '__proto__'],
      ] as const)
        expect(
          paramOf(
            await refuses({ path: `/api/v1/cards?${search}`, key: keys.all }, 400, 'invalid_parameter'),
          ),
        ).to.equal(param);
    });
    it('trims values, treats a blank filter as none and ignores unknown parameters', async () => {
      expect(await query('?reference=%20a+b%20&status=&unknown=1&x[]=2')).to.deep.equal({
        echo: { ...none, reference: 'a b' },
      });
      expect(await query('?reference=%20&status=%09')).to.deep.equal({ echo: none });
    });
    it('refuses an unknown filter value, also one in the wrong case', async () => {
      for (const status of ['Pending', 'unknown'])
        await refuses({ path: `/api/v1/cards?status=${status}`, key: keys.all }, 400, 'invalid_parameter');
    });
    it('tolerates broken percent-encoding', async () => {
      expect(
        (await call(service, { path: '/api/v1/cards?reference=%zz%ff', key: keys.all })).status,
      ).to.equal(200);
    });
  });

  describe('every response (docs/contract.md#responses; decisions 10, 11)', () => {
    const answers: Readonly<Record<string, Call>> = {
      'a success': { path: '/api/v1/cards', key: keys.all },
      'a 201': { method: 'POST', path: '/api/v1/cards', key: keys.all, body: card },
      'a 204': { method: 'OPTIONS', path: '/api/v1/cards' },
      'a 401': { path: '/api/v1/cards' },
      'a 403': { method: 'POST', path: '/api/v1/cards', key: keys.readOnly, body: card },
      'a 404': { path: '/nothing' },
      'a 404 below /docs': { path: '/docs/errors/nothing' },
      'a 405': { method: 'PUT', path: '/docs' },
      'a 413': {
        method: 'POST',
        path: '/api/v1/cards',
        key: keys.all,
        body: { message: 'x'.repeat(200_000) },
      },
      'a 422': { method: 'POST', path: '/api/v1/cards', key: keys.all, body: {} },
      'a 500': { path: '/api/v1/fails/secret' },
      'an operator answer': {
        method: 'POST',
        path: '/operator/v1/organizations',
        key: operatorToken,
        body: { name: 'Acme' },
      },
      'a health check': { path: '/healthz' },
      'a page': { path: '/docs' },
    };

    it('has an id that sorts after those of earlier requests', async () => {
      const ids: string[] = [];
      for (let second = 10; second < 20; second += 1) {
        service.clock.set(`2026-03-02T15:00:${second}.000Z`);
        ids.push(String((await call(service, { path: '/healthz' })).headers['x-request-id']));
      }
      expect(ids).to.deep.equal([...new Set(ids)].toSorted());
    });

    for (const [name, request] of Object.entries(answers))
      it(`has an id, the rate limit and no trace of the framework: ${name}`, async () => {
        service.clock.set('2026-03-02T15:00:10.250Z');
        const reply = await call(service, {
          ...request,
          headers: { ...request.headers, 'x-request-id': 'req_mine', accept: 'text/html' },
        });
        const { headers } = reply;
        expect(headers['x-request-id']).to.match(/^req_[\w-]{20}$/);
        expect(headers['x-ratelimit-limit']).to.equal('120');
        expect(Number(headers['x-ratelimit-remaining'])).to.be.within(0, 120);
        expect(headers['x-ratelimit-reset']).to.equal(`${Date.parse('2026-03-02T15:01:00Z') / 1000}`);
        const isDocument = name === 'a page';
        expect(headers['cache-control']).to.equal(isDocument ? 'public, max-age=60' : 'no-store');
        if (!isDocument) expect(headers).not.to.have.property('etag');
        for (const absent of ['x-powered-by', 'last-modified', 'access-control-allow-origin'])
          expect(headers).not.to.have.property(absent);
        if (reply.status >= 400) {
          const code = codeOf(reply);
          expect(headers['content-type']).to.equal('application/json; charset=utf-8');
          expect(reply.body)
            .to.have.property('error')
            .that.includes({
              docs: `https://cards.example/docs/errors/${code}`,
              request_id: headers['x-request-id'],
            });
          expect(reply.body)
            .to.have.nested.property('error.message')
            .that.is.a('string')
            .with.length.above(10);
          expect(Object.keys(reply.body ?? {})).to.deep.equal(['error']);
        }
      });

    it('has a request id of its own', async () => {
      const ids = new Set<unknown>();
      for (let at = 0; at < 300; at++)
        ids.add((await call(service, { path: '/healthz' })).headers['x-request-id']);
      expect(ids.size).to.equal(300);
    });
  });

  describe('failures', () => {
    it('responds to unexpected errors with the error code of the operation, and reveals nothing', async () => {
      const reply = await refuses({ path: '/api/v1/fails/secret' }, 500, 'read_failed');
      expect(reply.text).not.to.match(/hunter2|srv/);
      await eventually(() => service.log.filter((line) => line.msg === 'request failed').length > 0);
      expect(
        service.log.filter(
          (line) => line['request'] === reply.headers['x-request-id'] && line.msg === 'request failed',
        ),
      ).to.have.length(1);
    });
    it('responds with the error code of the operation if the key can’t be looked up', () =>
      refuses(
        { method: 'POST', path: '/api/v1/cards', key: keys.broken, body: card },
        500,
        'order_failed',
      ).then(() => undefined));
    it('closes the connection without a response if the outcome is unknown', async () => {
      const failure = await call(service, { path: '/api/v1/fails/outcome' }).catch((error: unknown) => error);
      expect(failure).to.have.property('code', 'ECONNRESET');
    });
    it('refuses the Idempotency-Key if idempotency keys can’t be looked up', () =>
      refuses({ path: '/api/v1/fails/idempotency' }, 400, 'invalid_idempotency_key').then(() => undefined));
    it('sends Retry-After only if a retry can help', async () => {
      expect(
        (await refuses({ path: '/api/v1/fails/progress' }, 409, 'request_in_progress')).headers[
          'retry-after'
        ],
      ).to.equal('1');
      expect(
        (await refuses({ path: '/api/v1/fails/credits' }, 402, 'no_credits')).headers,
      ).not.to.have.property('retry-after');
    });
    it('tells the handler when the client goes away', async () => {
      const controller = new AbortController();
      const gone = fetch(`${service.base}/api/v1/fails/wait`, { signal: controller.signal }).catch(
        () => null,
      );
      await eventually(() => traces.calls.includes('wait'));
      controller.abort();
      await gone;
      await eventually(() => traces.aborted.includes('wait'));
      traces.release();
    });
  });

  describe('the log', () => {
    it('has one line per request, with the route’s template and no secret', async () => {
      const secrets = ['tok3n-in-path', 'query-value', 'body-value', keys.all, keyOf('nobody')];
      const reply = await call(service, {
        method: 'POST',
        path: '/api/v1/hooks/tok3n-in-path?q=query-value',
        body: { x: 'body-value' },
        key: keys.all,
      });
      await call(service, { path: '/api/v1/cards?reference=query-value', key: keyOf('nobody') });
      await eventually(() => service.log.some((line) => line['request'] === reply.headers['x-request-id']));
      const lines = service.log.filter((line) => line['request'] === reply.headers['x-request-id']);
      expect(lines).to.deep.equal([
        {
          level: 30,
          method: 'POST',
          route: '/api/v1/hooks/{token}',
          status: 401,
          ms: lines[0]?.['ms'],
          request: reply.headers['x-request-id'],
          trace_id: lines[0]?.['trace_id'],
          address: '127.0.0.1',
          code: 'invalid_hook',
          msg: 'request',
        },
      ]);
      expect(lines[0]?.['ms']).to.be.within(0, 60_000);
      expect(lines[0]?.['trace_id']).to.match(/^[0-9a-f]{32}$/);
      for (const secret of secrets) expect(JSON.stringify(service.log)).not.to.include(secret);
    });
    const lineOf = async (request: Call) => {
      const reply = await call(service, request);
      const mine = () => service.log.find((line) => line['request'] === reply.headers['x-request-id']);
      return eventually(() => mine());
    };
    it('names the socket’s address, whatever a header claims, and code and param of a refusal', async () => {
      const line = await lineOf({
        method: 'POST',
        path: '/api/v1/cards',
        key: keys.all,
        headers: { 'x-forwarded-for': '203.0.113.9' },
        body: { ...card, recipient: { ...recipient, zip: 'secret-zip' } },
      });
      expect(line).to.include({
        address: '127.0.0.1',
        org: '6c0f6a3e-0000-4000-8000-000000000001',
        code: 'invalid_recipient',
        param: 'recipient.zip',
      });
      expect(line).not.to.have.property('changed');
    });
    it('names what was changed by its id and by the fields that were sent, not by what stands in them', async () => {
      const queued = await lineOf({
        method: 'POST',
        path: '/operator/v1/cards/HC-7K3M9QX/queue',
        key: operatorToken,
      });
      expect(queued['changed']).to.deep.equal({ code: 'HC-7K3M9QX' });
      const made = await lineOf({
        method: 'POST',
        path: '/operator/v1/organizations',
        key: operatorToken,
        body: { name: 'Acme', other: 1 },
      });
      expect(made['changed']).to.deep.equal({ fields: ['name'] });
      const gone = await lineOf({ method: 'DELETE', path: `/api/v1/webhooks/${keys.all}`, key: keys.all });
      expect(gone['changed']).to.deep.equal({});
      expect(await lineOf({ path: '/api/v1/cards/HC-1', key: keys.all })).not.to.have.property('changed');
    });
    it('names the API key by its id', async () => {
      const reply = await call(service, { path: '/api/v1/account', key: keys.all });
      await eventually(() => service.log.some((line) => line['request'] === reply.headers['x-request-id']));
      expect(service.log.find((line) => line['request'] === reply.headers['x-request-id'])).to.include({
        key: '6c0f6a3e-0000-4000-8000-0000000000aa',
        status: 200,
      });
    });
  });

  it('says in a list for how long the read models have been late', async () => {
    let late: number | null = null;
    /** What it becomes while the list is read. */
    let turns: number | null = null;
    const routes = testRoutes(newTraces()).map((known) =>
      known.id === 'listCards'
        ? {
            ...known,
            handle: () => {
              late = turns;
              return Promise.resolve({ status: 200, body: wholeList([]) });
            },
          }
        : known,
    );
    const lagging = await startHttp(routes, { lateFor: () => late });
    const said = async (path: string): Promise<unknown> =>
      (await call(lagging, { path, key: keys.all })).headers['x-read-model-late'];
    try {
      expect(await said('/api/v1/cards')).to.equal(undefined);
      turns = 0;
      expect(await said('/api/v1/cards')).to.equal('1');
      turns = 12_001;
      expect(await said('/api/v1/cards')).to.equal('13');
      turns = null;
      expect(await said('/api/v1/cards')).to.equal('13');
      expect(await said('/api/v1/cards')).to.equal(undefined);
      late = 1;
      expect(await said('/api/v1/cards/HC-1')).to.equal(undefined);
    } finally {
      await lagging.close();
    }
  });

  it('counts requests by the route’s template, never by path', async () => {
    await call(service, { path: '/api/v1/cards/HC-SECRET', key: keys.all });
    const metrics = await call(service, { path: '/metrics' });
    expect(metrics.headers['content-type']).to.match(/^text\/plain/);
    expect(metrics.text).to.include(
      'http_request_duration_seconds_count{method="GET",route="/api/v1/cards/{code}",status="200"}',
    );
    expect(metrics.text).not.to.include('HC-SECRET');
  });
});
