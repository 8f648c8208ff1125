import canonicalize from 'canonicalize';
import { expect } from 'chai';
import fc from 'fast-check';
import { NumberText } from '../../../../domain/plain-object.js';
import { canonical, parseObject } from '../../../../adapters/http/server/json-body.js';
import { isOfType } from '../../../../adapters/http/server/media-types.js';
import { capture } from '../../../../domain/errors.js';
import { eventually } from '../../../support/time/eventually.js';
import {
  answersIn,
  call,
  codeOf,
  keys,
  openRaw,
  startHttp,
  type TestService,
} from '../../../support/http/http.js';
import { newTraces, testRoutes } from '../../../support/http/http-routes.js';

const nested = (levels: number): string => '{"a":'.repeat(levels - 1) + '{}' + '}'.repeat(levels - 1);
const outcome = (bytes: Buffer | string): unknown => {
  const result = capture(() => parseObject(Buffer.from(bytes)));
  return 'refusal' in result ? result.refusal.code : result.value;
};

describe('the content type (decision 5)', () => {
  const accepted = [
    'application/json',
    'Application/JSON',
    'application/json;charset=utf-8',
    'application/json; charset=UTF-8',
    'application/json; charset="utf-8"',
    'application/json ; odd=1; charset=utf-8',
    'application/json;',
    'application/json; v=";charset=latin1"',
    'application/json; v="\\""; charset=utf-8',
  ];
  const refused = [
    undefined,
    '',
    'text/plain',
    'application/jsonx',
    'application/ld+json',
    'application/problem+json',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/json; charset=latin1',
    'application/json; charset=utf-16',
    'application/json; charset=utf-8; charset=latin1',
    'application/json; charset="latin1',
    'application/json; charset="latin1\\"',
    'text/plain; application/json',
    'application/json, text/plain',
  ];
  for (const type of accepted)
    it(`is accepted if it is ${type}`, () => expect(isOfType(type, 'application/json')).to.equal(true));
  for (const type of refused)
    it(`is refused if it is ${type ?? 'missing'}`, () =>
      expect(isOfType(type, 'application/json')).to.equal(false));
});

