import { z } from 'zod';
import {
  readAccount,
  readBalance,
  readDesigns,
  readHandwritings,
  type ReadAccountsDeps,
} from '../../application/read-accounts.js';
import { scopes } from '../../domain/api-key.js';
import { instant, listOf, timestamp, wholeList } from './responses.js';
import { route, type Operation, type Route } from './route.js';

const account = z
  .object({
    object: z.literal('account'),
    organization: z.object({ id: z.string(), name: z.string() }),
    label: z.string().nullable().describe('The label of the key.'),
    scopes: z.array(z.enum(scopes)),
  })
  .meta({ id: 'Account' });
const creditBalance = z
  .object({ object: z.literal('credit_balance'), balance: z.int().min(0) })
  .meta({ id: 'CreditBalance' });
const design = z
  .object({
    id: z.string().describe('Use it as `design_id`.'),
    object: z.literal('design'),
    name: z.string(),
    collection_slug: z.string().nullable().describe('The collection card that this design is a copy of.'),
    created_at: instant('When the design was saved.'),
  })
  .meta({ id: 'Design' });
const handwriting = z
  .object({
    name: z.string().describe('Use it as `handwriting`.'),
    object: z.literal('handwriting'),
    house_hand: z.boolean().describe("Whether it is the organization's house hand."),
  })
  .meta({ id: 'Handwriting' });

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
export const accountRoutes = (reading: ReadAccountsDeps): readonly Route[] => [
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
