import type { KeyHolder } from '../../../application/access/authenticate.js';
import type { OperatorScope, Scope } from '../../../domain/api-key.js';
import type { Actor } from '../../../domain/events.js';

/**
 * The callers of a route: the holder of a key (with a certain scope, or any key), an operator with a certain
 * scope (null: only with the operator token), the holder of the token in the path, or any client.
 */
export type Access =
  | { readonly kind: 'key'; readonly scope: Scope | null }
  | { readonly kind: 'operator'; readonly scope: OperatorScope | null }
  | { readonly kind: 'hook' }
  /** Any client, with or without a cookie: the page itself decides. */
  | { readonly kind: 'page' }
  | { readonly kind: 'public' };

export type KeyCaller = KeyHolder & { readonly kind: 'key' };
/** An operator: with the key of that id, or, as `root`, with the operator token, which may do everything. */
export interface OperatorCaller {
  readonly kind: 'operator';
  readonly id: string;
  /** Null: all. */
  readonly scopes: readonly OperatorScope[] | null;
}
export type Caller = KeyCaller | OperatorCaller | { readonly kind: 'none' };
export type CallerOf<A extends Access> = A extends { kind: 'key' }
  ? KeyCaller
  : A extends { kind: 'operator' }
    ? OperatorCaller
    : { readonly kind: 'none' };

/** The content of a response's rate headers. */
export interface Allowance {
  readonly limit: number;
  readonly remaining: number;
}

/** The subject of a request in its log line: ids and names of fields, never their values. */
export interface Subject {
  readonly org?: string;
  readonly hook?: string;
  /** Codes of cards and ids in the path and the query, unless an API key asked. */
  readonly subjects?: readonly string[];
  /** The visitor that a cookie let in. */
  readonly visitor?: Actor;
  readonly changed?: Readonly<Record<string, unknown>>;
}

export const hasKey = ({ access }: { readonly access: Access }): boolean =>
  access.kind === 'key' || access.kind === 'operator';

/** The audience of a listener or a document: customers and the public, the operators, or all. */
export type Audience = 'all' | 'public' | 'operator';

const operatorsPaths: ReadonlySet<string> = new Set(['/readyz', '/metrics']);

/** Whether a route is for an audience. `/healthz`, which shows nothing but the version, is for both. */
export const isFor =
  (audience: Audience) =>
  ({ access, path }: { readonly access: Access; readonly path: string }): boolean => {
    if (audience === 'all' || path === '/healthz') return true;
    return (access.kind === 'operator' || operatorsPaths.has(path)) === (audience === 'operator');
  };