describe('the body (decision 6)', () => {
  it('is parsed if it is a JSON object', () =>
    expect(outcome('{"a":[1,{"b":null}]}')).to.deep.equal({ a: [1, { b: null }] }));
  it('may begin with one byte order mark', () => {
    expect(outcome('\ufeff{"a":1}')).to.deep.equal({ a: 1 });
    expect(outcome('\ufeff\ufeff{}')).to.equal('invalid_json');
  });
  for (const text of [
    '',
    ' ',
    '\n\t',
    '\ufeff',
    '{',
    '{"a":1,}',
    "{'a':1}",
    '{"a":NaN}',
    '{} {}',
    'undefined',
    '{"a":01}',
    '{"a":"\n"}',
  ])
    it(`is refused with invalid_json: ${JSON.stringify(text)}`, () =>
      expect(outcome(text)).to.equal('invalid_json'));
  it('is refused with a message that says where it stops being JSON', () => {
    const told = (text: string): string => {
      const result = capture(() => parseObject(Buffer.from(text)));
      return 'refusal' in result ? result.refusal.message : '';
    };
    expect(told('{"a":1,}')).to.equal("The body is not valid JSON: it can't be parsed from character 8 on.");
    expect(told('{"a":NaN}')).to.equal("The body is not valid JSON: it can't be parsed from a `N` on.");
    expect(told('{"a":1')).to.match(/^The body is not valid JSON: it can't be parsed/);
    expect(told(' ')).to.equal('The body is not valid JSON: it is empty.');
  });
  it('is parsed as JSON.parse does, whatever digits stand in its texts', () => {
    const noisy = fc.string({ unit: fc.constantFrom(...'0159.,:-eE+" \\[]{}\n') });
    const value = fc.letrec((tie) => ({
      any: fc.oneof(noisy, fc.integer(), fc.constant(null), fc.array(tie('any')), fc.dictionary(noisy, tie('any'))),
    })).any; // prettier-ignore
    fc.assert(
      fc.property(fc.dictionary(noisy, value), fc.constantFrom(undefined, 1), (sent, indent) => {
        const text = JSON.stringify(sent, null, indent);
        expect(outcome(text)).to.deep.equal(JSON.parse(text));
      }),
    );
  });
  it('keeps the digits of numbers that a double would change', () => {
    expect(outcome('{"a":1.10,"b":["\\"1.10", 1e2,-0, 820982911946154508,7]}')).to.deep.equal({
      a: new NumberText('1.10'),
      b: ['"1.10', new NumberText('1e2'), new NumberText('-0'), new NumberText('820982911946154508'), 7],
    });
  });
  it('keeps the digits of numbers below a name that could reach a prototype, which is removed', () => {
    const value = parseObject(
      Buffer.from('{"a":{"__proto__":1.10,"b":1e2,"constructor":[-0]},"10":-0,"2":1}'),
    );
    expect(value).to.deep.equal({ a: { b: new NumberText('1e2') }, 10: new NumberText('-0'), 2: 1 });
    expect(canonical(value)).to.equal('{"10":-0,"2":1,"a":{"__proto__":1.10,"b":1e2,"constructor":[-0]}}');
  });
  it('keeps the digits of every number, wherever it stands, and makes a number of what a double gives back', () => {
    const digits = fc.oneof(
      fc.constant('0'),
      fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: 1, maxLength: 19 }),
    );
    const written = fc
      .tuple(
        fc.constantFrom('', '-'),
        digits.map((text) => text.replace(/^0+(?=\d)/, '')),
        fc.oneof(
          fc.constant(''),
          digits.map((text) => `.${text}`),
        ),
        fc.oneof(
          fc.constant(''),
          fc.tuple(fc.constantFrom('e', 'E', 'e+', 'e-'), digits).map((parts) => parts.join('')),
        ),
      )
      .map((parts) => parts.join(''));
    const space = fc.string({ unit: fc.constantFrom(...' \t\r\n'), maxLength: 2 });
    const read = (text: string) => (String(Number(text)) === text ? Number(text) : new NumberText(text));
    fc.assert(
      fc.property(fc.array(written, { minLength: 1, maxLength: 3 }), space, (numbers, gap) => {
        const [first = ''] = numbers;
        const list = numbers.map((text) => `${gap}${text}${gap}`).join(',');
        expect(outcome(`{"a":${gap}${first}${gap},"b":[${list}]}`)).to.deep.equal({
          a: read(first),
          b: numbers.map(read),
        });
      }),
    );
  });
  for (const text of ['null', '"text"', '1', '1.0', 'true', '[]', '[{}]'])
    it(`is refused with invalid_body: ${text}`, () => expect(outcome(text)).to.equal('invalid_body'));
  for (const bytes of [
    [0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d],
    [0x7b, 0x22, 0xc3, 0x22, 0x3a, 0x31, 0x7d],
    [0x7b, 0x22, 0xed, 0xa0, 0x80, 0x22, 0x3a, 0x31, 0x7d],
    [0x7b, 0x22, 0xc0, 0xaf, 0x22, 0x3a, 0x31, 0x7d],
    [0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00],
  ])
    it(`is refused if it is not UTF-8: ${Buffer.from(bytes).toString('hex')}`, () =>
      expect(outcome(Buffer.from(bytes))).to.equal('invalid_json'));
  it('may nest 32 levels and no more', () => {
    expect(outcome(nested(32))).to.be.an('object');
    expect(outcome(nested(33))).to.equal('invalid_json');
    expect(outcome(`{"a":${'['.repeat(31)}${']'.repeat(31)}}`)).to.be.an('object');
    expect(outcome(`{"a":${'['.repeat(32)}${']'.repeat(32)}}`)).to.equal('invalid_json');
    expect(outcome('['.repeat(33) + ']'.repeat(33))).to.equal('invalid_json');
    expect(outcome(`{"constructor":${nested(32)}}`)).to.equal('invalid_json');
    expect(outcome('['.repeat(50_000) + ']'.repeat(50_000))).to.equal('invalid_json');
  });
  it('has the canonical form of RFC 8785, but for the digits of numbers', () => {
    const form = (text: string) => canonical(parseObject(Buffer.from(text)));
    const name = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('__proto__', 'constructor'));
    const value = fc.letrec((tie) => ({
      any: fc.oneof(name, fc.integer(), fc.boolean(), fc.constant(null), fc.array(tie('any')), fc.dictionary(name, tie('any'))),
    })).any; // prettier-ignore
    fc.assert(
      fc.property(fc.dictionary(name, value), fc.constantFrom(undefined, 1), (sent, indent) => {
        const text = JSON.stringify(sent, null, indent);
        expect(form(text)).to.equal(canonicalize(JSON.parse(text)));
      }),
    );
    const forms = [
      '{"a":1.10}',
      '{"a":{"number":"1.10"}}',
      '{"a":"1.10"}',
      '{"a":1.1}',
      '{"a":{}}',
      '{"a":{"constructor":1}}',
      '{"a":{"constructor":2}}',
      '{"a":{"__proto__":{"constructor":[]}}}',
      '{"a":{"__proto__":{}}}',
    ].map((text) => [form(text), text]);
    for (const [is, text] of forms) expect(is).to.equal(text);
  });
  it('can’t set a prototype', () => {
    expect(
      outcome('{"__proto__":{"x":1},"constructor":2,"a":{"\\u005f_proto__":3,"b":[{"constructor":{}}]}}'),
    ).to.deep.equal({ a: { b: [{}] } });
    expect(({} as { readonly x?: number }).x).to.equal(undefined);
  });
});

