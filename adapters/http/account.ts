import {
  readAccount,
  readBalance,
  readDesigns,
  readHandwritings,
  type ReadingAccounts,
} from '../../application/read-accounts.js';
import { scopes } from '../../domain/api-key.js';
import { instant } from './cards.js';
import { timestamp } from './lists.js';
import { route, type Operation, type Route } from './route.js';
import { always, component, flag, list, listOf, nullable, object, oneOf, text, whole } from './schema.js';

const account = component(
  'Account',
  object({
    object: always('account'),
    organization: object({ id: text(), name: text() }),
    label: nullable(text({ description: 'The label of the key.' })),
    scopes: list(oneOf(scopes)),
  }),
);
const creditBalance = component(
  'CreditBalance',
  object({ object: always('credit_balance'), balance: whole({ minimum: 0 }) }),
);
const design = component(
  'Design',
  object({
    id: text({ description: 'Use it as `design_id`.' }),
    object: always('design'),
    name: text(),
    collection_slug: nullable(text({ description: 'The collection card that this design is a copy of.' })),
    created_at: instant('When the design was saved.'),
  }),
);
const handwriting = component(
  'Handwriting',
  object({
    name: text({ description: 'Use it as `handwriting`.' }),
    object: always('handwriting'),
    house_hand: flag({ description: "Whether it is the organization's house hand." }),
  }),
);

/** A list that is not paged. (decision 53) */
export const wholeList = <T>(data: readonly T[]) => ({
  object: 'list',
  has_more: false,
  next_cursor: null,
  data,
});

const access = { kind: 'key', scope: null } as const;

const operation = (
  operationId: string,
  summary: string,
  description: string,
  schema: Operation['responses'][number]['schema'],
): Operation => ({
  operationId,
  summary,
  tags: ['account'],
  responses: { 200: { description, schema } },
  errors: [],
});

/** Any valid key may ask. (decision 53) */
export const accountRoutes = (reading: ReadingAccounts): readonly Route[] => [
  route({
    method: 'GET',
    path: '/api/v1/account',
    access,
    failure: 'read_failed',
    operation: operation('getAccount', 'Check a key', 'Whose key it is and what it may do.', account),
    handle: async ({ caller }) => {
      const { name } = await readAccount(reading, caller.org);
      return {
        status: 200,
        body: {
          object: 'account',
          organization: { id: caller.org, name },
          label: caller.label,
          scopes: caller.scopes,
        },
      };
    },
  }),
  route({
    method: 'GET',
    path: '/api/v1/credits',
    access,
    failure: 'read_failed',
    operation: operation('getCredits', 'Read the credit balance', 'The balance.', creditBalance),
    handle: async ({ caller }) => ({
      status: 200,
      body: { object: 'credit_balance', balance: await readBalance(reading, caller.org) },
    }),
  }),
  route({
    method: 'GET',
    path: '/api/v1/designs',
    access,
    failure: 'read_failed',
    operation: operation(
      'listDesigns',
      'List saved designs, newest first',
      'Every saved design that is not archived.',
      listOf(design),
    ),
    handle: async ({ caller }) => {
      const designs = await readDesigns(reading, caller.org);
      return {
        status: 200,
        body: wholeList(
          designs.map(({ id, name, slug, createdAt }) => ({
            id,
            object: 'design',
            name,
            collection_slug: slug,
            created_at: timestamp(createdAt),
          })),
        ),
      };
    },
  }),
  ...['/api/v1/handwriting', '/v1/handwriting'].map((path, index) =>
    route({
      method: 'GET',
      path,
      access,
      failure: 'read_failed',
      operation: operation(
        index === 0 ? 'listHandwritings' : 'listHandwritingsShort',
        'List handwritings',
        'Every handwriting that is offered.',
        listOf(handwriting),
      ),
      handle: async ({ caller }) => {
        const { houseHand, names } = await readHandwritings(reading, caller.org);
        return {
          status: 200,
          body: wholeList(
            names.map((name) => ({ name, object: 'handwriting', house_hand: name === houseHand })),
          ),
        };
      },
    }),
  ),
];
