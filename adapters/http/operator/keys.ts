import { z } from 'zod';
import {
  createOperatorKey,
  revokeKey,
  type AdministrationDeps,
} from '../../../application/organizations/administer.js';
import { invalidCursor } from '../../../application/requests/invalid-cursor.js';
import {
  listOperatorKeys,
  type ListedOperatorKey,
  type ReadKeysDeps,
} from '../../../application/access/read-keys.js';
import { operatorScopes } from '../../../domain/api-key.js';
import { house } from '../../../domain/members.js';
import { DomainError } from '../../../domain/errors.js';
import type { Instant } from '../../../domain/ids.js';
import { maxLabelLength, optionalText } from '../schema/fields.js';
import { alwaysTrue, idOf, newSecret, shownText } from '../schema/shown.js';
import { whole } from '../schema/read.js';
import { byOperator, operatorAccess, pageQuery, rootAccess, operatorRoute } from './route.js';
import { instant, isoTime, listOf, pageOf, timestamp } from '../api/responses.js';
import { type Route } from '../server/route.js';

export interface OperatorKeyRouteDeps extends AdministrationDeps, ReadKeysDeps {}

const scopes = z.array(z.enum(operatorScopes)).describe('What the key may do.');
const newKey = z.object({
  scopes: scopes.min(1),
  label: optionalText({
    maxLength: maxLabelLength,
    description: 'What the key is called.',
    examples: ['Ada, office'],
  }),
  expires_at: optionalText({
    description: 'When it stops working by itself (ISO 8601). Omit it for never.',
    examples: ['2027-03-01T00:00:00Z'],
  }),
});

const expiry = instant('When it stops working by itself; null for never.').nullable();

const key = {
  id: idOf('key'),
  label: shownText('What the key is called; null if it has no label.', 'Audit').nullable(),
  scopes,
};
const row = z.object({
  ...key,
  created_at: instant('When the key was created.'),
  last_used_at: instant('When the key was last used; may be a few seconds late.').nullable(),
  expires_at: expiry,
  revoked_at: instant('When the key was revoked.').nullable(),
});

const rowBody = ({ id, label, scopes, createdAt, lastUsedAt, expiresAt, revokedAt }: ListedOperatorKey) => ({
  id,
  label,
  scopes,
  created_at: timestamp(createdAt),
  last_used_at: lastUsedAt && timestamp(lastUsedAt),
  expires_at: expiresAt && timestamp(expiresAt),
  revoked_at: revokedAt && timestamp(revokedAt),
});

/** Reads when a key expires. Throws `invalid_parameter`. */
const expiryFrom = (sent: string | null, now: Instant): Instant | null => {
  if (sent === null) return null;
  const time = isoTime.test(sent) ? Date.parse(sent) : NaN;
  if (Number.isNaN(time) || time <= Date.parse(now))
    throw new DomainError(
      'invalid_parameter',
      '`expires_at` must be an ISO 8601 time to come.',
      'expires_at',
    );
  return new Date(time).toISOString() as Instant;
};

/** Operators' keys. Only the operator token makes and revokes them. */
export const operatorKeyRoutes = (deps: OperatorKeyRouteDeps): readonly Route[] => [
  operatorRoute('POST /keys', {
    id: 'createOperatorKey',
    summary: 'Create a key for an operator; it is shown only this once',
    access: rootAccess,
    body: whole(newKey),
    answers: {
      201: z.object({
        ...key,
        key: newSecret('hco'),
        expires_at: expiry,
      }),
    },
    handle: async (request, { scopes: wanted, label, expires_at: sent }) => {
      const unique = [...new Set(wanted)];
      const expiresAt = expiryFrom(sent, deps.clock.instant());
      const made = await createOperatorKey(deps, byOperator(request), { scopes: unique, label, expiresAt });
      const expires = expiresAt && timestamp(expiresAt);
      return {
        status: 201,
        body: { id: made.id, key: made.secret, scopes: unique, label, expires_at: expires },
      };
    },
  }),
  operatorRoute('GET /keys', {
    id: 'listOperatorKeys',
    summary: 'List the keys of operators, newest first',
    access: operatorAccess,
    query: pageQuery,
    answers: { 200: listOf(row, 'OperatorKeyList') },
    handle: async ({ query }) => {
      const keys = await listOperatorKeys(deps, query.limit, query.starting_after);
      if (keys === null) throw invalidCursor('key of an operator');
      return pageOf(keys, query.limit, ({ id }) => id, rowBody);
    },
  }),
  operatorRoute(`DELETE /keys/:id`, {
    id: 'revokeOperatorKey',
    summary: 'Revoke the key of an operator',
    access: rootAccess,
    answers: {
      200: z.object({ id: idOf('key'), revoked: alwaysTrue }),
    },
    handle: async (request) => {
      await revokeKey(deps, byOperator(request), house, request.params.id);
      return { status: 200, body: { id: request.params.id, revoked: true } };
    },
  }),
];
