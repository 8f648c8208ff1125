import { expect } from 'chai';
import { clientAddress, gate, TooManyGuesses } from '../../../../adapters/http/server/caller.js';
import { operatorSecretFrom } from '../../../../domain/api-key.js';
import { DomainError } from '../../../../domain/errors.js';
import { VirtualClock } from '../../../support/memory/clock.js';
import { eventually } from '../../../support/time/eventually.js';
import {
  answersIn,
  call,
  codeOf,
  keyOf,
  keys,
  mapLimiter,
  openRaw,
  operatorToken,
  startHttp,
  type Call,
  type Reply,
  type TestService,
} from '../../../support/http/http.js';
import { newTraces, testRoutes } from '../../../support/http/http-routes.js';

describe('the address of a visitor', () => {
  const of = (address: string, forwarded: readonly string[], proxies: readonly string[]) =>
    clientAddress({ address, header: () => forwarded }, proxies);

  it('is that of the connection, whatever a header says, unless a trusted proxy says it', () => {
    const proxies = ['10.0.0.0/8', 'fd00::/8'];
    expect(of('192.0.2.1', ['198.51.100.7'], [])).to.equal('192.0.2.1');
    expect(of('192.0.2.1', ['198.51.100.7'], proxies)).to.equal('192.0.2.1');
    expect(of('10.0.0.1', ['198.51.100.7'], proxies)).to.equal('198.51.100.7');
    expect(of('::ffff:10.0.0.1', ['198.51.100.7'], proxies)).to.equal('198.51.100.7');
    expect(of('fd00::1', ['203.0.113.9, 198.51.100.7', '10.9.9.9'], proxies)).to.equal('198.51.100.7');
    expect(of('10.0.0.1', ['203.0.113.9, nonsense'], proxies)).to.equal('nonsense');
    expect(of('10.0.0.1', [], proxies)).to.equal('10.0.0.1');
    expect(of('10.0.0.1', ['10.0.0.2', ','], proxies)).to.equal('10.0.0.1');
  });
});

