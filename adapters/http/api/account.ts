import { z } from 'zod';
import {
  listCollection,
  readAccount,
  readBalance,
  readDesigns,
  readHandwritings,
  type ReadAccountsDeps,
} from '../../../application/organizations/read-accounts.js';
import type { Front } from '../../../domain/artwork.js';
import type { DesignDocument } from '../../../projections/organizations.js';
import { scopes } from '../../../domain/api-key.js';
import { pageCursor, pageLimit } from '../schema/fields.js';
import { examples, objectKind, organizationId, shownNumber, shownText } from '../schema/shown.js';
import { instant, listOf, pageOf, timestamp, wholeList } from './responses.js';
import { route, type Route } from '../server/route.js';
import { pathOfPicture } from '../web/paths.js';

const account = z
  .object({
    object: objectKind('account'),
    organization: z
      .object({ id: organizationId, name: shownText('The name of the organization.', 'Acme') })
      .describe('The organization to which the key belongs.'),
    label: shownText('The label of the key.', 'Shop').nullable(),
    scopes: z.array(z.enum(scopes)).describe('What the key may do.'),
  })
  .meta({ id: 'Account', description: 'The key of a request, and whose it is.' });
const creditBalance = z
  .object({
    object: objectKind('credit_balance'),
    balance: shownNumber('The credits that are left.', 41).min(0),
  })
  .meta({ id: 'CreditBalance', description: 'The credits that are left.' });
const previewUrl = shownText(
  'The address of a picture of the front, as WebP: all that have it can see the picture until it is erased, also of a design that is archived or withdrawn. Null if there is none.',
  `https://cards.example/pictures/${'0f'.repeat(32)}/preview.webp`,
)
  .meta({ format: 'uri' })
  .nullable();
export const design = z
  .object({
    id: shownText('To be sent as `design_id`.', examples.uuid),
    object: objectKind('design'),
    name: shownText('The name of the design.', 'Thank you'),
    collection_slug: shownText(
      'The collection card of which this design is a copy; null if it is none.',
      'thank-you-botanical',
    ).nullable(),
    preview_url: previewUrl,
    created_at: instant('When the design was saved.'),
  })
  .meta({ id: 'Design', description: 'A saved design: the printed front of a card.' });
const collectionCard = z
  .object({
    id: shownText('To be sent as `design_id`.', 'card:thank-you-botanical'),
    object: objectKind('collection_card'),
    title: shownText('The title of the card.', 'Thank you, botanical'),
    preview_url: previewUrl,
    url: shownText(
      "The address of the card's public page.",
      'https://cards.example/collection/thank-you-botanical',
    ).meta({ format: 'uri' }),
  })
  .meta({
    id: 'CollectionCard',
    description: 'A card of the public collection, whose front can be chosen as a design.',
  });
const handwriting = z
  .object({
    name: shownText('To be sent as `handwriting`.', 'Everyday'),
    object: objectKind('handwriting'),
    house_hand: z.boolean().describe("Whether this is the organization's house hand."),
  })
  .meta({ id: 'Handwriting', description: 'A handwriting on offer.' });

const handwritingList = listOf(handwriting, 'HandwritingList');

export const previewOf = (
  { baseUrl }: Pick<AccountRouteDeps, 'baseUrl'>,
  artwork: Front | null,
): string | null => (artwork === null ? null : `${baseUrl()}${pathOfPicture(artwork, 'preview')}`);

export const designBody =
  (deps: Pick<AccountRouteDeps, 'baseUrl'>) =>
  ({ id, name, slug, artwork, createdAt }: DesignDocument) => ({
    id,
    object: 'design',
    name,
    collection_slug: slug,
    preview_url: previewOf(deps, artwork),
    created_at: timestamp(createdAt),
  });

const operation = (id: string, summary: string, description: string, schema: z.ZodType) => ({
  id,
  summary,
  access: { kind: 'key', scope: null } as const,
  tags: ['account'],
  responses: { 200: { description, schema } },
});

export interface AccountRouteDeps extends ReadAccountsDeps {
  readonly baseUrl: () => string;
}

/** Any valid key may call these. (decision 53: the form of lists) */
export const accountRoutes = (deps: AccountRouteDeps): readonly Route[] => [
  route('GET /api/v1/account', {
    ...operation(
      'getAccount',
      'Check a key',
      'The organization of the key, and what the key may do.',
      account,
    ),
    handle: async ({ caller }) => {
      const { org, label, scopes } = caller;
      const { name } = await readAccount(deps, org);
      return { body: { object: 'account', organization: { id: org, name }, label, scopes } };
    },
  }),
  route('GET /api/v1/credits', {
    ...operation('getCredits', 'Read the credit balance', 'The credit balance.', creditBalance),
    handle: async ({ caller }) => ({
      body: { object: 'credit_balance', balance: await readBalance(deps, caller.org) },
    }),
  }),
  route('GET /api/v1/designs', {
    ...operation(
      'listDesigns',
      'List saved designs, newest first',
      "Every saved design that isn't archived.",
      listOf(design, 'DesignList'),
    ),
    handle: async ({ caller }) => {
      const designs = await readDesigns(deps, caller.org);
      return { body: wholeList(designs.map(designBody(deps))) };
    },
  }),
  route('GET /api/v1/collection', {
    ...operation(
      'listCollection',
      'List the cards of the public collection, newest first',
      'A page of the cards that are on offer. Their ids are sent as `design_id`.',
      listOf(collectionCard, 'CollectionCardList'),
    ),
    query: z.object({
      limit: pageLimit,
      starting_after: pageCursor('card:thank-you-botanical', 'the id of its last card'),
    }),
    handle: async ({ query: { limit, starting_after: startingAfter } }) => {
      const id = ({ slug }: { readonly slug: string }) => `card:${slug}`;
      return pageOf(await listCollection(deps, { limit, startingAfter }), limit, id, (card) => ({
        id: id(card),
        object: 'collection_card',
        title: card.title,
        url: `${deps.baseUrl()}/collection/${encodeURIComponent(card.slug)}`,
        preview_url: previewOf(deps, card.artwork),
      }));
    },
  }),
  ...[
    { path: '/api/v1/handwriting', id: 'listHandwritings', summary: 'List handwritings' },
    {
      path: '/v1/handwriting',
      id: 'listHandwritingsShort',
      summary: 'List handwritings by another address',
      description: 'The same as `GET /api/v1/handwriting`: call that one.',
      deprecated: true,
    },
  ].map(({ path, id, summary, ...rest }) =>
    route(`GET ${path}`, {
      ...operation(id, summary, 'Every handwriting on offer.', handwritingList),
      ...rest,
      handle: async ({ caller }) => {
        const { houseHand, names } = await readHandwritings(deps, caller.org);
        const all = names.map((name) => ({ name, object: 'handwriting', house_hand: name === houseHand }));
        return { body: wholeList(all) };
      },
    }),
  ),
];
