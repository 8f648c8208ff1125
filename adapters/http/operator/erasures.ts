import { z } from 'zod';
import {
  erasePersonal,
  findSubjects,
  maxSubjects,
  type EraseDeps,
} from '../../../application/personal/erase.js';
import { optional, optionalText, reasonFacts, text } from '../schema/fields.js';
import * as shown from '../schema/shown.js';
import { whole } from '../schema/read.js';
import { byOperator, privacyAccess, operatorRoute } from './route.js';
import { instant, timestamp } from '../api/responses.js';
import type { Route } from '../server/route.js';

const some = optional(z.array(z.string()).max(maxSubjects));
const erasure = z.object({
  cards: some.meta(shown.words('Codes of posted, cancelled or failed cards.', [shown.examples.card])),
  contacts: some.meta(shown.words('Ids of contacts.', [shown.examples.uuid])),
  with_designs: optional(z.boolean()).meta(
    shown.words(
      'True erases the pictures of designs, too, that no other card has. Their addresses work for up to an hour more, and longer for a picture that another design has; browsers and backups may keep them.',
      true,
    ),
  ),
  reason: text(
    'The reason. It is recorded and never erased: leave out names.',
    'Request of 2 March',
    reasonFacts,
  ),
});

const erased = z.object({
  cards: shown.texts('The codes of the cards that are erased.', shown.examples.card),
  contacts: shown.texts('The ids of the contacts that are erased.', shown.examples.uuid),
  designs: shown.texts('The ids of the designs whose pictures are erased.', shown.examples.uuid),
});

const subjectQuery = z.object({
  name: optionalText('Part of the name, in any case.', 'Lovelace'),
  zip: optionalText('The beginning of the ZIP code.', '62701'),
  email: optionalText('Part of the e-mail address, in any case. Only contacts have one.', 'ada@example.com'),
});

const person = {
  name: shown.address.name.nullable(),
  zip: shown.address.zip.nullable(),
  created_at: instant('When it was made.'),
};
const subjects = z.object({
  cards: shown.list(`Cards to that person, newest first: at most ${maxSubjects}.`, {
    id: shown.cardCode,
    status: shown.text('Where the card is.', 'posted'),
    ...person,
  }),
  contacts: shown.list(`Contacts of that person, newest first: at most ${maxSubjects}.`, {
    id: shown.idOf('contact'),
    email: shown.textOrNull('The e-mail address.', 'ada@example.com'),
    ...person,
  }),
  more: shown.boolean(
    'Whether there are more: ask again with more of the name, or once these are erased.',
    false,
  ),
});

/** For the operator: finding a person's data, and erasing it. (docs/operations.md#erase-personal-data) */
export const erasureRoutes = (deps: EraseDeps): readonly Route[] => [
  operatorRoute(`POST /organizations/:org/erasures`, {
    id: 'erase',
    summary: 'Erase the personal data of cards and contacts for good',
    access: privacyAccess,
    body: whole(erasure),
    answers: { 202: erased },
    errors: ['card_not_found', 'invalid_transition'],
    handle: async (request, { cards, contacts, with_designs: withDesigns, reason }) => {
      const which = { cards: cards ?? [], contacts: contacts ?? [], withDesigns: withDesigns === true };
      const wanted = { ...which, reason };
      return { body: await erasePersonal(deps, byOperator(request), request.params.org, wanted) };
    },
  }),
  operatorRoute(`GET /organizations/:org/subjects`, {
    id: 'findSubjects',
    summary: 'Find the cards and contacts of a person',
    access: privacyAccess,
    query: subjectQuery,
    answers: { 200: subjects },
    handle: async ({ params, query }) => {
      const found = await findSubjects(deps, params.org, query);
      return {
        body: {
          cards: found.cards.map(({ code, status, recipient, createdAt }) => ({
            id: code,
            status,
            name: recipient?.name ?? null,
            zip: recipient?.zip ?? null,
            created_at: timestamp(createdAt),
          })),
          contacts: found.contacts.map(({ id, details, createdAt }) => ({
            id,
            name: details?.name ?? null,
            zip: details?.address.zip ?? null,
            email: details?.email ?? null,
            created_at: timestamp(createdAt),
          })),
          more: found.more,
        },
      };
    },
  }),
];