describe('callers', () => {
  let service: TestService;
  beforeEach(async () => {
    service = await startHttp(testRoutes(newTraces()));
  });
  afterEach(() => service.close());

  const account = (authorization: string | null): Promise<Reply> =>
    call(service, { path: '/api/v1/account', headers: authorization === null ? {} : { authorization } });
  const operate = (authorization: string | null): Promise<Reply> =>
    call(service, {
      method: 'POST',
      path: '/operator/v1/organizations',
      headers: authorization === null ? {} : { authorization },
      body: { name: 'Acme' },
    });

  describe('with an API key (decision 51)', () => {
    it('are let in with the scheme in any case', async () => {
      for (const scheme of ['Bearer', 'bearer', 'BEARER', 'bEaReR'])
        expect((await account(`${scheme} ${keys.all}`)).status, scheme).to.equal(200);
      expect((await account(`  Bearer \t ${keys.all}  `)).status).to.equal(200);
    });
    const refusals: readonly (readonly [string | null, string])[] = [
      [null, 'missing_key'],
      ['', 'missing_key'],
      ['Bearer', 'missing_key'],
      ['Bearer   ', 'missing_key'],
      ['Basic dXNlcjpwYXNz', 'missing_key'],
      [keys.all, 'missing_key'],
      ['Bearer x', 'malformed_key'],
      [`Bearer ${keys.all}0`, 'malformed_key'],
      [`Bearer ${keys.all.slice(0, -1)}`, 'malformed_key'],
      [`Bearer HCK_${keys.all.slice(4)}`, 'malformed_key'],
      [`Bearer ${keys.all.slice(0, -1)}!`, 'malformed_key'],
      [`Bearer ${keys.all} ${keys.all}`, 'malformed_key'],
      [`Bearer ${operatorToken}`, 'malformed_key'],
      [`Bearer ${keys.unknown}`, 'invalid_key'],
      [`Bearer ${keys.revoked}`, 'revoked_key'],
    ];
    for (const [authorization, code] of refusals)
      it(`are refused with ${code}: ${authorization === null ? 'no header' : JSON.stringify(authorization)}`, async () => {
        const reply = await account(authorization);
        expect([reply.status, codeOf(reply), reply.headers['www-authenticate']]).to.deep.equal([
          401,
          code,
          'Bearer',
        ]);
      });
    it('are told that their key is revoked before they are told which scope it lacks', async () => {
      expect(
        codeOf(await call(service, { method: 'POST', path: '/api/v1/cards', key: keys.revoked, body: {} })),
      ).to.equal('revoked_key');
    });
    it('are told which scope is missing (decision 54)', async () => {
      const reply = await call(service, {
        method: 'POST',
        path: '/api/v1/cards',
        key: keys.readOnly,
        body: {},
      });
      expect([reply.status, codeOf(reply)]).to.deep.equal([403, 'missing_scope']);
      expect(reply.text).to.include('cards:send');
    });
  });

  describe('with several Authorization headers', () => {
    const twice = (token: string) => ({ authorization: [`Bearer ${token}`, `Bearer ${token}`] });
    it('are refused where a key or the operator token is wanted, and not looked up', async () => {
      for (const reply of [
        await call(service, { path: '/api/v1/account', headers: twice(keys.all) }),
        await call(service, {
          method: 'POST',
          path: '/operator/v1/organizations',
          headers: twice(operatorToken),
          body: { name: 'Acme' },
        }),
      ])
        expect([reply.status, codeOf(reply), reply.headers['x-ratelimit-remaining']]).to.deep.equal([
          400,
          'invalid_request',
          '120',
        ]);
    });
    it('may post to hooks, which look at none', async () =>
      expect(
        (
          await call(service, {
            method: 'POST',
            path: '/api/v1/hooks/good',
            headers: twice(keys.all),
            body: {},
          })
        ).status,
      ).to.equal(201));
  });

  describe('with the operator token', () => {
    it('are let in as the operator', async () =>
      expect((await operate(`bearer ${operatorToken}`)).status).to.equal(201));
    const refusals: readonly (readonly [string | null, string])[] = [
      [null, 'missing_key'],
      ['Basic x', 'missing_key'],
      ['Bearer x', 'invalid_key'],
      [`Bearer ${operatorToken}x`, 'invalid_key'],
      [`Bearer ${keys.all}`, 'invalid_key'],
    ];
    for (const [authorization, code] of refusals)
      it(`are refused with ${code}: ${authorization === null ? 'no header' : JSON.stringify(authorization)}`, async () => {
        const reply = await operate(authorization);
        expect([reply.status, codeOf(reply), reply.headers['www-authenticate']]).to.deep.equal([
          401,
          code,
          'Bearer',
        ]);
      });
    it('are refused for a minute after ten wrong tokens of their address, even with the right one', async () => {
      const clock = new VirtualClock();
      const known = gate({
        authenticator: { authenticate: () => Promise.reject(new DomainError('revoked_key', 'It is over.')) },
        rateLimiter: mapLimiter(),
        clock,
        operatorToken,
        requestsPerMinute: 120,
      });
      const attempt = async (token: string, address: string): Promise<unknown> => {
        try {
          return (await known.identify({ kind: 'operator', scope: null }, `Bearer ${token}`, address)).kind;
        } catch (error) {
          if (error instanceof TooManyGuesses) return error.seconds;
          return error instanceof DomainError ? error.code : error;
        }
      };
      const operatorKey = operatorSecretFrom(Buffer.alloc(32));
      for (let at = 0; at < 9; at++) expect(await attempt(`x${at}`, '192.0.2.1')).to.equal('invalid_key');
      expect(await attempt(operatorToken, '192.0.2.1')).to.equal('operator');
      await clock.advance(59_999);
      expect(await attempt('x', '192.0.2.1')).to.equal('invalid_key');
      for (const token of ['x', operatorToken, keys.all])
        expect(await attempt(token, '192.0.2.1')).to.equal(60);
      expect(await attempt(operatorKey, '192.0.2.1'), 'a key is no guess').to.equal('revoked_key');
      expect(await attempt(operatorToken, '::ffff:192.0.2.1'), 'the same address').to.equal(60);
      expect(await attempt(operatorToken, '192.0.2.2'), 'another address').to.equal('operator');
      await clock.advance(59_001);
      expect(await attempt(operatorToken, '192.0.2.1')).to.equal(1);
      await clock.advance(999);
      expect(await attempt(operatorToken, '192.0.2.1')).to.equal('operator');
      for (let at = 0; at < 9; at++) await attempt('x', '192.0.2.1');
      await clock.advance(60_000);
      expect(await attempt('x', '192.0.2.1'), 'the first of another minute').to.equal('invalid_key');
      for (let at = 0; at < 10; at++) await attempt('x', `2001:db8:1:2:${at}::1`);
      expect(await attempt(operatorToken, '2001:db8:1:2::9'), 'the same network').to.equal(60);
      expect(await attempt(operatorToken, '2001:db8:1:3::9')).to.equal('operator');
      for (let at = 0; at < 20; at++) await attempt(keys.all, '192.0.2.3');
      expect(await attempt(operatorToken, '192.0.2.3'), 'API keys are no guesses').to.equal('operator');
    });
    it('are told how long to wait after too many wrong tokens', async () => {
      const other = await startHttp(testRoutes(newTraces()));
      try {
        const guess = (key: string) =>
          call(other, { method: 'POST', path: '/operator/v1/organizations', body: { name: 'Acme' }, key });
        for (let at = 0; at < 10; at++) expect((await guess(`guess-${at}`)).status).to.equal(401);
        const refused = await guess(operatorToken);
        expect([refused.status, codeOf(refused)]).to.deep.equal([429, 'rate_limited']);
        expect(Number(refused.headers['retry-after'])).to.be.within(1, 60);
        expect((await call(other, { path: '/api/v1/account', key: keys.all })).status).to.equal(200);
      } finally {
        await other.close();
      }
    });
    it('have no rate limit', async () => {
      for (let at = 0; at < 3; at++)
        expect((await operate(`Bearer ${operatorToken}`)).headers['x-ratelimit-remaining']).to.equal('120');
    });
  });

  describe('have a rate limit (decision 52) that', () => {
    it('counts every authenticated request, refused ones too, and starts again every minute', async () => {
      const remaining = async (request: Call) =>
        (await call(service, request)).headers['x-ratelimit-remaining'];
      expect(await remaining({ path: '/api/v1/cards', key: keys.all })).to.equal('119');
      expect(await remaining({ method: 'POST', path: '/api/v1/cards', key: keys.all, body: {} })).to.equal(
        '118',
      );
      expect(await remaining({ path: '/api/v1/cards/%zz', key: keys.all })).to.equal('117');
      service.clock.set('2026-03-02T15:00:59.999Z');
      expect(await remaining({ path: '/api/v1/cards', key: keys.all })).to.equal('116');
      service.clock.set('2026-03-02T15:01:00.000Z');
      expect(await remaining({ path: '/api/v1/cards', key: keys.all })).to.equal('119');
    });
    it('gives no more for a clock that is set to another minute', async () => {
      const slow = { path: '/api/v1/account', key: keys.slow };
      for (let at = 0; at < 2; at++) await call(service, slow);
      for (const jump of [60_000, -3_600_000]) {
        service.clock.jump(jump);
        const { status, headers } = await call(service, slow);
        expect([status, headers['x-ratelimit-reset'], headers['retry-after']]).to.deep.equal([
          429,
          String(Date.parse('2026-03-02T15:01:00.000Z') / 1000),
          '50',
        ]);
      }
      const unknown = { path: '/api/v1/account', key: keys.unknown };
      for (let at = 0; at < 300; at++) await call(service, unknown);
      service.clock.jump(60_000);
      expect((await call(service, unknown)).status).to.equal(429);
    });
    it('does not count requests that need no key: 404 for the path, 405 and OPTIONS', async () => {
      for (const [method, path] of [
        ['GET', '/api/v1/nothing'],
        ['PUT', '/api/v1/cards'],
        ['OPTIONS', '/api/v1/cards'],
      ] as const)
        expect(
          (await call(service, { method, path, key: keys.all })).headers['x-ratelimit-remaining'],
        ).to.equal('120');
      expect(
        (await call(service, { path: '/api/v1/cards', key: keys.all })).headers['x-ratelimit-remaining'],
      ).to.equal('119');
    });
    it('refuses requests beyond the key’s limit, with the seconds to wait', async () => {
      const answers = [];
      for (let at = 0; at < 4; at++)
        answers.push(await call(service, { path: '/api/v1/account', key: keys.slow }));
      expect(
        answers.map(({ status, headers }) => [
          status,
          headers['x-ratelimit-limit'],
          headers['x-ratelimit-remaining'],
          headers['retry-after'],
        ]),
      ).to.deep.equal([
        [200, '2', '1', undefined],
        [200, '2', '0', undefined],
        [429, '2', '0', '50'],
        [429, '2', '0', '50'],
      ]);
      expect(answers.map(codeOf)).to.deep.equal([null, null, 'rate_limited', 'rate_limited']);
    });
    it('never tells clients to wait for less than a second', async () => {
      service.clock.set('2026-03-02T15:00:59.999Z');
      for (let at = 0; at < 2; at++) await call(service, { path: '/api/v1/account', key: keys.slow });
      expect(
        (await call(service, { path: '/api/v1/account', key: keys.slow })).headers['retry-after'],
      ).to.equal('1');
    });
    it('says when the minute ends in which the request was counted, even if the response comes later', async () => {
      const limits = { [keys.all]: 1, [keys.slow]: 3 };
      for (const [key, hits] of Object.entries(limits)) {
        const other: TestService = await startHttp(testRoutes(newTraces()), {
          rateLimiter: {
            hit: () => {
              other.clock.set('2026-03-02T15:01:30.000Z');
              return Promise.resolve(hits);
            },
          },
        });
        try {
          const reply = await call(other, { path: '/api/v1/account', key });
          const reset = Number(reply.headers['x-ratelimit-reset']);
          expect(new Date(reset * 1000).toISOString()).to.equal('2026-03-02T15:01:00.000Z');
          expect(reply.headers['retry-after']).to.equal(hits === 1 ? undefined : '1');
        } finally {
          await other.close();
        }
      }
    });
    it('lets requests through if they can’t be counted', async () => {
      const away = () => Promise.reject(new Error('away'));
      const other = await startHttp(testRoutes(newTraces()), { rateLimiter: { hit: away } });
      try {
        expect((await call(other, { path: '/api/v1/account', key: keys.all })).status).to.equal(200);
        expect((await call(other, { path: '/api/v1/account', key: keys.unknown })).status).to.equal(401);
      } finally {
        await other.close();
      }
    });
  });

  describe('that repeatedly fail to authenticate (decisions 50, 52)', () => {
    const attempts: Readonly<Record<string, Call>> = {
      'unknown keys': { path: '/api/v1/account', key: keyOf('guess') },
      'malformed keys': { path: '/api/v1/account', key: 'guess' },
      'hook tokens': { method: 'POST', path: '/api/v1/hooks/guess', body: {} },
    };
    const fail = async (request: Call, times: number): Promise<void> => {
      const connection = openRaw(service.port);
      const { method = 'GET', path, key } = request;
      const lines = [
        `${method} ${path} HTTP/1.1`,
        'Host: x',
        'Content-Length: 0',
        ...(key === undefined ? [] : [`Authorization: Bearer ${key}`]),
        '',
        '',
      ];
      connection.socket.write(lines.join('\r\n').repeat(times));
      await eventually(() => answersIn(connection.seen()).length === times);
      connection.socket.destroy();
    };
    for (const [name, request] of Object.entries(attempts))
      it(`are slowed down after 300 failures in a minute: ${name}`, async () => {
        await fail(request, 299);
        expect((await call(service, request)).status).to.equal(401);
        const reply = await call(service, request);
        expect([reply.status, codeOf(reply), reply.headers['retry-after']]).to.deep.equal([
          429,
          'rate_limited',
          '50',
        ]);
        expect(
          (await call(service, { ...request, headers: { 'x-forwarded-for': '203.0.113.9' } })).status,
        ).to.equal(429);
        service.clock.set('2026-03-02T15:01:00.000Z');
        expect((await call(service, request)).status).to.equal(401);
      });
    it('are still let in with a valid key or a valid token', async () => {
      await fail({ path: '/api/v1/account', key: keyOf('guess') }, 301);
      expect(
        (await call(service, { method: 'POST', path: '/api/v1/hooks/guess', body: {} })).status,
      ).to.equal(429);
      expect((await call(service, { path: '/api/v1/account', key: keys.all })).status).to.equal(200);
      expect((await call(service, { method: 'POST', path: '/api/v1/hooks/good', body: {} })).status).to.equal(
        201,
      );
      expect((await operate(`Bearer ${operatorToken}`)).status).to.equal(201);
    });
  });

  describe('of hooks (decision 46)', () => {
    const fire = (token: string, request: Partial<Call>) =>
      call(service, { method: 'POST', path: `/api/v1/hooks/${token}`, ...request });

    it('are authenticated before the body is checked', async () => {
      const bad = { headers: { 'content-type': 'text/plain' }, body: 'x'.repeat(200_000) };
      expect([
        (await fire('wrong', bad)).status,
        (await fire('paused', bad)).status,
        (await fire('good', bad)).status,
      ]).to.deep.equal([401, 403, 415]);
    });
    it('send bodies that are subject to the same rules as others', async () => {
      expect((await fire('good', { body: { a: 1 } })).body).to.deep.equal({ echo: { a: 1 } });
      expect(codeOf(await fire('good', { body: [] }))).to.equal('invalid_body');
      expect(
        codeOf(await fire('good', { headers: { 'content-type': 'application/json' }, body: '{' })),
      ).to.equal('invalid_json');
    });
    it('need no key and have no key’s rate limit', async () => {
      expect((await fire('good', { body: {}, key: keys.revoked })).headers['x-ratelimit-remaining']).to.equal(
        '120',
      );
    });
    it('get not_found without a token in the path', async () => {
      expect(codeOf(await fire('', { body: {} }))).to.equal('not_found');
    });
  });
});
