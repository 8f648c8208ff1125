import { expect } from 'chai';
import { operatorScopes, scopes } from '../../domain/api-key.js';
import {
  operationsOf,
  readDocument,
  type Document,
  type DocumentedOperation,
} from '../support/http/document.js';
import {
  clientOf,
  startTestService,
  type Client,
  type Reply,
  type RunningService,
  type Tenant,
} from '../support/http/service.js';

const unknownKey = `hck_${'0'.repeat(43)}`;
const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
const authenticationCodes = ['missing_key', 'malformed_key', 'invalid_key', 'revoked_key'];

const scopeOf = (operation: DocumentedOperation): string | null => operation['x-scope'] ?? null;
const isKeyed = ({ security }: DocumentedOperation): boolean => security.some((way) => 'apiKey' in way);
const isOperators = ({ security }: DocumentedOperation): boolean =>
  security.some((way) => 'operatorToken' in way);
const isStream = ({ responses }: DocumentedOperation): boolean =>
  responses['200']?.content?.['text/event-stream'] !== undefined;

/** A path that matches the operation and names nothing that exists. */
const addressOf = ({ path }: { readonly path: string }): string =>
  path.replaceAll(/\{(\w+)\}/g, '00000000-0000-4000-8000-000000000000');

/**
 * Checks each operation of the document against the rules that hold for all of them; the client compares the
 * responses with the document. New operations are covered by being declared.
 */
