import { z } from 'zod';
import {
  createKey,
  createOperatorKey,
  organizationOf,
  revokeKey,
  type AdministrationDeps,
} from '../../../application/organizations/administer.js';
import {
  listKeys,
  listKeysAt,
  listOperatorKeys,
  type ListedKey,
  type ListedOperatorKey,
  type ReadKeysDeps,
} from '../../../application/access/read-keys.js';
import { operatorScopes, scopes } from '../../../domain/api-key.js';
import { parseInstant } from '../../../domain/calendar.js';
import { house } from '../../../domain/members.js';
import { DomainError } from '../../../domain/errors.js';
import type { Instant } from '../../../domain/ids.js';
import { asOfField, momentFrom, pastPage } from '../api/as-of.js';
import { byId, instant, listOf, pageOf, timestamp } from '../api/responses.js';
import { labelFacts, optional, optionalText } from '../schema/fields.js';
import * as shown from '../schema/shown.js';
import { whole } from '../schema/read.js';
import type { Route } from '../server/route.js';
import { byOperator, operatorAccess, operatorRoute, pageAtQuery, pageQuery, rootAccess } from './route.js';

type KeyRouteDeps = AdministrationDeps & ReadKeysDeps;

const newLabel = (example: string) => optionalText('What the key is called.', example, labelFacts);
const shownLabel = (example: string) =>
  shown.textOrNull('What the key is called; null if it has no label.', example);
const whatItMayDo = 'What the key may do.';

const made = {
  created_at: instant('When the key was created.'),
  last_used_at: instant('When the key was last used; may be a few seconds late.').nullable(),
};
const revokedAt = instant('When the key was revoked.').nullable();
const revoked = z.object({ id: shown.idOf('key'), revoked: shown.alwaysTrue });

const keyBody = (key: ListedKey, more: object = {}) => ({
  id: key.id,
  label: key.label,
  scopes: key.scopes,
  created_at: timestamp(key.createdAt),
  last_used_at: key.lastUsedAt && timestamp(key.lastUsedAt),
  ...more,
  revoked_at: key.revokedAt && timestamp(key.revokedAt),
});

const keyScopes = z.array(z.enum(scopes)).describe(whatItMayDo);
export const newKey = z.object({
  scopes: keyScopes.min(1),
  label: newLabel('Shop'),
  requests_per_minute: optional(
    z
      .int()
      .min(1)
      .max(1_000_000_000)
      .meta(
        shown.words(
          'How many requests it may send in a minute; omit it for the default of the service.',
          120,
        ),
      ),
  ),
});
const key = { id: shown.idOf('key'), label: shownLabel('Shop'), scopes: keyScopes };
const keyRow = z.object({ ...key, ...made, revoked_at: revokedAt });

/** For the operator: the keys of a customer. */
export const keyRoutes = (deps: KeyRouteDeps): readonly Route[] => [
  operatorRoute(`POST /organizations/:org/keys`, {
    id: 'createKey',
    summary: 'Create an API key; it is shown only this once',
    body: whole(newKey),
    answers: { 201: z.object({ ...key, key: shown.newSecret('hck') }) },
    handle: async (request, { scopes: wanted, label, requests_per_minute: requestsPerMinute }) => {
      const unique = [...new Set(wanted)];
      const facts = { label, scopes: unique, requestsPerMinute };
      const { id, secret } = await createKey(deps, byOperator(request), request.params.org, facts);
      return { body: { id, key: secret, scopes: unique, label } };
    },
  }),
  operatorRoute(`GET /organizations/:org/keys`, {
    id: 'listKeys',
    summary: 'List API keys, newest first, as they are or as they were',
    query: pageAtQuery,
    answers: { 200: listOf(keyRow, 'ApiKeyList', asOfField) },
    handle: async ({ params: { org }, query: { limit, starting_after: startingAfter, at } }) => {
      const moment = await momentFrom(deps.store, at, 'at');
      if (moment !== null) {
        const pasts = await listKeysAt(deps, org, moment, { limit, startingAfter });
        return pastPage(pasts, limit, byId, keyBody);
      }
      await organizationOf(deps, org);
      return pageOf(await listKeys(deps, org, { limit, startingAfter }), limit, byId, keyBody);
    },
  }),
  operatorRoute(`DELETE /organizations/:org/keys/:id`, {
    id: 'revokeKey',
    summary: 'Revoke an API key',
    answers: { 200: revoked },
    handle: async (request) => {
      // Keys of the house are of no organization: only the token revokes them.
      await organizationOf(deps, request.params.org);
      await revokeKey(deps, byOperator(request), request.params.org, request.params.id);
      return { body: { id: request.params.id, revoked: true } };
    },
  }),
];

