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

/** Every object within a value, by its path; examples are no part of a document's own words. */
const nodesIn = (value: unknown, path = ''): readonly (readonly [string, JsonSchema])[] =>
  typeof value !== 'object' || value === null
    ? []
    : [
        [path, value],
        ...Object.entries(value).flatMap(([name, inside]) =>
          name === 'example' || name === 'examples' || name === 'x-codeSamples'
            ? []
            : nodesIn(inside, `${path}/${name}`),
        ),
      ];

/** The names of components to which a part of a document refers, and to which those refer. */
const namesIn = ({ components }: Document, part: unknown): ReadonlySet<string> => {
  const names = new Set<string>();
  const add = (value: unknown): void => {
    for (const [, { $ref = '' }] of nodesIn(value)) {
      const [, name] = /^#\/components\/schemas\/(.*)$/.exec($ref) ?? [];
      if (name === undefined || names.has(name)) continue;
      names.add(name);
      add(components.schemas[name]);
    }
  };
  add(part);
  return names;
};

/** The sentences that a text says twice. */
const doublesIn = (text: string): readonly string[] => {
  const sentences = text.split(/(?<=[.;])\s+/);
  return sentences.filter((sentence, index) => sentences.indexOf(sentence) !== index);
};

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
          type === 'application/json' ? [] : [[operationId, type, schema.examples?.[0]] as const],
        ),
      ),
    );
    expect(shown.filter(([, , example]) => example === 'text')).to.deep.equal([]);
    expect(shown).to.have.length.above(10);
    for (const [id, type, example] of shown)
      if (type === 'text/event-stream')
        expect((example as { readonly event: string }).event, id).to.equal(
          id.endsWith('Deliveries') ? 'attempt' : id === 'followEvents' ? 'CardScheduled' : 'card.created',
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
    expect(cursorOf('listDeliveries')).to.match(/^dlv_[0-9a-f]{32}$/);
  });

  it('follow streams in samples that print what has come', () => {
    const samples = operationsOf(whole).find(({ operationId }) => operationId === 'followDeliveries');
    for (const { label, source } of samples?.['x-codeSamples'] ?? [])
      expect(source, label).to.match(/--no-buffer|for await|for line in response/);
  });

  const every = (matches: (node: JsonSchema, path: string) => boolean): readonly string[] =>
    nodesIn(whole).flatMap(([path, node]) => (matches(node, path) ? [path] : []));

  it('give webhooks a tag that no operation has: generators make one client of each', () => {
    const tags = whole.webhooks?.cardEvent.post.tags ?? [];
    expect(tags).to.have.length(1);
    expect(
      operationsOf(whole).filter((operation) => operation.tags.includes(String(tags[0]))),
    ).to.have.length(0);
  });

  it('have a type beside every constant, and no constant that is true or false', () => {
    expect(every((node) => typeof node.const === 'string' && node.type === 'string')).not.to.have.length(0);
    expect(every((node) => node.const !== undefined && node.type !== typeof node.const)).to.have.length(0);
    expect(every(({ const: value, enum: values = [] }) => [value, ...values].includes(true))).to.have.length(
      0,
    );
  });

  it('name no defaults: a field that has one would have to be there', () => {
    expect(every((node, path) => 'default' in node && !path.endsWith('/responses'))).to.have.length(0);
  });

  it('call inputs Input, and nothing else: a card is made of a CardInput', () => {
    const sent = operationsOf(whole).map(({ requestBody, parameters }) => [requestBody, parameters]);
    const returned = operationsOf(whole).map(({ responses }) => responses);
    const notInputs = [...namesIn(whole, sent)].filter((name) => !name.endsWith('Input'));
    const inputs = [...namesIn(whole, [returned, whole.webhooks])].filter((name) => name.endsWith('Input'));
    expect([notInputs, inputs]).to.deep.equal([[], []]);
    expect([...namesIn(whole, sent)]).to.include.members(['CardInput', 'RecipientInput', 'ContactInput']);
  });

  it('say of every object in a response that fields may be added, and of no input', () => {
    const isClosed = (node: JsonSchema): boolean =>
      node.type === 'object' && node.additionalProperties !== true;
    const schemas = Object.entries(whole.components.schemas);
    const isPayload = (name: string): boolean => name === 'HookPayloadInput';
    for (const [name, schema] of schemas.filter(([each]) => !isPayload(each)))
      for (const [path, node] of nodesIn(schema))
        if (node.type === 'object') expect(isClosed(node), `${name}${path}`).to.equal(name.endsWith('Input'));
    for (const { operationId, responses } of operationsOf(whole))
      for (const [path, node] of nodesIn(responses))
        expect(isClosed(node), `${operationId}${path}`).to.equal(false);
  });

  it('name the body of every request and response of customers', () => {
    const nameless = operationsOf(customers).flatMap(({ operationId, requestBody, responses }) =>
      [requestBody, ...Object.values(responses)].flatMap((part) => {
        const { schema } = part?.content?.['application/json'] ?? {};
        return schema === undefined || schema.$ref !== undefined ? [] : [operationId];
      }),
    );
    expect(nameless).to.deep.equal([]);
  });

  it('name operations as code reads best, and the one that another has taken the place of', () => {
    const all = operationsOf(whole);
    expect(
      all.map(({ operationId }) => operationId).filter((id) => /Own[A-Z]|^operator/.test(id)),
    ).to.have.length(0);
    expect(all.filter(({ deprecated }) => deprecated === true).map(({ path }) => path)).to.deep.equal([
      '/v1/handwriting',
    ]);
    const answers = customers.paths['/api/v1/handwriting']?.['get'];
    expect(answers?.responses).to.deep.equal(customers.paths['/v1/handwriting']?.['get']?.responses);
  });

  it('say of dates, addresses and keys what form they have', () => {
    const { schemas } = customers.components;
    const field = (schema: string, name: string) => schemas[schema]?.properties?.[name];
    expect([
      field('CardInput', 'arrive_on')?.format,
      field('ContactInput', 'work_anniversary')?.format,
      field('ArrivalWindow', 'latest')?.format,
      field('WebhookEndpointInput', 'url')?.format,
      field('SentCard', 'url')?.format,
    ]).to.deep.equal(['date', 'date', 'date', 'uri', 'uri']);
    const { parameters = [] } = operationsOf(customers).find((each) => each.operationId === 'sendCard') ?? {};
    const key = parameters.find(({ name }) => name === 'Idempotency-Key')?.schema.pattern ?? '';
    expect(['order 1', 'ordér 1', ''].map((sent) => new RegExp(key).test(sent))).to.deep.equal([
      true,
      false,
      false,
    ]);
    expect(
      every(({ pattern, examples = [] }) =>
        examples.some((each) => !new RegExp(pattern ?? '').test(String(each))),
      ),
    ).to.have.length(0);
  });

  it('say nothing twice', () => {
    const said = (node: JsonSchema): string => (typeof node.description === 'string' ? node.description : '');
    expect(every((node) => doublesIn(said(node)).length > 0)).to.have.length(0);
    expect(
      every((node) => 'schema' in node && 'name' in node && 'description' in (node.schema as object)),
    ).to.have.length(0);
    for (const { operationId, summary, description = '' } of operationsOf(whole))
      expect(description.includes(`${summary}.`), operationId).to.equal(false);
    expect(doublesIn('One. Two; One. Three.')).to.deep.equal(['One.']);
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
