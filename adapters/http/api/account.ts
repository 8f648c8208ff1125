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
import * as shown from '../schema/shown.js';
import { instant, listOf, pageOf, timestamp, wholeList } from './responses.js';
import { route, type Route, type HttpRequest } from '../server/route.js';
import { pathOfPicture } from '../web/paths.js';
import type { KeyCaller } from '../server/access.js';

const account = shown.component('Account', 'The key of a request, and whose it is.', {
  object: shown.objectKind('account'),
  organization: shown.nested('The organization to which the key belongs.', {
    id: shown.organizationId,
    name: shown.text('The name of the organization.', 'Acme'),
  }),
  label: shown.textOrNull('The label of the key.', 'Shop'),
  scopes: z.array(z.enum(scopes)).describe('What the key may do.'),
});
const creditBalance = shown.component('CreditBalance', 'The credits that are left.', {
  object: shown.objectKind('credit_balance'),
  balance: shown.number('The credits that are left.', 41).min(0),
});
const previewUrl = shown
  .url(
    'The address of a picture of the front, as WebP: all that have it can see the picture until it is erased, also of a design that is archived or withdrawn. Null if there is none.',
    `https://cards.example/pictures/${'0f'.repeat(32)}/preview.webp`,
  )
  .nullable();
export const design = shown.component('Design', 'A saved design: the printed front of a card.', {
  id: shown.text('To be sent as `design_id`.', shown.examples.uuid),
  object: shown.objectKind('design'),
  name: shown.text('The name of the design.', 'Thank you'),
  collection_slug: shown.textOrNull(
    'The collection card of which this design is a copy; null if it is none.',
    'thank-you-botanical',
  ),
  preview_url: previewUrl,
  created_at: instant('When the design was saved.'),
});
const collectionCard = shown.component(
  'CollectionCard',
  'A card of the public collection, whose front can be chosen as a design.',
  {
    id: shown.text('To be sent as `design_id`.', 'card:thank-you-botanical'),
    object: shown.objectKind('collection_card'),
    title: shown.text('The title of the card.', 'Thank you, botanical'),
    preview_url: previewUrl,
    url: shown.url(
      "The address of the card's public page.",
      'https://cards.example/collection/thank-you-botanical',
    ),
  },
);
const handwriting = shown.component('Handwriting', 'A handwriting on offer.', {
  name: shown.text('To be sent as `handwriting`.', 'Everyday'),
  object: shown.objectKind('handwriting'),
  house_hand: shown.boolean("Whether this is the organization's house hand."),
});

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

/** Any valid key may call these. */
const shared = { access: { kind: 'key', scope: null }, tags: ['account'] } as const;

export interface AccountRouteDeps extends ReadAccountsDeps {
  readonly baseUrl: () => string;
}

const handwritings = (deps: AccountRouteDeps) => ({
  ...shared,
  answers: { 200: ['Every handwriting on offer.', handwritingList] } as const,
  handle: async ({ caller }: HttpRequest<KeyCaller>) => {
    const { houseHand, names } = await readHandwritings(deps, caller.org);
    const all = names.map((name) => ({ name, object: 'handwriting', house_hand: name === houseHand }));
    return { body: wholeList(all) };
  },
});

/** (decision 53: the form of lists) */
export const accountRoutes = (deps: AccountRouteDeps): readonly Route[] => [
  route('GET /api/v1/account', {
    ...shared,
    id: 'getAccount',
    summary: 'Check a key',
    answers: { 200: ['The organization of the key, and what the key may do.', account] },
    handle: async ({ caller }) => {
      const { org, label, scopes } = caller;
      const { name } = await readAccount(deps, org);
      return { body: { object: 'account', organization: { id: org, name }, label, scopes } };
    },
  }),
  route('GET /api/v1/credits', {
    ...shared,
    id: 'getCredits',
    summary: 'Read the credit balance',
    answers: { 200: ['The credit balance.', creditBalance] },
    handle: async ({ caller }) => ({
      body: { object: 'credit_balance', balance: await readBalance(deps, caller.org) },
    }),
  }),
  route('GET /api/v1/designs', {
    ...shared,
    id: 'listDesigns',
    summary: 'List saved designs, newest first',
    answers: { 200: ["Every saved design that isn't archived.", listOf(design, 'DesignList')] },
    handle: async ({ caller }) => {
      const designs = await readDesigns(deps, caller.org);
      return { body: wholeList(designs.map(designBody(deps))) };
    },
  }),
  route('GET /api/v1/collection', {
    ...shared,
    id: 'listCollection',
    summary: 'List the cards of the public collection, newest first',
    answers: {
      200: [
        'A page of the cards that are on offer. Their ids are sent as `design_id`.',
        listOf(collectionCard, 'CollectionCardList'),
      ],
    },
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
  route('GET /api/v1/handwriting', {
    ...handwritings(deps),
    id: 'listHandwritings',
    summary: 'List handwritings',
  }),
  route('GET /v1/handwriting', {
    ...handwritings(deps),
    id: 'listHandwritingsShort',
    summary: 'List handwritings by another address',
    description: 'The same as `GET /api/v1/handwriting`: call that one.',
    deprecated: true,
  }),
];