const operatorKeyScopes = z.array(z.enum(operatorScopes)).describe(whatItMayDo);
const newOperatorKey = z.object({
  scopes: operatorKeyScopes.min(1),
  label: newLabel('Ada, office'),
  expires_at: optionalText(
    'When it stops working by itself (ISO 8601). Omit it for never.',
    '2027-03-01T00:00:00Z',
  ),
});
const expiry = { expires_at: instant('When it stops working by itself; null for never.').nullable() };
const operatorKey = { id: shown.idOf('key'), label: shownLabel('Audit'), scopes: operatorKeyScopes };
const operatorKeyRow = z.object({ ...operatorKey, ...made, ...expiry, revoked_at: revokedAt });

const operatorKeyBody = (row: ListedOperatorKey) =>
  keyBody(row, { expires_at: row.expiresAt && timestamp(row.expiresAt) });

/** Reads when a key expires. Throws `invalid_parameter`. */
const expiryFrom = (sent: string | null, now: Instant): Instant | null => {
  if (sent === null) return null;
  const expires = parseInstant(sent);
  if (expires === null || expires <= now)
    throw new DomainError(
      'invalid_parameter',
      '`expires_at` must be an ISO 8601 time to come.',
      'expires_at',
    );
  return expires;
};

/** Operators' keys. Only the operator token makes and revokes them. */
export const operatorKeyRoutes = (deps: KeyRouteDeps): readonly Route[] => [
  operatorRoute('POST /keys', {
    id: 'createOperatorKey',
    summary: 'Create a key for an operator; it is shown only this once',
    access: rootAccess,
    body: whole(newOperatorKey),
    answers: { 201: z.object({ ...operatorKey, key: shown.newSecret('hco'), ...expiry }) },
    handle: async (request, { scopes: wanted, label, expires_at: sent }) => {
      const unique = [...new Set(wanted)];
      const expiresAt = expiryFrom(sent, deps.clock.instant());
      const facts = { scopes: unique, label, expiresAt };
      const { id, secret } = await createOperatorKey(deps, byOperator(request), facts);
      const expires = expiresAt && timestamp(expiresAt);
      return { body: { id, key: secret, scopes: unique, label, expires_at: expires } };
    },
  }),
  operatorRoute('GET /keys', {
    id: 'listOperatorKeys',
    summary: 'List the keys of operators, newest first',
    access: operatorAccess,
    query: pageQuery,
    answers: { 200: listOf(operatorKeyRow, 'OperatorKeyList') },
    handle: async ({ query: { limit, starting_after: startingAfter } }) =>
      pageOf(await listOperatorKeys(deps, { limit, startingAfter }), limit, byId, operatorKeyBody),
  }),
  operatorRoute(`DELETE /keys/:id`, {
    id: 'revokeOperatorKey',
    summary: 'Revoke the key of an operator',
    access: rootAccess,
    answers: { 200: revoked },
    handle: async (request) => {
      await revokeKey(deps, byOperator(request), house, request.params.id);
      return { body: { id: request.params.id, revoked: true } };
    },
  }),
];
