import { expect } from 'chai';
import { eventually } from '../../../support/time/eventually.js';
import {
  answersIn,
  codeOf,
  keys,
  openRaw,
  startHttp,
  type Reply,
  type TestService,
} from '../../../support/http/http.js';
import { newTraces, testRoutes } from '../../../support/http/http-routes.js';

describe('HTTP at the edges of the protocol (decision 9)', () => {
  const traces = newTraces();
  let service: TestService;
  before(async () => {
    service = await startHttp(testRoutes(traces), {
      requestsPerMinute: 100_000,
      timeouts: { headers: 150, request: 300, check: 20 },
    });
  });
  after(() => service.close());

  /** Sends the text and returns the responses that came until the connection ended. */
  const answersTo = async (text: string): Promise<readonly Reply[]> => {
    const connection = openRaw(service.port);
    connection.socket.write(text, 'latin1');
    await eventually(() => connection.ended());
    return answersIn(connection.seen());
  };
  const good = `GET /api/v1/account HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${keys.all}\r\n\r\n`;
  const headOf = (body: string): string =>
    `POST /api/v1/cards HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${keys.all}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${body}`;

  const single: Readonly<Record<string, readonly [string, number]>> = {
    'an unknown method': ['FROB / HTTP/1.1\r\nHost: x\r\n\r\n', 400],
    'no HTTP at all': ['hello\r\n\r\n', 400],
    'a TLS hello': ['\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400],
    'a space in the target': ['GET /a b HTTP/1.1\r\nHost: x\r\n\r\n', 400],
    'bytes beyond ASCII in the target': ['GET /api/v1/cards/\xc3\xa9 HTTP/1.1\r\nHost: x\r\n\r\n', 400],
    'an unknown version': ['GET / HTTP/9.9\r\nHost: x\r\n\r\n', 400],
    'a header without a colon': ['GET / HTTP/1.1\r\nHost: x\r\nnonsense\r\n\r\n', 400],
    'a space before the colon': ['GET / HTTP/1.1\r\nHost : x\r\n\r\n', 400],
    'a null byte in a header': ['GET / HTTP/1.1\r\nHost: x\r\nA: \0\r\n\r\n', 400],
    'two lengths': [
      'POST /api/v1/cards HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
      400,
    ],
    'a length and chunks': [
      'POST /api/v1/cards HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
      400,
    ],
    'a negative length': ['POST /api/v1/cards HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n', 400],
    'no Host header': ['GET /healthz HTTP/1.1\r\n\r\n', 400],
    'two Host headers, one of them after 2,000 others': [
      `GET /healthz HTTP/1.1\r\nHost: a\r\n${'a:\r\n'.repeat(2_000)}Host: b\r\n\r\n`,
      400,
    ],
    'two Host headers': ['GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n', 400],
    'headers over 16 KiB': [`GET / HTTP/1.1\r\nHost: x\r\nA: ${'a'.repeat(20_000)}\r\n\r\n`, 431],
    'a target over 16 KiB': [`GET /${'a'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 431],
    'an unknown expectation': ['GET /healthz HTTP/1.1\r\nHost: x\r\nExpect: tea\r\n\r\n', 417],
    'half a head that never ends': ['GET / HTTP/1.1\r\nHost: x\r\nA: ', 408],
    'half a body that never ends': [headOf('5\r\n{"a":\r\n'), 408],
    'a bad chunk length': [headOf('zz\r\n'), 400],
    'a chunk longer than it says': [headOf('2\r\n{}}\r\n'), 400],
    'extensions of a chunk without end': [headOf(`2;${'a'.repeat(20_000)}\r\n{}\r\n`), 413],
  };
  for (const [name, [text, status]] of Object.entries(single))
    it(`is refused in JSON if it is malformed: ${name}`, async () => {
      const [reply, ...more] = await answersTo(text);
      expect(more).to.deep.equal([]);
      expect([reply?.status, reply === undefined ? null : codeOf(reply)]).to.deep.equal([
        status,
        status === 413 ? 'body_too_large' : 'invalid_request',
      ]);
      const headers = reply?.headers ?? {};
      expect(headers).to.include({
        'content-type': 'application/json; charset=utf-8',
        'cache-control': 'no-store',
        connection: 'close',
        'x-ratelimit-reset': `${Date.parse('2026-03-02T15:01:00Z') / 1000}`,
      });
      expect(headers['x-request-id']).to.match(/^req_[\w-]{20}$/);
      expect(reply?.body).to.have.nested.property('error.request_id', headers['x-request-id']);
      expect(reply?.body)
        .to.have.nested.property('error.docs')
        .that.matches(/^https:\/\/cards\.example\/docs\/errors\//);
    });

  it('gets the response to a good request even if garbage follows', async () => {
    const replies = await answersTo(`${good}GARBAGE\r\n\r\n`);
    expect(replies.map((reply) => [reply.status, codeOf(reply)])).to.deep.equal([
      [200, null],
      [400, 'invalid_request'],
    ]);
  });
  it('gets the response to a slow request before the refusal of garbage that follows', async () => {
    const connection = openRaw(service.port);
    connection.socket.write('GET /api/v1/fails/slow HTTP/1.1\r\nHost: x\r\n\r\nGARBAGE\r\n\r\n');
    await eventually(() => traces.calls.includes('slow'));
    expect(connection.seen()).to.equal('');
    traces.release();
    await eventually(() => connection.ended());
    expect(answersIn(connection.seen()).map(({ status }) => status)).to.deep.equal([200, 400]);
  });
  it('is not proxied to other hosts', async () => {
    const [reply] = await answersTo('CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n');
    expect([reply?.status, reply === undefined ? null : codeOf(reply)]).to.deep.equal([404, 'not_found']);
  });
  it('stays HTTP/1.1 if an upgrade is requested', async () => {
    const [reply] = await answersTo(
      'GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
    );
    expect(reply?.status).to.equal(200);
  });
  it('may be HTTP/1.0 without a Host', async () => {
    const [reply] = await answersTo('GET /healthz HTTP/1.0\r\n\r\n');
    expect(reply?.status).to.equal(200);
  });
  it('may ask for the OPTIONS of the whole server, which is not found', async () => {
    const [reply] = await answersTo('OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    expect([reply?.status, reply === undefined ? null : codeOf(reply)]).to.deep.equal([404, 'not_found']);
  });
  it('has responses to pipelined requests in their order', async () => {
    const connection = openRaw(service.port);
    connection.socket.write(
      'GET /api/v1/fails/first HTTP/1.1\r\nHost: x\r\n\r\n' +
        good +
        good.replace('Host: x', 'Host: x\r\nConnection: close').replace('account', 'nothing'),
    );
    await eventually(() => traces.calls.includes('first'));
    traces.release();
    await eventually(() => connection.ended());
    expect(answersIn(connection.seen()).map(({ status }) => status)).to.deep.equal([200, 200, 404]);
  });
});