describe('a body on the wire (decisions 5, 6)', () => {
  let service: TestService;
  before(async () => {
    service = await startHttp(testRoutes(newTraces()), { requestsPerMinute: 100_000 });
  });
  after(() => service.close());

  const head = (lines: readonly string[]): string =>
    [
      'POST /api/v1/cards HTTP/1.1',
      'Host: x',
      `Authorization: Bearer ${keys.all}`,
      'Content-Type: application/json',
      ...lines,
      '',
      '',
    ].join('\r\n');
  const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
  const padded = (size: number): string => `{"message":"${'x'.repeat(size - 14)}"}`;
  const last = `GET /api/v1/account HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${keys.all}\r\nConnection: close\r\n\r\n`;

  /** The responses to all parts, and then to one more request on the same connection. */
  const converse = async (
    ...parts: readonly string[]
  ): Promise<readonly (readonly [number, string | null])[]> => {
    const connection = openRaw(service.port);
    for (const part of [...parts, last]) connection.socket.write(part, 'latin1');
    await eventually(() => connection.ended());
    return answersIn(connection.seen()).map((reply) => [reply.status, codeOf(reply)] as const);
  };

  it('may have at most 100 KiB', async () => {
    const send = async (size: number) =>
      codeOf(
        await call(service, {
          method: 'POST',
          path: '/api/v1/cards',
          key: keys.all,
          headers: { 'content-type': 'application/json' },
          body: padded(size),
        }),
      );
    expect([padded(102_400).length, await send(102_400), await send(102_401)]).to.deep.equal([
      102_400,
      'invalid_recipient',
      'body_too_large',
    ]);
  });
  it('is refused if its Content-Length is too large, and the connection stays usable', async () => {
    const body = padded(150_000);
    expect(await converse(head([`Content-Length: ${body.length}`]), body)).to.deep.equal([
      [413, 'body_too_large'],
      [200, null],
    ]);
  });
  it('is refused if its chunks are too large together, and the connection stays usable', async () => {
    const pieces = Array.from({ length: 20 }, () => chunk('x'.repeat(10_000)));
    expect(await converse(head(['Transfer-Encoding: chunked']), ...pieces, '0\r\n\r\n')).to.deep.equal([
      [413, 'body_too_large'],
      [200, null],
    ]);
  });
  it('may come in chunks', async () => {
    expect(
      await converse(head(['Transfer-Encoding: chunked']), chunk('{"message":'), chunk('"Hi"}'), '0\r\n\r\n'),
    ).to.deep.equal([
      [422, 'invalid_recipient'],
      [200, null],
    ]);
  });
  it('is skipped if the request is refused before it, and the connection stays usable', async () => {
    const body = padded(50_000);
    expect(
      await converse(head([`Content-Length: ${body.length}`]).replace(keys.all, keys.unknown), body),
    ).to.deep.equal([
      [401, 'invalid_key'],
      [200, null],
    ]);
  });
  it('is skipped on GET, and the connection stays usable', async () => {
    const get = head(['Content-Length: 5']).replace('POST', 'GET');
    expect(await converse(get, '12345')).to.deep.equal([
      [200, null],
      [200, null],
    ]);
  });
  it('is refused as empty if it is missing', async () => {
    expect(await converse(head([]))).to.deep.equal([
      [400, 'invalid_json'],
      [200, null],
    ]);
  });
  it('is refused in any content encoding but identity', async () => {
    const send = async (encoding: string) =>
      codeOf(
        await call(service, {
          method: 'POST',
          path: '/api/v1/cards',
          key: keys.all,
          headers: { 'content-encoding': encoding },
          body: {},
        }),
      );
    expect([
      await send('gzip'),
      await send('br'),
      await send('identity, gzip'),
      await send('Identity'),
      await send(''),
    ]).to.deep.equal([
      'unsupported_media_type',
      'unsupported_media_type',
      'unsupported_media_type',
      'invalid_recipient',
      'invalid_recipient',
    ]);
  });
  it('is asked for with 100 Continue only when it will be read', async () => {
    const connection = openRaw(service.port);
    connection.socket.write(head(['Content-Length: 2', 'Expect: 100-continue']));
    await eventually(() => connection.seen().startsWith('HTTP/1.1 100 Continue\r\n\r\n'));
    connection.socket.end('{}');
    await eventually(() => connection.ended());
    expect(answersIn(connection.seen()).map(({ status }) => status)).to.deep.equal([100, 422]);

    const refused = openRaw(service.port);
    refused.socket.write(head(['Content-Length: 2', 'Expect: 100-continue']).replace(keys.all, keys.unknown));
    await eventually(() => refused.ended());
    expect(
      answersIn(refused.seen()).map(({ status, headers }) => [status, headers['connection']]),
    ).to.deep.equal([[401, 'close']]);
  });
  it('is refused as malformed if it ends early', async () => {
    const connection = openRaw(service.port);
    connection.socket.end(head(['Content-Length: 100']) + '{"mess');
    await eventually(() => connection.ended());
    expect(
      answersIn(connection.seen()).map((reply) => [reply.status, codeOf(reply), reply.headers['connection']]),
    ).to.deep.equal([[400, 'invalid_request', 'close']]);
  });
  it('does no harm if it never arrives, and gets no response', async () => {
    const connection = openRaw(service.port);
    connection.socket.write(head(['Content-Length: 100', 'Expect: 100-continue']) + '{"mess');
    await eventually(() => connection.seen() !== '');
    connection.socket.resetAndDestroy();
    await eventually(() => service.log.some((line) => line['status'] === 499));
  });
});
