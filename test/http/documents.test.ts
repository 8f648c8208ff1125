import { expect } from 'chai';
import { steps } from '../../domain/card.js';
import type { JsonSchema } from '../../adapters/http/schema/json-schema.js';
import { operationsOf, readDocument, type Document } from '../support/http/document.js';
import { startTestService, type RunningService } from '../support/http/service.js';

/** What a schema does not say of its fields, by their paths. */
const gapsIn = (schema: JsonSchema | undefined, path: string): readonly string[] => {
  if (schema === undefined || schema.$ref !== undefined) return [];
  return [
    ...Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
      const here = `${path}.${name}`;
      return [
        ...(field.$ref === undefined && !field.description ? [`${here}: no description`] : []),
        ...(showsValue(field) ? [] : [`${here}: no example`]),
        ...gapsIn(field, here),
      ];
    }),
    ...gapsIn(schema.items, `${path}[]`),
    ...(schema.anyOf ?? []).flatMap((each) => gapsIn(each, path)),
  ];
};

/** Whether a schema shows a value: an example, all there are, or fields that do. */
const showsValue = (schema: JsonSchema): boolean =>
  ['$ref', 'examples', 'const', 'enum', 'default', 'properties'].some((name) => name in schema) ||
  [schema.type].flat().includes('boolean') ||
  (schema.items !== undefined && showsValue(schema.items)) ||
  (schema.anyOf?.some((each) => each.type !== 'null' && showsValue(each)) ?? false);

/** All that a document leaves unsaid. */
const gapsOf = (document: Document): readonly string[] => [
  ...operationsOf(document).flatMap(
    ({ operationId, description, parameters = [], requestBody, responses, path, ...rest }) => {
      const isCustomers = !path.startsWith('/operator/') && path !== '/metrics' && path !== '/readyz';
      const labels = (rest['x-codeSamples'] ?? []).map(({ label }) => label);
      return [
        ...(description === undefined ? [`${operationId}: no description`] : []),
        ...(isCustomers && labels.join() !== 'curl,Node,Python'
          ? [`${operationId}: samples in ${labels.join()}`]
          : []),
        ...parameters.flatMap(({ name, description: said, schema }) => [
          ...(said ? [] : [`${operationId} ${name}: no description`]),
          ...(showsValue(schema) ? [] : [`${operationId} ${name}: no example`]),
        ]),
        ...[
          requestBody,
          ...Object.entries(responses).flatMap(([status, response]) => (status < '300' ? [response] : [])),
        ].flatMap((part) =>
          Object.entries(part?.content ?? {}).flatMap(([type, { schema, example }]) => [
            ...(type === 'application/json' && example === undefined
              ? [`${operationId} ${type}: no example`]
              : []),
            ...(showsValue(schema) ? [] : [`${operationId} ${type}: shows nothing`]),
            ...gapsIn(schema, operationId),
          ]),
        ),
      ];
    },
  ),
  ...Object.entries(document.components.schemas).flatMap(([name, schema]) => [
    ...(schema.description === undefined ? [`${name}: no description`] : []),
    ...gapsIn(schema, name),
  ]),
];