describe('every operation of the document', () => {
  let service: RunningService;
  let document: Document;
  let tenant: Tenant;
  const narrow = new Map<string, Client>();
  before(async () => {
    service = await startTestService();
    document = await readDocument(service.baseUrl);
    tenant = await service.tenant();
    for (const scope of scopes)
      narrow.set(scope, await tenant.withScopes(...scopes.filter((other) => other !== scope)));
  });
  after(() => service.stop());

  const operations = (wanted: (operation: DocumentedOperation) => boolean): readonly DocumentedOperation[] =>
    operationsOf(document).filter(wanted);

  const says = (
    operation: DocumentedOperation,
    reply: Reply,
    status: number,
    code: string,
    param: string | null = null,
  ): void => {
    expect([reply.status, reply.code, reply.param], `${operation.method} ${operation.path}`).to.deep.equal([
      status,
      code,
      param,
    ]);
  };
  const callerOf = (operation: DocumentedOperation): Client =>
    isOperators(operation) ? service.operator : isKeyed(operation) ? tenant.api : service.anonymous;
  const send = (
    operation: DocumentedOperation,
    more: {
      readonly body?: unknown;
      readonly headers?: Readonly<Record<string, string>>;
      readonly search?: string;
    } = {},
  ): Promise<Reply> =>
    callerOf(operation)(`${addressOf(operation)}${more.search ?? ''}`, { method: operation.method, ...more });

  it('has a unique operationId, a summary and a success response', () => {
    const all = operationsOf(document);
    expect(all.length).to.be.above(30);
    expect(new Set(all.map(({ operationId }) => operationId)).size).to.equal(all.length);
    for (const { operationId, path, summary, tags, responses, parameters = [] } of all) {
      expect(summary, operationId).to.be.a('string').with.length.above(5);
      expect(tags, operationId).to.have.length.above(0);
      expect(
        Object.keys(responses).some((status) => status.startsWith('2')),
        operationId,
      ).to.equal(true);
      expect(
        parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name),
        operationId,
      ).to.deep.equal([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name));
    }
  });
  it('refers only to components that the document has', () => {
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/(\w+)\/([^"]+)"/g)];
    expect(references.length).to.be.above(50);
    for (const [reference, kind = '', name = ''] of references)
      expect(document.components, reference).to.have.nested.property(`${kind}.${name}`);
  });
  it('requires a key if the document says so', async () => {
    for (const operation of operations(isKeyed)) {
      const as = (authorization: string) =>
        service.anonymous(addressOf(operation), { method: operation.method, headers: { authorization } });
      const keyless = await service.anonymous(addressOf(operation), { method: operation.method });
      says(operation, keyless, 401, 'missing_key');
      expect(keyless.headers.get('www-authenticate')).to.equal('Bearer');
      says(operation, await as('Bearer nonsense'), 401, 'malformed_key');
      says(operation, await as(`Bearer ${unknownKey}`), 401, 'invalid_key');
    }
  });
  it('requires the operator token if the document says so', async () => {
    for (const operation of operations(isOperators)) {
      says(
        operation,
        await service.anonymous(addressOf(operation), { method: operation.method }),
        401,
        'missing_key',
      );
      says(
        operation,
        await tenant.api(addressOf(operation), { method: operation.method }),
        401,
        'invalid_key',
      );
    }
  });
  it('requires no key if the document says none', async () => {
    for (const operation of operations((each) => !isKeyed(each) && !isOperators(each))) {
      const reply = await send(operation, operation.requestBody === undefined ? {} : { body: {} });
      expect(authenticationCodes, operation.operationId).not.to.include(reply.code);
    }
  });
  it('requires its scope, and names it', async () => {
    for (const operation of operations((each) => isKeyed(each) && scopeOf(each) !== null)) {
      const reply = await narrow.get(scopeOf(operation) ?? '')?.(addressOf(operation), {
        method: operation.method,
      });
      if (reply === undefined) throw new Error(`${operation.operationId} requires an unknown scope`);
      says(operation, reply, 403, 'missing_scope');
      expect(reply.text).to.include(scopeOf(operation));
    }
    expect(
      operations((each) => isKeyed(each) && scopeOf(each) === null).map(({ path }) => path),
    ).to.deep.equal([
      '/api/v1/account',
      '/api/v1/credits',
      '/api/v1/designs',
      '/api/v1/collection',
      '/api/v1/handwriting',
      '/v1/handwriting',
      '/api/v1/previews',
    ]);
  });
  it('requires the scope of an operator’s key, and writes nothing without it', async () => {
    const keyOf = async (wanted: readonly string[]): Promise<Client> =>
      clientOf(
        service.baseUrl,
        String((await service.operator('/operator/v1/keys', { body: { scopes: wanted } })).body['key']),
      );
    const all = await keyOf(operatorScopes);
    const auditor = await keyOf(['operator:audit']);
    const without = new Map<string | null, Client>([[null, all]]);
    const only = new Map<string | null, Client>();
    for (const scope of operatorScopes) {
      const rest = operatorScopes.filter((other) => other !== scope && other !== 'operator:audit');
      without.set(scope, await keyOf(rest));
      only.set(scope, await keyOf([scope]));
    }
    const head = async () => (await service.operator('/operator/v1/anchor')).body['position'];
    const before = await head();
    const used = new Set<string | null>();
    for (const operation of operations(isOperators)) {
      const scope = scopeOf(operation);
      used.add(scope);
      const reply = await without.get(scope)?.(addressOf(operation), { method: operation.method });
      if (reply === undefined) throw new Error(`${operation.operationId} requires an unknown scope`);
      says(operation, reply, 403, 'missing_scope');
      const allowed = scope === null ? undefined : only.get(scope);
      for (const client of [
        ...(allowed ? [allowed] : []),
        ...(operation.method === 'GET' ? [auditor] : []),
      ]) {
        const method = operation.method === 'GET' && isStream(operation) ? 'HEAD' : operation.method;
        const other = await client(addressOf(operation), { method });
        expect([401, 403], `${operation.method} ${operation.path}`).not.to.include(other.status);
      }
    }
    expect(await head()).to.equal(before);
    expect([...used]).to.include.members([
      null,
      'operator:office',
      'operator:floor',
      'operator:audit',
      'operator:events',
    ]);
  }).timeout(60_000);
  it('of the operator asks for the scope of what it is about', () => {
    const scopes: readonly (readonly [RegExp, string | null])[] = [
      [/^(POST|DELETE) \S+\/v1\/keys|console-links/, null],
      [/erasures|subjects/, 'operator:privacy'],
      [/ \/operator\/v1\/events$/, 'operator:events'],
      [/v1\/(exports|log|anchor|requests|keys)|reconciliation/, 'operator:audit'],
      [/ \/operator\/v1\/cards/, 'operator:floor'],
      [/./, 'operator:office'],
    ];
    for (const operation of operations(isOperators)) {
      const name = `${operation.method} ${operation.path}`;
      const [, scope] = scopes.find(([about]) => about.test(name)) ?? [];
      expect([name, scopeOf(operation)]).to.deep.equal([name, scope]);
    }
  });
  it('accepts only a JSON object if it takes a body', async () => {
    for (const operation of operations(
      (each) => each.requestBody !== undefined && (isKeyed(each) || isOperators(each)),
    )) {
      says(
        operation,
        await send(operation, { body: '{}', headers: { 'content-type': 'text/plain' } }),
        415,
        'unsupported_media_type',
      );
      says(
        operation,
        await send(operation, {
          body: '{}',
          headers: { 'content-type': 'application/json; charset=latin1' },
        }),
        415,
        'unsupported_media_type',
      );
      says(
        operation,
        await send(operation, { body: `{"a":"${'x'.repeat(102_400)}"}` }),
        413,
        'body_too_large',
      );
      for (const body of ['', '{', '{"a":}', '\ufeff'])
        says(operation, await send(operation, { body }), 400, 'invalid_json');
      for (const body of ['null', '[]', '"a"', '1'])
        says(operation, await send(operation, { body }), 400, 'invalid_body');
    }
  });
  it('refuses a query parameter that is given twice', async () => {
    // An unknown step is refused before the query is looked at.
    for (const operation of operations(
      (each) => (isKeyed(each) || isOperators(each)) && !each.path.endsWith('{step}'),
    )) {
      const body = operation.requestBody === undefined ? {} : { body: {} };
      says(
        operation,
        await send(operation, { ...body, search: '?odd=1&odd=1' }),
        400,
        'invalid_parameter',
        'odd',
      );
    }
  });
  it('refuses a limit that is not a whole number', async () => {
    for (const operation of operations(({ parameters = [] }) =>
      parameters.some(({ name }) => name === 'limit'),
    ))
      for (const limit of ['-1', '1.5', 'ten'])
        says(
          operation,
          await send(operation, { search: `?limit=${limit}` }),
          400,
          'invalid_parameter',
          'limit',
        );
  });
  it('responds with 405 to any method that the document does not list for its path', async () => {
    for (const [path, declared] of Object.entries(document.paths)) {
      const known = Object.keys(declared).map((method) => method.toUpperCase());
      for (const method of methods.filter((each) => !known.includes(each))) {
        const reply = await service.anonymous(addressOf({ path }), { method });
        expect(
          [reply.status, reply.code, reply.headers.get('allow')?.split(', ').toSorted()],
          `${method} ${path}`,
        ).to.deep.equal([
          405,
          'method_not_allowed',
          [...known, ...(known.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].toSorted(),
        ]);
      }
      const options = await service.anonymous(addressOf({ path }), { method: 'OPTIONS' });
      expect([options.status, options.text], path).to.deep.equal([204, '']);
    }
  });
  it('responds to HEAD as to GET, without a body', async () => {
    for (const operation of operations((each) => each.method === 'GET' && !isStream(each))) {
      const get = await send(operation);
      const head = await callerOf(operation)(addressOf(operation), { method: 'HEAD' });
      expect([head.status, head.text, head.headers.get('content-type')], operation.operationId).to.deep.equal(
        [get.status, '', get.headers.get('content-type')],
      );
    }
  });
  it('responds with 404 if a slash is added to its path', async () => {
    for (const operation of operationsOf(document)) {
      if (operation.path === '/api/v1/cards' || operation.path.endsWith('}')) continue;
      const reply = await callerOf(operation)(`${addressOf(operation)}/`, { method: operation.method });
      expect([reply.status, reply.code], operation.path).to.deep.equal([404, 'not_found']);
    }
  });
});
