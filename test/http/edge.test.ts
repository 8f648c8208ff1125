import { expect } from 'chai';
import { answersIn, call, codeOf, openRaw, type Call, type Reply } from '../support/http/http.js';
import { conformanceTo, type Conformance } from '../support/http/conformance.js';
import { eventually } from '../support/time/eventually.js';
import { aCard, startTestService, type RunningService, type Tenant } from '../support/http/service.js';

const kib = 1024;
const json = { 'content-type': 'application/json' };
const nested = (levels: number): string => `${'{"a":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}`;

describe('the edge of the service', () => {
  let service: RunningService;
  let tenant: Tenant;
  let conformance: Conformance;
  let key: string;
  before(async () => {
    service = await startTestService();
    tenant = await service.tenant({ credits: 1_000 });
    conformance = await conformanceTo(service.baseUrl);
    ({ key } = tenant);
  });
  after(() => service.stop());

  /** One request on a connection of its own, with exactly these headers. */
  const ask = async (request: Call): Promise<Reply> => {
    const reply = await call(service, request);
    const headers = new Headers(
      Object.entries(reply.headers).map(([name, value]): [string, string] => [name, String(value)]),
    );
    expect(
      conformance({
        method: request.method ?? 'GET',
        path: request.path,
        status: reply.status,
        headers,
        text: reply.text,
      }),
    ).to.equal(null);
    return reply;
  };
  const result = async (request: Call): Promise<unknown[]> => {
    const reply = await ask(request);
    return [reply.status, codeOf(reply)];
  };
  const post = (body: object | string | Buffer, headers: Call['headers'] = json): Promise<unknown[]> =>
    result({ method: 'POST', path: '/api/v1/cards', key, headers, body });

  /** Sends a body in chunks, without a Content-Length. */
  const chunked = async (pieces: readonly string[]): Promise<unknown[]> => {
    const { socket, ended, seen } = openRaw(service.port);
    const body = [...pieces, ''].map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`).join('');
    socket.write(
      `POST /api/v1/cards HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${body}`,
    );
    await eventually(() => ended());
    const [reply] = answersIn(seen());
    return reply === undefined ? [] : [reply.status, codeOf(reply)];
  };

  it('checks in the order: route, key, rate, scope, type, size, JSON, object, fields, credits', async () => {
    const limited = await service.tenant({ credits: 0, requestsPerMinute: 1 });
    const reader = await tenant.withScopes('cards:read');
    const poor = await service.tenant({ credits: 0 });
    const large = ' '.repeat(101 * kib);
    const worst = {
      method: 'POST',
      path: '/api/v1/cards?x=1&x=2',
      headers: { 'content-type': 'text/plain' },
      body: large,
    };
    await eventually(async () => (await limited.api('/api/v1/account')).status === 429 || null);
    const revoked = await service.operator(`/operator/v1/organizations/${tenant.org}/keys`, {
      body: { scopes: ['cards:read'] },
    });
    await service.operator(`/operator/v1/organizations/${tenant.org}/keys/${revoked.id}`, {
      method: 'DELETE',
    });
    expect([
      await result({ ...worst, path: '/api/v1/card', key }),
      await result({ ...worst, method: 'PUT', key }),
      await result(worst),
      await result({ ...worst, key: 'nonsense' }),
      await result({ ...worst, key: `hck_${'x'.repeat(43)}` }),
      await result({ ...worst, key: String(revoked.body['key']) }),
      await result({ ...worst, key: limited.key }),
      (
        await reader('/api/v1/cards', {
          method: 'POST',
          body: large,
          headers: { 'content-type': 'text/plain' },
        })
      ).code,
      await result({ ...worst, key }),
      await post(large),
      await post('{'),
      await post('[]'),
      await post('{}'),
      await result({ method: 'POST', path: '/api/v1/cards', key: poor.key, body: aCard({ message: '' }) }),
      await result({ method: 'POST', path: '/api/v1/cards', key: poor.key, body: aCard() }),
    ]).to.deep.equal([
      [404, 'not_found'],
      [405, 'method_not_allowed'],
      [401, 'missing_key'],
      [401, 'malformed_key'],
      [401, 'invalid_key'],
      [401, 'revoked_key'],
      [429, 'rate_limited'],
      'missing_scope',
      [415, 'unsupported_media_type'],
      [413, 'body_too_large'],
      [400, 'invalid_json'],
      [400, 'invalid_body'],
      [422, 'invalid_recipient'],
      [422, 'missing_message'],
      [402, 'no_credits'],
    ]);
  });

  describe('the Authorization header', () => {
    const get = (authorization: string | readonly string[] | undefined, path = '/api/v1/account') =>
      result({ path, headers: authorization === undefined ? {} : { authorization } });
    it('accepts the scheme in any case, and spaces around it and the key', async () => {
      for (const scheme of ['Bearer', 'bearer', 'BEARER', ' bEaReR  '])
        expect(await get(`${scheme} ${key} `)).to.deep.equal([200, null]);
    });
    const missing = [
      undefined,
      '',
      'Bearer',
      'Bearer ',
      'Basic dXNlcjpwYXNz',
      'Token abc',
      'ApiKey',
      'Digest x',
    ];
    for (const authorization of missing)
      it(`is refused with missing_key if it is ${JSON.stringify(authorization) ?? 'absent'}`, async () =>
        expect(await get(authorization)).to.deep.equal([401, 'missing_key']));
    it('is refused with malformed_key or, if the key is unknown, with invalid_key', async () => {
      const malformed = ['x', 'hck_', `${key}\u00a0`, `hck_${'a'.repeat(42)}`, `hck_${'a'.repeat(44)}`, `HCK_${'a'.repeat(43)}`, `sk_${'a'.repeat(44)}`, `hck_${'a'.repeat(42)}!`, `${key} x`, service.operatorToken];
      for (const token of malformed) expect(await get(`Bearer ${token}`), token).to.deep.equal([401, 'malformed_key']);
      for (const token of [`hck_${'a'.repeat(43)}`, `hck_${key.slice(4).toLowerCase()}`, `hck_${'-_'.repeat(21)}-`]) expect(await get(`Bearer ${token}`), token).to.deep.equal([401, 'invalid_key']);
    }); // prettier-ignore
    it('holds the operator token on the operator API, where no key is accepted', async () => {
      const path = '/operator/v1/anchor';
      expect([
        await get(undefined, path),
        await get(`Bearer ${key}`, path),
        await get('Bearer x', path),
        await get('Basic x', path),
      ]).to.deep.equal([
        [401, 'missing_key'],
        [401, 'invalid_key'],
        [401, 'invalid_key'],
        [401, 'missing_key'],
      ]);
      expect(await get(`bearer ${service.operatorToken}`, path)).to.deep.equal([200, null]);
    });
  });

  describe('the Content-Type', () => {
    const types = [
      'application/json',
      'Application/JSON',
      'application/json; charset=utf-8',
      'application/json;charset="UTF-8"',
      'application/json ; Charset=Utf-8',
      'application/json; foo=bar',
      'application/json;',
      'application/json; charset=utf-8; x=y',
    ];
    for (const type of types)
      it(`is accepted if it is "${type}"`, async () =>
        expect(await post(JSON.stringify(aCard()), { 'content-type': type })).to.deep.equal([201, null]));
    const others = [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/vnd.api+json',
      'application/json+x',
      'text/json',
      'application/jsonp',
      'application/json; charset=latin1',
      'application/json; charset=utf-16',
      'application/json; charset=utf8',
      'application/json; charset=utf-8; charset=latin1',
      'application/json, text/plain',
      '*/*',
      '',
      'json',
    ];
    for (const type of others)
      it(`is refused with unsupported_media_type if it is "${type}"`, async () =>
        expect(await post(JSON.stringify(aCard()), { 'content-type': type })).to.deep.equal([
          415,
          'unsupported_media_type',
        ]));
    it('is refused with unsupported_media_type if it comes twice', async () => {
      const headers = { 'content-type': ['application/json', 'text/plain'] };
      expect(await post(JSON.stringify(aCard()), headers)).to.deep.equal([415, 'unsupported_media_type']);
    });
    it('is refused with unsupported_media_type if it is absent', async () =>
      expect(await post(JSON.stringify(aCard()), {})).to.deep.equal([415, 'unsupported_media_type']));
    for (const encoding of ['gzip', 'br', 'deflate', 'identity, gzip', 'x'])
      it(`is not enough if the Content-Encoding is "${encoding}": unsupported_media_type`, async () =>
        expect(await post(JSON.stringify(aCard()), { ...json, 'content-encoding': encoding })).to.deep.equal([
          415,
          'unsupported_media_type',
        ]));
    it('is accepted if the Content-Encoding is identity', async () =>
      expect(await post(JSON.stringify(aCard()), { ...json, 'content-encoding': 'Identity' })).to.deep.equal([
        201,
        null,
      ]));
  });

  describe('a request body', () => {
    const card = JSON.stringify(aCard());
    const bad: readonly (readonly [string, string | Buffer])[] = [
      ['nothing', ''],
      ['white space', ' \n'],
      ['half an object', '{"recipient":'],
      ['a trailing comma', '{"a":1,}'],
      ['single quotes', "{'a':1}"],
      ['two objects', '{}{}'],
      ['NaN', '{"a":NaN}'],
      ['a comment', '{/* */}'],
      ['invalid UTF-8', Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xc3, 0x28]), Buffer.from('"}')])],
      ['a lone byte', Buffer.from([0xff])],
      ['UTF-16', Buffer.from(`\ufeff${card}`, 'utf16le')],
      ['two byte order marks', `\ufeff\ufeff${card}`],
      ['a raw line break in a string', '{"a":"\n"}'],
      ['33 levels', nested(33)],
      ['33 levels of lists', `{"a":${'['.repeat(32)}${']'.repeat(32)}}`],
      ['a thousand levels', nested(1_000)],
      ['ten thousand brackets', '['.repeat(10_000)],
    ];
    for (const [what, body] of bad)
      it(`is refused with invalid_json if it is or has ${what}`, async () => {
        expect(await post(body)).to.deep.equal([400, 'invalid_json']);
      });
    for (const body of ['null', '"text"', '1', 'true', 'false', '[]', '[{}]', `[${card}]`, ' null '])
      it(`is refused with invalid_body if it is ${body.slice(0, 10)}`, async () =>
        expect(await post(body)).to.deep.equal([400, 'invalid_body']));
    const good: readonly (readonly [string, string])[] = [
      ['a byte order mark', `\ufeff${card}`],
      ['32 levels', card.replace('{', `{"extra":${nested(31)},`)],
      ['white space around it', `\r\n\t ${card} \n`],
      ['escapes', card.replace('Thank', '\\u0054hank')],
      ['a name twice, of which the last counts', card.replace('{', '{"message":"",')],
      ['exactly 100 KiB', card + ' '.repeat(100 * kib - card.length)],
      [
        'names that could reach a prototype',
        card.replace('{', '{"__proto__":null,"constructor":{"a":1},"prototype":2,'),
      ],
    ];
    for (const [what, body] of good)
      it(`is accepted with ${what}`, async () => expect(await post(body)).to.deep.equal([201, null]));
    it('is refused with body_too_large if it is a byte over 100 KiB', async () => {
      expect(await post(card + ' '.repeat(100 * kib - card.length + 1))).to.deep.equal([
        413,
        'body_too_large',
      ]);
      const filling = 100 * kib - card.length;
      expect([
        await chunked([card, ' '.repeat(filling)]),
        await chunked([card, ' '.repeat(filling), ' ']),
      ]).to.deep.equal([
        [201, null],
        [413, 'body_too_large'],
      ]);
      expect(await post(' '.repeat(300 * kib), { 'content-type': 'text/plain' })).to.deep.equal([
        415,
        'unsupported_media_type',
      ]);
    });
    it('is ignored by GET, DELETE and the POST endpoints that take none', async () => {
      const { id } = await tenant.api('/api/v1/cards', { body: aCard({ arrive_on: '2099-01-01' }) });
      for (const headers of [{}, json, { 'content-type': 'text/plain', 'content-encoding': 'gzip' }]) {
        expect(await result({ path: '/api/v1/account', key, headers, body: '{' })).to.deep.equal([200, null]);
        expect(await result({ method: 'DELETE', path: `/api/v1/cards/${id}`, key, headers, body: '{' })).to.deep.equal([200, null]);
        const { id: next } = await tenant.api('/api/v1/cards', { body: aCard({ arrive_on: '2099-01-01' }) });
        expect(await result({ method: 'POST', path: `/operator/v1/cards/${next}/queue`, key: service.operatorToken, headers, body: '{' })).to.deep.equal([200, null]);
      }
    }); // prettier-ignore
  });

  describe('the routes', () => {
    const unknown = [
      '/api',
      '/api/v1',
      '/api/v1/',
      '/api/v1/card',
      '/api/v2/cards',
      '/API/v1/cards',
      '/api/v1/Cards',
      '/api/v1/cards/HC-0000000/x',
      '/api/v1/cards/HC-0000000/',
      '/api/v1/account/',
      '/api//v1/cards',
      '/v1/cards',
      '/operator/v1',
      '/operator/v1/',
      '/favicon.ico',
      '/robots.txt',
      '/api/v1/cards%2F',
      '/%zz',
      '/%',
      '/api/v1/%zz',
      '/../etc/passwd',
      '//',
      '/api/v1/cards;x=1',
    ];
    for (const path of unknown)
      it(`respond with 404 to any method on ${path}`, async () => {
        for (const method of ['GET', 'POST', 'HEAD', 'OPTIONS', 'DELETE', 'TRACE', 'PATCH'])
          expect((await ask({ method, path, headers: { accept: 'text/html' } })).status, method).to.equal(
            404,
          );
        expect(await result({ path, key })).to.deep.equal([404, 'not_found']);
      });
    const allowed: readonly (readonly [string, string])[] = [
      ['/api/v1/cards', 'POST, GET, HEAD, OPTIONS'],
      ['/api/v1/cards/HC-0000000', 'GET, HEAD, DELETE, OPTIONS'],
      ['/api/v1/cards/', 'GET, HEAD, DELETE, OPTIONS'],
      ['/api/v1/account', 'GET, HEAD, OPTIONS'],
      ['/v1/handwriting', 'GET, HEAD, OPTIONS'],
      ['/operator/v1/organizations', 'POST, GET, HEAD, OPTIONS'],
      ['/api/v1/webhooks/x', 'GET, HEAD, PATCH, DELETE, OPTIONS'],
      ['/healthz', 'GET, HEAD, OPTIONS'],
    ];
    for (const [path, allow] of allowed)
      it(`list the allowed methods of ${path}, and respond with 405 to any other`, async () => {
        const names = allow.split(', ').toSorted();
        const listed = ({ headers }: Reply) => String(headers.allow).split(', ').toSorted();
        const options = await ask({ method: 'OPTIONS', path });
        expect([options.status, options.text, listed(options)]).to.deep.equal([204, '', names]);
        for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'TRACE'].filter(
          (name) => !names.includes(name),
        )) {
          const reply = await ask({ method, path });
          expect([reply.status, listed(reply)], method).to.deep.equal([405, names]);
        }
      });
    it('respond to HEAD as to GET, without the body', async () => {
      for (const path of [
        '/api/v1/cards',
        '/api/v1/account',
        '/api/v1/cards/',
        '/api/v1/cards/HC-0000000',
        '/healthz',
        '/docs',
        '/openapi.json',
        '/metrics',
      ]) {
        const [get, head] = [await ask({ path, key }), await ask({ method: 'HEAD', path, key })];
        expect([head.status, head.text, head.headers['content-type']], path).to.deep.equal([
          get.status,
          '',
          get.headers['content-type'],
        ]);
      }
    });
    it('send no CORS headers, so that no other origin gets in', async () => {
      const headers = { origin: 'https://evil.example', 'access-control-request-method': 'POST' };
      for (const method of ['OPTIONS', 'GET']) {
        const reply = await ask({ method, path: '/api/v1/cards', headers });
        expect(Object.keys(reply.headers).filter((name) => name.startsWith('access-control'))).to.deep.equal(
          [],
        );
      }
    });
    it('respond with JSON whatever the Accept header says', async () => {
      for (const accept of ['text/html', 'application/xml', '*/*', 'image/png;q=1', '']) {
        const reply = await ask({ path: '/api/v1/account', key, headers: { accept } });
        expect([reply.status, reply.headers['content-type']]).to.deep.equal([
          200,
          'application/json; charset=utf-8',
        ]);
      }
    });
    it('require no key for health, metrics and documentation, even that of an error', async () => {
      const types = await Promise.all(
        ['/healthz', '/readyz', '/openapi.json', '/metrics', '/docs', '/docs/errors/no_credits'].map(
          async (path) => (await ask({ path })).headers['content-type'],
        ),
      );
      expect(types.map((type) => type?.split(';')[0])).to.deep.equal([
        'application/json',
        'application/json',
        'application/json',
        'text/plain',
        'text/html',
        'text/html',
      ]);
    });
  });

  it('assigns a new request id each time, and ignores those that clients send', async () => {
    const headers = { 'x-request-id': 'req_mine', 'request-id': 'req_mine' };
    const seen = await Promise.all(
      Array.from(
        { length: 20 },
        async () => (await ask({ path: '/api/v1/account', key, headers })).headers['x-request-id'],
      ),
    );
    expect(new Set(seen).size).to.equal(20);
    expect(seen).not.to.include('req_mine');
  });

  describe('HTTP on the wire', () => {
    const head = 'GET /healthz HTTP/1.1\r\n';
    const broken: readonly (readonly [string, string, number])[] = [
      ['an unknown method', 'FROB / HTTP/1.1\r\nHost: x\r\n\r\n', 400],
      ['text that is not HTTP', 'hello\r\n\r\n', 400],
      ['no Host', `${head}\r\n`, 400],
      ['two Hosts', `${head}Host: a\r\nHost: b\r\n\r\n`, 400],
      ['a header without a colon', `${head}Host: x\r\nnonsense\r\n\r\n`, 400],
      ['headers that are too large', `${head}Host: x\r\nA: ${'a'.repeat(70_000)}\r\n\r\n`, 431],
      [
        'two Content-Length headers',
        'POST /api/v1/cards HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
        400,
      ],
      [
        'a Content-Length and chunks',
        'POST /api/v1/cards HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
        400,
      ],
      ['an unknown Expect', `${head}Host: x\r\nExpect: tea\r\n\r\n`, 417],
    ];
    for (const [what, text, status] of broken)
      it(`gets an error in JSON if it has ${what}`, async () => {
        const connection = openRaw(service.port);
        connection.socket.write(text, 'latin1');
        await eventually(() => connection.ended());
        const [reply, ...more] = answersIn(connection.seen());
        if (reply === undefined) throw new Error(`no response in ${connection.seen()}`);
        const headers = new Headers(
          Object.entries(reply.headers).map(([name, value]): [string, string] => [name, String(value)]),
        );
        expect(
          conformance({ method: 'GET', path: '/', status: reply.status, headers, text: reply.text }),
        ).to.equal(null);
        expect([reply.status, codeOf(reply), more]).to.deep.equal([status, 'invalid_request', []]);
        expect(reply.text).to.match(/(?:HTTP|headers|header|Host|Expect).*\. [A-Z]/);
      });
    it('gets 100 Continue before its body if the client expects it', async () => {
      const body = JSON.stringify(aCard());
      const connection = openRaw(service.port);
      connection.socket.write(
        `POST /api/v1/cards HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nExpect: 100-continue\r\n\r\n`,
      );
      await eventually(() => connection.seen().startsWith('HTTP/1.1 100 '));
      connection.socket.write(body);
      await eventually(() => connection.ended());
      expect(connection.seen()).to.match(/^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 201 Created\r\n/);
    });
  });
});