describe('the OpenAPI documents', () => {
  let service: RunningService;
  let customers: Document;
  let operators: Document;
  let whole: Document;
  before(async () => {
    service = await startTestService();
    [customers, operators, whole] = (await Promise.all(
      ['/api/openapi.json', '/operator/openapi.json', '/openapi.json'].map((path) =>
        readDocument(service.baseUrl, path),
      ),
    )) as [Document, Document, Document];
  });
  after(() => service.stop());

  it('are one for customers without anything of the operator, one for the operator, and both in one', () => {
    const ids = (document: Document) => operationsOf(document).map(({ operationId }) => operationId);
    expect(new Set([...ids(customers), ...ids(operators)])).to.deep.equal(new Set(ids(whole)));
    expect(ids(customers).filter((id) => ids(operators).includes(id))).to.deep.equal(['getHealth']);
    expect(JSON.stringify(customers)).not.to.match(
      /\/operator\/|operatorToken|OperatorsCard|"Reconciliation"/,
    );
    expect(Object.keys(operators.paths).filter((path) => path.startsWith('/api/'))).to.deep.equal([]);
    expect(Object.keys(customers.components.securitySchemes)).to.deep.equal(['apiKey', 'webhookSignature']);
    expect(Object.keys(operators.components.securitySchemes)).to.deep.equal(['operatorToken']);
    expect([customers.webhooks !== undefined, operators.webhooks]).to.deep.equal([true, undefined]);
  });

  it('say of every operation, parameter, schema and field what it means, with an example', () => {
    expect(gapsOf(whole)).to.deep.equal([]);
  });

  const exampleOf = (id: string, status = '200'): Readonly<Record<string, unknown>> =>
    operationsOf(whole).find(({ operationId }) => operationId === id)?.responses[status]?.content?.[
      'application/json'
    ]?.example as Readonly<Record<string, unknown>>;

  it('show a card with its six steps in order, done and mailed only where its status says so', () => {
    for (const id of ['getCard', 'releaseCard', 'queueCard', 'holdCard', 'failCard', 'reportStep']) {
      const { steps: shown, mailed_at: mailed } = exampleOf(id);
      const each = shown as readonly { step: string; status: string; completed_at: string | null }[];
      expect([each.map(({ step }) => step), mailed], id).to.deep.equal([[...steps], null]);
      for (const { status, completed_at: completed } of each)
        expect(completed !== null, id).to.equal(status === 'completed');
    }
    const statusOf = (id: string) => [exampleOf(id)['status'], exampleOf(id)['held_reason'] !== null];
    expect(['holdCard', 'queueCard', 'failCard', 'reportStep', 'releaseCard'].map(statusOf)).to.deep.equal([
      ['blocked', true],
      ['queued', false],
      ['failed', false],
      ['in_production', false],
      ['pending', false],
    ]);
  });

  it('show the signing secret of an endpoint only where it is made', () => {
    const secret = (status: string) => exampleOf('registerWebhookEndpoint', status)['signing_secret'];
    expect([secret('200'), typeof secret('201')]).to.deep.equal([null, 'string']);
  });

  it('show times of what has not happened as null', () => {
    const [row] = exampleOf('listOrganizations')['data'] as readonly Record<string, unknown>[];
    expect(row?.['suspended_at']).to.equal(null);
  });

  it('show the text of each operation that answers with one as it is', () => {
    const shown = operationsOf(whole).flatMap(({ operationId, responses }) =>
      Object.values(responses).flatMap(({ content = {} }) =>
        Object.entries(content).flatMap(([type, { schema }]) =>
          type === 'application/json' ? [] : [[operationId, type, String(schema.examples?.[0])] as const],
        ),
      ),
    );
    expect(shown.filter(([, , example]) => example === 'text')).to.deep.equal([]);
    expect(shown).to.have.length.above(10);
    for (const [id, type, example] of shown)
      if (type === 'text/event-stream')
        expect(/^event: (\S+)$/m.exec(example)?.[1], id).to.equal(
          id.endsWith('Deliveries') ? 'delivery' : id === 'followEvents' ? 'CardScheduled' : 'card.created',
        );
  });

  it('show cursors of the kind that the list has', () => {
    const cursorOf = (id: string) =>
      String(
        operationsOf(whole)
          .find(({ operationId }) => operationId === id)
          ?.parameters?.find(({ name }) => name === 'starting_after')?.schema.examples?.[0],
      );
    expect(cursorOf('listCards')).to.match(/^HC-/);
    expect(cursorOf('listAllCards')).to.match(/^HC-/);
    expect(cursorOf('listEvents')).to.match(/^evt_[0-9a-f]{32}$/);
    expect(cursorOf('listCreditMovements')).to.match(/^\d+$/);
    expect(cursorOf('listCollection')).to.match(/^card:/);
    expect(cursorOf('listOwnDeliveries')).to.match(/^dlv_[0-9a-f]{32}$/);
  });

  it('follow streams in samples that print what has come', () => {
    const samples = operationsOf(whole).find(({ operationId }) => operationId === 'followOwnDeliveries');
    for (const { label, source } of samples?.['x-codeSamples'] ?? [])
      expect(source, label).to.match(/--no-buffer|for await|for line in response/);
  });

  it('name every list', () => {
    const unnamed = operationsOf(whole)
      .filter(({ responses }) => responses['200']?.content?.['application/json']?.schema.properties?.['data'])
      .map(({ operationId }) => operationId);
    expect(unnamed).to.deep.equal([]);
  });

  it('say who may call: for inbound hooks the token in the path is enough, and webhooks are signed', () => {
    const security = (id: string) =>
      operationsOf(whole).find(({ operationId }) => operationId === id)?.security;
    expect([security('sendCard'), security('fireHook'), security('createKey')]).to.deep.equal([
      [{ apiKey: [] }],
      [],
      [{ operatorToken: [] }],
    ]);
    const { cardEvent } = whole.webhooks ?? {};
    expect(cardEvent?.post.security).to.deep.equal([{ webhookSignature: [] }]);
    expect(cardEvent?.post.parameters.map(({ name }) => name)).to.include('service-signature');
  });
});
