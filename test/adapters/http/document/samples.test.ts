import { execFile, spawnSync } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { z } from 'zod';
import { whole } from '../../../../adapters/http/schema/read.js';
import { route, type Route } from '../../../../adapters/http/server/route.js';
import {
  exampleOf,
  responseExampleOf,
  sampleRequest,
  samplesOf,
} from '../../../../adapters/http/document/samples.js';

const run = promisify(execFile);
const hasPython = spawnSync('python3', ['--version']).status === 0;
const commands = {
  curl: ['sh', '-c'],
  Node: ['node', '--input-type=module', '-e'],
  Python: ['python3', '-c'],
} as const;

const awkward = "It's \"50 %\" of $HOME \\ `x` ${y}\nGrüße, 李 <&> ''";
const body = z.object({
  text: z.string().meta({ examples: [awkward] }),
  'odd-name': z.boolean().meta({ examples: [false] }),
  nothing: z
    .string()
    .nullable()
    .meta({ examples: [null] }),
  many: z.array(z.string()).meta({ examples: [['a', "b'c"]] }),
  rows: z.array(z.object({ count: z.int().meta({ examples: [3] }) })),
  empty: z.object({}),
  left_out: z.string().optional(),
});

const things = (method: Route['method'], changes: Partial<Parameters<typeof route>[1]> = {}): Route =>
  route(`${method} /things/:id`, {
    id: 'things',
    summary: 'Things',
    tags: ['cards'],
    access: { kind: 'key', scope: null },
    params: z.object({ id: z.string().meta({ examples: ['a b/c?'] }) }),
    failure: 'internal_error',
    headers: { 'Idempotency-Key': { description: 'A key.', schema: { examples: ["it's one"] } } },
    responses: { 200: { description: 'Done.', schema: z.object({ ok: z.literal(true) }) } },
    handle: () => Promise.resolve({ status: 200, body: {} }),
    ...changes,
  });

describe('a sample of an operation', () => {
  let server: Server;
  let base: string;
  let received: unknown;
  before(async () => {
    server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request
        .on('data', (chunk: Buffer) => chunks.push(chunk))
        .on('end', () => {
          const text = Buffer.concat(chunks).toString();
          const { authorization, 'content-type': type, 'idempotency-key': key } = request.headers;
          received = { method: request.method, url: request.url, authorization, type, key, text };
          response.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true}');
        });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(() => new Promise((resolve) => server.close(resolve)));

  const sentBy = async (shown: Route, label: keyof typeof commands): Promise<Record<string, unknown>> => {
    const { source } = samplesOf(shown, base).find((sample) => sample.label === label) ?? { source: '' };
    const variables = ['API_KEY=hck_1', 'OPERATOR_TOKEN=token'];
    const { stdout } = await run('env', [...variables, ...commands[label], source]);
    expect(stdout.replaceAll(/\s/g, ''), label).to.match(/^\{['"]?ok['"]?:[tT]rue\}$/);
    const { text, ...rest } = received as { readonly text: string };
    return { ...rest, body: text === '' ? undefined : JSON.parse(text) };
  };

  for (const label of ['curl', 'Node', 'Python'] as const)
    (label === 'Python' && !hasPython ? it.skip : it)(`sends the same examples with ${label}`, async () => {
      const sent = await sentBy(things('POST', { body: whole(body) }), label);
      expect(sent).to.deep.equal({
        method: 'POST',
        url: '/things/a%20b%2Fc%3F',
        authorization: 'Bearer hck_1',
        type: 'application/json',
        key: "it's one",
        body: {
          text: awkward,
          'odd-name': false,
          nothing: null,
          many: ['a', "b'c"],
          rows: [{ count: 3 }],
          empty: {},
        },
      });
      for (const method of ['GET', 'DELETE'] as const) {
        const plain = await sentBy(things(method, { access: { kind: 'public' } }), label);
        expect(plain).to.include({ method, url: '/things/a%20b%2Fc%3F', authorization: undefined });
      }
      const { authorization } = await sentBy(
        things('GET', { access: { kind: 'operator', scope: null } }),
        label,
      );
      expect(authorization).to.equal('Bearer token');
    });

  it('has the parameters that must be there', () => {
    const query = z.object({
      from: z.string().meta({ examples: ['1 2'] }),
      to: z
        .string()
        .meta({ examples: ['3'] })
        .optional(),
    });
    expect(sampleRequest(things('GET', { query }), base).url).to.equal(
      `${base}/things/a%20b%2Fc%3F?from=1+2`,
    );
  });
});

describe('an example of a schema', () => {
  it('is the one that it shows, else one of its fields', () => {
    const type = { properties: { id: { examples: ['x'] }, size: { minimum: 2 } } };
    expect(exampleOf({ type: 'object', ...type, examples: [{ id: 'y' }] })).to.deep.equal({ id: 'y' });
    expect(exampleOf({ type: 'object', required: ['id'], ...type })).to.deep.equal({ id: 'x' });
    expect(exampleOf({ anyOf: [{ type: 'array', items: { const: 1 } }, { type: 'null' }] })).to.deep.equal([
      1,
    ]);
  });
  it('has in a response only what is always there', () => {
    const schema = z.object({
      id: z.literal('x'),
      erased: z
        .string()
        .meta({ examples: ['y'] })
        .optional(),
    });
    expect(responseExampleOf(things('GET'), { description: '', schema })).to.deep.equal({ id: 'x' });
    expect(responseExampleOf(things('GET'), { description: '', schema: null })).to.equal(undefined);
  });
});
