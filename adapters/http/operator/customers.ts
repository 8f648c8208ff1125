import { z } from 'zod';
import {
  addDesign,
  addToDoNotMail,
  createKey,
  organizationOf,
  removeDesign,
  removeFromDoNotMail,
  revokeKey,
  withdrawDesign,
  type AdministrationDeps,
} from '../../../application/organizations/administer.js';
import {
  listKeys,
  listKeysAt,
  type ListedKey,
  type ReadKeysDeps,
} from '../../../application/access/read-keys.js';
import { invalidCursor } from '../../../application/requests/invalid-cursor.js';
import { readEmail, readMailbox } from '../../../domain/email.js';
import { scopes } from '../../../domain/api-key.js';
import { asOfField, momentFrom, pastPage } from '../api/as-of.js';
import { instant, listOf, pageOf, timestamp } from '../api/responses.js';
import { maxLabelLength, optional, optionalText, text } from '../schema/fields.js';
import { alwaysTrue, idOf, newSecret, shownText } from '../schema/shown.js';
import { whole } from '../schema/read.js';
import type { Route } from '../server/route.js';
import { withReason } from './cards.js';
import { byOperator, operatorRoute, orgParam, pageAtQuery } from './route.js';

export interface CustomerRouteDeps extends AdministrationDeps, ReadKeysDeps {}

const keyScopes = z.array(z.enum(scopes)).describe('What the key may do.');
export const newKey = z.object({
  scopes: keyScopes.min(1),
  label: optionalText({
    maxLength: maxLabelLength,
    description: 'What the key is called.',
    examples: ['Shop'],
  }),
  requests_per_minute: optional(
    z
      .int()
      .min(1)
      .max(1_000_000_000)
      .meta({
        description: 'How many requests it may send in a minute; omit it for the default of the service.',
        examples: [120],
      }),
  ),
});
export const newDesign = z.object({
  name: text({ maxLength: 200, description: 'The name of the design.', examples: ['Thank you'] }),
  collection_slug: optionalText({
    code: 'design_not_found',
    maxLength: 200,
    description: 'The card of the public collection of which the design is a copy.',
    examples: ['thank-you-botanical'],
  }),
});
const savedDesign = z.object({
  id: idOf('design'),
  name: shownText('The name of the design.', 'Thank you'),
});

const withdrawalState = z.object({
  id: idOf('design'),
  withdrawn: z.boolean().describe('Whether it is withdrawn.'),
});

const key = {
  id: idOf('key'),
  label: shownText('What the key is called; null if it has no label.', 'Shop').nullable(),
  scopes: keyScopes,
};
const keyRow = z.object({
  ...key,
  created_at: instant('When the key was created.'),
  last_used_at: instant('When the key was last used; may be a few seconds late.').nullable(),
  revoked_at: instant('When the key was revoked.').nullable(),
});

const keyBody = ({ id, label, scopes: granted, createdAt, lastUsedAt, revokedAt }: ListedKey) => ({
  id,
  label,
  scopes: granted,
  created_at: timestamp(createdAt),
  last_used_at: lastUsedAt && timestamp(lastUsedAt),
  revoked_at: revokedAt && timestamp(revokedAt),
});

const keyRoutes = (deps: CustomerRouteDeps): readonly Route[] => [
  operatorRoute(`POST /organizations/:org/keys`, {
    id: 'createKey',
    summary: 'Create an API key; it is shown only this once',
    body: whole(newKey),
    answers: {
      201: z.object({ ...key, key: newSecret('hck') }),
    },
    handle: async (request, { scopes: wanted, label, requests_per_minute }) => {
      const unique = [...new Set(wanted)];
      const { id, secret } = await createKey(deps, byOperator(request), request.params.org, {
        label,
        scopes: unique,
        requestsPerMinute: requests_per_minute,
      });
      return { status: 201, body: { id, key: secret, scopes: unique, label } };
    },
  }),
  operatorRoute(`GET /organizations/:org/keys`, {
    id: 'listKeys',
    summary: 'List API keys, newest first, as they are or as they were',
    query: pageAtQuery,
    answers: { 200: listOf(keyRow, 'ApiKeyList', asOfField) },
    handle: async ({ params: { org }, query }) => {
      const moment = await momentFrom(deps.store, query.at, 'at');
      if (moment !== null) {
        const pasts = await listKeysAt(deps, org, moment, query.limit, query.starting_after);
        if (pasts === null) throw invalidCursor('API key of this organization');
        return pastPage(pasts, query.limit, ({ id }) => id, keyBody);
      }
      await organizationOf(deps, org);
      const keys = await listKeys(deps, org, query.limit, query.starting_after);
      if (keys === null) throw invalidCursor('API key of this organization');
      return pageOf(keys, query.limit, ({ id }) => id, keyBody);
    },
  }),
  operatorRoute(`DELETE /organizations/:org/keys/:id`, {
    id: 'revokeKey',
    summary: 'Revoke an API key',
    answers: {
      200: z.object({ id: idOf('key'), revoked: alwaysTrue }),
    },
    handle: async (request) => {
      await revokeKey(deps, byOperator(request), request.params.org, request.params.id);
      return { status: 200, body: { id: request.params.id, revoked: true } };
    },
  }),
];

