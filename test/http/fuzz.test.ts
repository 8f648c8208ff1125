import { expect } from 'chai';
import fc from 'fast-check';
import { rounds } from '../support/runner/effort.js';
import type { JsonSchema } from '../../adapters/http/schema/json-schema.js';
import {
  operationsOf,
  readDocument,
  type Document,
  type DocumentedOperation,
} from '../support/http/document.js';
import { aCard, startTestService, type RunningService, type Tenant } from '../support/http/service.js';

const isKeyed = ({ security }: DocumentedOperation): boolean => security.some((way) => 'apiKey' in way);
const isOperators = ({ security }: DocumentedOperation): boolean =>
  security.some((way) => 'operatorToken' in way);
const isStream = ({ responses }: DocumentedOperation): boolean =>
  responses['200']?.content?.['text/event-stream'] !== undefined;

const oddText = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 20 }),
  fc.constantFrom(
    '',
    ' ',
    '\n',
    '\0',
    '\u200b',
    '\ud800',
    '{{x}}',
    '__proto__',
    '2026-02-30',
    '9'.repeat(400),
    'x'.repeat(2000),
    'card:',
    'card:thank-you',
    'HC-',
    '$ne',
    '../..',
    '%',
    "'; --",
  ),
);

/** A value that the schema may or may not let through. */
const valueFor = (schema: JsonSchema, resolve: (schema: JsonSchema) => JsonSchema): fc.Arbitrary<unknown> => {
  const known = resolve(schema);
  const right: fc.Arbitrary<unknown>[] = [];
  if (known.examples !== undefined) right.push(fc.constantFrom(...known.examples));
  if (known.enum !== undefined) right.push(fc.constantFrom(...known.enum));
  if (known.type === 'string') right.push(oddText);
  if (known.type === 'integer')
    right.push(fc.oneof(fc.integer(), fc.constantFrom(0, 1, -1, 1.5, 2 ** 53, 1e300)));
  if (known.type === 'boolean') right.push(fc.boolean());
  if (known.type === 'array') right.push(fc.array(valueFor(known.items ?? {}, resolve), { maxLength: 4 }));
  if (known.type === 'object')
    right.push(
      fc.record(
        Object.fromEntries(
          Object.entries(known.properties ?? {}).map(([name, property]) => [
            name,
            valueFor(property, resolve),
          ]),
        ),
        {
          requiredKeys: [],
        },
      ),
    );
  const wrong: fc.Arbitrary<unknown> = fc.oneof(fc.constant(null), oddText, fc.jsonValue({ maxDepth: 2 }));
  return right.length === 0
    ? wrong
    : fc.oneof({ weight: 6, arbitrary: fc.oneof(...right) }, { weight: 1, arbitrary: wrong });
};

/** The client throws if a response is not what the document says. */
describe('a random request to any operation', () => {
  let service: RunningService;
  let document: Document;
  let tenant: Tenant;
  let card: string;
  before(async () => {
    service = await startTestService();
    document = await readDocument(service.baseUrl);
    tenant = await service.tenant({ credits: 1_000_000 });
    card = (await tenant.api('/api/v1/cards', { body: aCard() })).id;
  });
  after(() => service.stop());

  const resolve = (schema: JsonSchema): JsonSchema => {
    const name =
      '$ref' in schema && typeof schema.$ref === 'string'
        ? schema.$ref.slice('#/components/schemas/'.length)
        : null;
    return name === null ? schema : (document.components.schemas[name] ?? {});
  };

  /** A path whose parameters name something that exists, or nothing. */
  const pathFor = (operation: DocumentedOperation): fc.Arbitrary<string> => {
    const names = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? '');
    const known: Readonly<Record<string, string>> = { org: tenant.org, card_code: card };
    const values = names.map((name) => {
      const schema =
        operation.parameters?.find((parameter) => parameter.in === 'path' && parameter.name === name)
          ?.schema ?? {};
      const sent = fc.oneof(
        ...(known[name] === undefined ? [] : [{ weight: 8, arbitrary: fc.constant(known[name]) }]),
        {
          weight: 1,
          arbitrary: valueFor(schema, resolve).map((value) =>
            typeof value === 'string' ? value : JSON.stringify(value),
          ),
        },
      );
      return sent.map((value) => encodeURIComponent(Buffer.from(value).toString()) || 'x');
    });
    return fc
      .tuple(...values)
      .map((sent) =>
        sent.reduce((path, value, at) => path.replace(`{${names[at]}}`, () => value), operation.path),
      );
  };
  const queryFor = ({ parameters = [] }: DocumentedOperation): fc.Arbitrary<string> =>
    fc
      .record(
        Object.fromEntries(
          parameters
            .filter((parameter) => parameter.in === 'query')
            .map(({ name, schema }) => [name, valueFor(schema, resolve)]),
        ),
        {
          requiredKeys: [],
        },
      )
      .map((query) =>
        new URLSearchParams(
          Object.fromEntries(
            Object.entries(query).map(([name, value]) => [
              name,
              typeof value === 'string' ? value : JSON.stringify(value),
            ]),
          ),
        ).toString(),
      );

  it('gets a response that the document declares, and never one with status 500 or above', async () => {
    for (const operation of operationsOf(document).filter(
      (each) => !isStream(each) && each.operationId !== 'getMetrics' && !each.path.endsWith('/rebuild'),
    )) {
      const client = isOperators(operation)
        ? service.operator
        : isKeyed(operation)
          ? tenant.api
          : service.anonymous;
      const body = operation.requestBody?.content['application/json']?.schema;
      await fc.assert(
        fc.asyncProperty(
          pathFor(operation),
          queryFor(operation),
          body === undefined ? fc.constant(undefined) : valueFor(body, resolve),
          async (path, query, sent) => {
            const reply = await client(`${path}${query === '' ? '' : `?${query}`}`, {
              method: operation.method,
              ...(sent === undefined ? {} : { body: JSON.stringify(sent) }),
            });
            expect(reply.status, `${operation.operationId}: ${reply.text}`).to.be.below(500);
          },
        ),
        { numRuns: rounds({ usually: 5, thoroughly: 15 }) },
      );
    }
  });
});
