import { hash } from 'node:crypto';
import { z } from 'zod';
import { DomainError } from './errors.js';
import { events, type Aggregate, type EventOf } from './events.js';
import { derivedUuid, Instant, OrganizationId, type Uuid } from './ids.js';
import { house } from './members.js';

export const scopes = [
  'cards:send',
  'cards:read',
  'contacts:write',
  'contacts:read',
  'webhooks:manage',
] as const;
export const Scope = z.enum(scopes);
export type Scope = z.infer<typeof Scope>;

/** The scopes of operators' keys. (docs/operations.md#keys-of-operators) */
export const operatorScopes = [
  'operator:office',
  'operator:floor',
  'operator:audit',
  'operator:privacy',
  'operator:events',
] as const;
export const OperatorScope = z.enum(operatorScopes);
export type OperatorScope = z.infer<typeof OperatorScope>;
export type KeyScope = Scope | OperatorScope;

export const isScope = (scope: KeyScope): scope is Scope => Scope.safeParse(scope).success;
export const isOperatorScope = (scope: KeyScope): scope is OperatorScope => !isScope(scope);

export const apiKeyEvents = events({
  ApiKeyIssued: {
    org: OrganizationId,
    label: z.string().nullable(),
    scopes: z.array(Scope),
    /** Null: the service's default. */
    requestsPerMinute: z.int().positive().nullable(),
  },
  /** A key of the house. `expiresAt`: when it stops working by itself; null: never. */
  OperatorKeyIssued: {
    label: z.string().nullable(),
    scopes: z.array(OperatorScope),
    expiresAt: Instant.nullable(),
  },
  ApiKeyRevoked: {},
});
export type ApiKeyEvent = EventOf<typeof apiKeyEvents>;

export type IssuedKey = Extract<ApiKeyEvent, { type: 'ApiKeyIssued' }>['data'];
export type IssuedOperatorKey = Extract<ApiKeyEvent, { type: 'OperatorKeyIssued' }>['data'];

export type ApiKey =
  | { readonly status: 'none' }
  | (Omit<IssuedKey & IssuedOperatorKey, 'scopes'> & {
      readonly scopes: readonly KeyScope[];
      readonly status: 'issued' | 'revoked';
    });

/**
 * An API key. Its id is derived from the hash of its secret: a key is found without an index, and the secret
 * is stored nowhere. (decision 51: the form of a key, and how it is refused)
 */
export const apiKey: Aggregate<ApiKey, ApiKeyEvent> = {
  category: 'key',
  schemas: apiKeyEvents,
  initial: { status: 'none' },
  evolve: (state, event) => {
    switch (event.type) {
      case 'ApiKeyIssued':
        return { status: 'issued', ...event.data, expiresAt: null };
      case 'OperatorKeyIssued':
        return { status: 'issued', org: house, requestsPerMinute: null, ...event.data };
      case 'ApiKeyRevoked':
        return state.status === 'none' ? state : { ...state, status: 'revoked' };
    }
  },
};

/** `hco_` and 43 base64url characters: 256 bits. */
export const operatorSecretFrom = (bytes: Buffer): string => `hco_${bytes.toString('base64url')}`;

const operatorSecretShape = /^hco_[A-Za-z0-9_-]{43}$/;
export const isOperatorKeyShaped = (token: string): boolean => operatorSecretShape.test(token);

/** `hck_` and 43 base64url characters: 256 bits. */
export const secretFrom = (bytes: Buffer): string => `hck_${bytes.toString('base64url')}`;

const secretShape = /^hck_[A-Za-z0-9_-]{43}$/;
export const isKeyShaped = (token: string): boolean => secretShape.test(token);

export const keyIdOf = (secret: string): Uuid => derivedUuid('api-key', hash('sha256', secret));

const asFirst =
  (event: ApiKeyEvent) =>
  (state: ApiKey): ApiKeyEvent[] => {
    if (state.status !== 'none') throw new Error('this key already exists');
    return [event];
  };

export const issueKey = (key: IssuedKey) => asFirst({ type: 'ApiKeyIssued', data: key });

export const issueOperatorKey = (key: IssuedOperatorKey) => asFirst({ type: 'OperatorKeyIssued', data: key });

/** Revokes a key of the organization; a repeat records nothing. Throws `not_found`. */
export const revokeKey =
  (org: OrganizationId) =>
  (state: ApiKey): ApiKeyEvent[] => {
    if (state.status === 'none' || state.org !== org)
      throw new DomainError('not_found', 'There is no such key in this organization.');
    return state.status === 'revoked' ? [] : [{ type: 'ApiKeyRevoked', data: {} }];
  };