const designRoutes = (deps: CustomerRouteDeps): readonly Route[] => [
  operatorRoute(`POST /organizations/:org/designs`, {
    id: 'saveDesign',
    summary: "Save a design, or the organization's copy of a collection card",
    body: whole(newDesign),
    answers: { 200: savedDesign, 201: savedDesign },
    handle: async (request, { name, collection_slug }) => {
      const design = await addDesign(deps, byOperator(request), request.params.org, name, collection_slug);
      return { status: design.made ? 201 : 200, body: { id: design.id, name: design.name } };
    },
  }),
  operatorRoute(`DELETE /organizations/:org/designs/:id`, {
    id: 'archiveDesign',
    summary: 'Archive a saved design',
    answers: {
      200: z.object({ id: idOf('design'), archived: alwaysTrue }),
    },
    handle: async (request) => {
      const { id } = request.params;
      await removeDesign(deps, byOperator(request), request.params.org, id);
      return { status: 200, body: { id, archived: true } };
    },
  }),
  operatorRoute(`POST /organizations/:org/designs/:id/withdraw`, {
    id: 'withdrawDesign',
    summary: 'Withdraw a design, and hold its cards that are not in production',
    body: whole(withReason),
    answers: { 200: withdrawalState },
    handle: async (request, { reason }) => {
      const { id } = request.params;
      await withdrawDesign(deps, byOperator(request), request.params.org, id, reason);
      return { status: 200, body: { id, withdrawn: true } };
    },
  }),
  operatorRoute(`POST /organizations/:org/designs/:id/reinstate`, {
    id: 'reinstateDesign',
    summary: 'Put a withdrawn design back into use; its cards stay held',
    answers: { 200: withdrawalState },
    handle: async (request) => {
      const { id } = request.params;
      await withdrawDesign(deps, byOperator(request), request.params.org, id, null);
      return { status: 200, body: { id, withdrawn: false } };
    },
  }),
];

const emailWords = { description: 'The e-mail address.', examples: ['ada@example.com'] };
export const doNotMail = z.object({
  email: text({ list: 'of one', ...emailWords }, readMailbox),
});
const doNotMailState = z.object({
  email: shownText('The e-mail address.', 'ada@example.com'),
  do_not_mail: z.boolean().describe('Whether the address is on the list.'),
});

const doNotMailRoutes = (deps: CustomerRouteDeps): readonly Route[] => [
  operatorRoute(`POST /organizations/:org/do-not-mail`, {
    id: 'addToDoNotMail',
    summary: 'Add an e-mail address to the do-not-mail list',
    body: whole(doNotMail),
    answers: {
      201: doNotMailState,
    },
    handle: async (request, { email: address }) => {
      await addToDoNotMail(deps, byOperator(request), request.params.org, address);
      return { status: 201, body: { email: address, do_not_mail: true } };
    },
  }),
  operatorRoute(`DELETE /organizations/:org/do-not-mail/:email`, {
    id: 'removeFromDoNotMail',
    summary: 'Remove an e-mail address from the do-not-mail list',
    params: z.object({ org: orgParam, email: text(emailWords, readEmail) }),
    answers: {
      200: doNotMailState,
    },
    handle: async (request) => {
      const { email: address } = request.params;
      await removeFromDoNotMail(deps, byOperator(request), request.params.org, address);
      return { status: 200, body: { email: address, do_not_mail: false } };
    },
  }),
];

/** For the operator: the keys, the designs and the do-not-mail list of a customer. */
export const customerRoutes = (deps: CustomerRouteDeps): readonly Route[] => [
  ...keyRoutes(deps),
  ...designRoutes(deps),
  ...doNotMailRoutes(deps),
];
