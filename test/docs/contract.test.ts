import { expect } from 'chai';
import type { z } from 'zod';
import { accountRoutes } from '../../adapters/http/api/account.js';
import { cardRoutes } from '../../adapters/http/api/cards.js';
import { contactRoutes } from '../../adapters/http/api/contacts.js';
import { statuses } from '../../adapters/http/server/errors.js';
import { hookRoutes } from '../../adapters/http/api/hooks.js';
import { jsonSchemaOf, type JsonSchema } from '../../adapters/http/schema/json-schema.js';
import { webhookRoutes } from '../../adapters/http/api/webhooks.js';
import { scopes } from '../../domain/api-key.js';
import { cardStatuses, steps } from '../../domain/card.js';
import { errorCodes } from '../../domain/errors.js';
import { publicEventTypes } from '../../domain/public-events.js';
import { operationsOf, readDocument } from '../support/http/document.js';
import { startTestService, type RunningService } from '../support/http/service.js';
import { read } from '../support/runner/repository.js';

const contract = read('docs/contract.md');

/** What stands below a heading, up to the next one. */
const section = (heading: string): string => {
  const from = contract.indexOf(`\n${heading}\n`);
  expect(from, heading).to.be.at.least(0);
  const rest = contract.slice(from + heading.length + 2);
  const end = rest.search(/^#{2,} /m);
  return end < 0 ? rest : rest.slice(0, end);
};

/** The rows of a section's tables, cell by cell, without the heads. */
const rowsOf = (heading: string): readonly (readonly string[])[] =>
  section(heading)
    .split('\n')
    .filter((line, at, lines) => line.startsWith('|') && lines[at - 1] !== '')
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
    .filter(([first]) => first !== undefined && !/^:?-+:?$/.test(first));

const code = (cell: string | undefined): string => cell?.replaceAll('`', '') ?? '';
/** Every name in a cell, without what stands in parentheses. */
const names = (cell: string | undefined): readonly string[] =>
  [...(cell ?? '').replaceAll(/ \([^)]*\)/g, '').matchAll(/`(\w+)`/g)].map(([, name = '']) => name);

const nothing = {} as never;
const routes = [accountRoutes, cardRoutes, contactRoutes, hookRoutes, webhookRoutes].flatMap((table) =>
  table(nothing),
);

const operation = (id: string) => {
  const found = routes.find((route) => route.id === id);
  if (found === undefined) throw new Error(`There is no operation ${id}.`);
  return found;
};

const schemaOf = (type: z.ZodType | null | undefined): JsonSchema => (type ? jsonSchemaOf(type) : {});
const fieldsOf = ({ properties = {} }: JsonSchema): readonly string[] => Object.keys(properties);
const inside = (schema: JsonSchema, field: string): JsonSchema => schema.properties?.[field] ?? {};
const body = (id: string): JsonSchema => schemaOf(operation(id).body?.schema);
const response = (id: string, status = 200): JsonSchema => schemaOf(operation(id).responses[status]?.schema);
const row = (id: string): JsonSchema => inside(response(id), 'data').items ?? {};
const parameters = (id: string): readonly string[] => fieldsOf(schemaOf(operation(id).query));

/** The operations of the operator's list, as `GET /operator/v1/cards`. */
const operatorRows = (): readonly string[] =>
  [...section('## Operator API').matchAll(/^([A-Z ]+) (\/\S+)$/gm)].flatMap(([, methods = '', path = '']) =>
    methods
      .trim()
      .split(' ')
      .map((method) => `${method} /operator/v1${path}`),
  );

describe('docs/contract.md', () => {
  it('lists every error code once, with the status that it has', () => {
    const listed = rowsOf('## Errors').map(
      ([status, name]) => [code(name), Number(status?.replace('¹', ''))] as const,
    );
    expect(listed.map(([name]) => name).toSorted()).to.deep.equal(errorCodes.toSorted());
    expect(Object.fromEntries(listed)).to.deep.equal(statuses);
  });

  it('lists every scope, card status and event type', () => {
    const first = (heading: string) => rowsOf(heading).map(([cell]) => code(cell));
    expect(first('### Scopes')).to.deep.equal([...scopes, 'none']);
    expect(first('### Statuses')).to.deep.equal(cardStatuses);
    expect(first('## Events').toSorted()).to.deep.equal(publicEventTypes.toSorted());
  });

  it('names the production steps in their order', () => {
    const [sentence = ''] = section('### Steps').split('.');
    expect([...sentence.matchAll(/`(\w+)`/g)].map(([, step]) => step)).to.deep.equal(steps);
  });

  it('ticks the fields of a card that each response has', () => {
    const ticked = (column: number) =>
      rowsOf('### Card fields').flatMap((cells) => (cells[column] === '✓' ? [code(cells[0])] : []));
    expect(ticked(1)).to.deep.equal(fieldsOf(response('sendCard', 201)));
    expect(ticked(2)).to.deep.equal(fieldsOf(row('listCards')));
    expect(ticked(3)).to.deep.equal(fieldsOf(response('getCard')));
  });

  it('lists the fields of a send in the order in which they are refused, and which of them are needed', () => {
    const sent = body('sendCard');
    const declared = (schema: JsonSchema, prefix = ''): readonly (readonly string[])[] =>
      fieldsOf(schema).flatMap((name) => [
        [`${prefix}${name}`, schema.required?.includes(name) === true ? 'yes' : ''],
        ...declared(inside(schema, name), `${name}.`),
      ]);
    const listed = rowsOf('### Sending a card').map(([field, required = '']) => [code(field), required]);
    expect(listed).to.deep.equal(declared(sent));
  });

  it('lists the fields of a contact, sent and returned', () => {
    const tables = rowsOf('## Contacts').map(([cell]) => names(cell));
    const returned = fieldsOf(response('saveContact'));
    const listed = tables.flat();
    expect(listed.slice(0, returned.length)).to.deep.equal(returned);
    expect(listed.slice(returned.length)).to.deep.equal(fieldsOf(body('saveContact')));
  });

  it('lists the fields that a hook reads, and their aliases', () => {
    const payload = body('fireHook');
    const listed = rowsOf('### Sending through a hook').flatMap(([field, alias]) => [
      ...names(field),
      ...names(alias),
    ]);
    const declared = [...fieldsOf(payload), ...fieldsOf(inside(payload, 'recipient'))];
    const joined = new Set(['recipient', 'first_name', 'last_name']);
    expect([...listed].sort()).to.deep.equal(
      [...new Set(declared)].filter((name) => !joined.has(name)).sort(),
    );
  });

  it('lists the fields of a webhook endpoint, and says which more are in the list', () => {
    const listed = rowsOf('## Webhooks')
      .filter(([, type]) => type !== '')
      .map(([field]) => code(field));
    const fields = fieldsOf(response('registerWebhookEndpoint', 201));
    expect(listed.slice(0, fields.length)).to.deep.equal(fields);
    const [, sentence = ''] = /\*\*Listing:\*\*([^.]*)\./.exec(section('## Webhooks')) ?? [];
    expect([...fields, ...names(sentence)]).to.deep.equal(fieldsOf(row('listWebhookEndpoints')));
  });

  it('names the parameters by which lists are filtered', () => {
    expect(rowsOf('### Listing cards').map(([cell]) => code(cell))).to.deep.equal(parameters('listCards'));
    const [, contacts = ''] = /\*\*Listing:\*\*(.*?)Filters combine/s.exec(section('## Contacts')) ?? [];
    for (const name of parameters('listContacts')) expect(contacts).to.include(`\`${name}\``);
  });

  it('names every field about the account', () => {
    const about = (path: string) => {
      const [, cell] = rowsOf('## Account').find(([request]) => request?.includes(`${path}\``)) ?? [];
      return names(cell);
    };
    expect(about('/account')).to.deep.equal(fieldsOf(response('getAccount')));
    expect(about('/credits')).to.deep.equal(fieldsOf(response('getCredits')));
    expect(about('/designs')).to.deep.equal(fieldsOf(row('listDesigns')));
    expect(about('/collection').slice(0, 5)).to.deep.equal(fieldsOf(row('listCollection')));
    const [, handwriting] =
      rowsOf('## Account').find(([request]) => request?.includes('/handwriting`')) ?? [];
    expect(names(handwriting)).to.deep.equal(fieldsOf(row('listHandwritings')));
  });

  it('states the limits of lengths that are declared', () => {
    const limit = (name: string): readonly number[] => {
      const [, value = ''] = rowsOf('## Limits').find(([subject]) => code(subject) === name) ?? [];
      return [...value.matchAll(/\d[\d,]*/g)].map(([number]) => Number(number.replace(',', '')));
    };
    const longest = (schema: JsonSchema, field: string) => inside(schema, field).maxLength;
    const card = body('sendCard');
    const contact = body('saveContact');
    expect(limit('Message')).to.deep.equal([longest(card, 'message')]);
    for (const part of ['name', 'line1', 'line2', 'city'])
      expect(limit('Part of an address')[0], part).to.equal(longest(inside(card, 'recipient'), part));
    expect(limit('external_id')).to.deep.equal([longest(contact, 'external_id')]);
    for (const field of ['name', 'first_name', 'last_name', 'company', 'job_title'])
      expect(limit('Name, company, job title'), field).to.deep.equal([longest(contact, field)]);
    expect(limit('Email, phone')).to.deep.equal([longest(contact, 'email'), longest(contact, 'phone')]);
    expect(limit('Description of an endpoint')).to.deep.equal([
      longest(body('registerWebhookEndpoint'), 'description'),
    ]);
  });
});

describe('the operations in docs/contract.md', () => {
  let service: RunningService;
  before(async () => (service = await startTestService()));
  after(() => service.stop());

  const documented = async (path: string): Promise<readonly string[]> =>
    operationsOf(await readDocument(service.baseUrl, path)).map((each) => `${each.method} ${each.path}`);
  const isBelowOperator = (operation: string): boolean => operation.includes(' /operator/');

  it('have all that the OpenAPI document for operators has below /operator/v1, and no others', async () => {
    const operators = await documented('/operator/openapi.json');
    expect(operatorRows().toSorted()).to.deep.equal(operators.filter(isBelowOperator).toSorted());
  });

  it('have all others of both OpenAPI documents', async () => {
    const all = [...(await documented('/api/openapi.json')), ...(await documented('/operator/openapi.json'))];
    const others = all.filter((operation) => !isBelowOperator(operation));
    expect(others).to.have.length.above(30);
    expect(others.filter((operation) => !contract.includes(`\`${operation}\``))).to.deep.equal([]);
  });
});
