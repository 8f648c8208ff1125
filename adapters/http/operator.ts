import { z } from 'zod';
import {
  addDesign,
  addToDoNotMail,
  createKey,
  offerHandwriting,
  publishCollectionCard,
  removeDesign,
  removeFromDoNotMail,
  revokeKey,
  organizationOf,
  type AdministrationDeps,
} from '../../application/organizations/administer.js';
import { invalidCursor } from '../../application/requests/invalid-cursor.js';
import {
  listKeys,
  listKeysAt,
  type ListedKey,
  type ReadKeysDeps,
} from '../../application/access/read-keys.js';
import { scopes, type OperatorScope } from '../../domain/api-key.js';
import { OrganizationId } from '../../domain/ids.js';
import { longestLabel, optional, optionalText, pageLimit, text } from './fields.js';
import { asOfField, atErrors, atParam, momentFrom, pastPage } from './moments.js';
import { readAll } from './read.js';
import { instant, listOf, pageOf, timestamp } from './responses.js';
import {
  pathParameters,
  route,
  type Description,
  type HttpRequest,
  type Method,
  type Route,
  type RouteResponse,
} from './route.js';
import type { Access, OperatorCaller } from './access.js';

export interface OperatorRouteDeps extends AdministrationDeps, ReadKeysDeps {}

const withScope = <S extends OperatorScope>(scope: S) => ({ kind: 'operator', scope }) as const;

/** Organizations, credits, keys, designs, hooks, webhooks. Whoever may audit may read them, too. */
export const officeAccess = withScope('operator:office');
/** Cards and their production. */
export const floorAccess = withScope('operator:floor');
/** The feed of the log; with nothing else, without personal data. */
export const eventsAccess = withScope('operator:events');
/** Erasures, and finding what they concern. */
export const privacyAccess = withScope('operator:privacy');
/** What only an audit needs. */
export const operatorAccess = withScope('operator:audit');
/** Only with the operator token. */
export const rootAccess = { kind: 'operator', scope: null } as const;

/** The request of an operator. */
export type OperatorRequest = Pick<HttpRequest<OperatorCaller>, 'id' | 'caller' | 'traceparent'>;

/** The operator, as events record it. */
export const byOperator = ({ id, caller, traceparent }: OperatorRequest) => ({
  actor: { kind: 'operator' as const, id: caller.id },
  requestId: id,
  traceparent,
});

export const orgParam = text({ code: 'not_found', description: 'The id of the organization.' });
/** The id of something that belongs to the organization. A blank one is unknown, like any other. */
export const idParam = text({ code: 'not_found' });
export const orgPath = '/operator/v1/organizations/:org';
export const orgOf = ({ org }: { readonly org: string }): OrganizationId => OrganizationId.parse(org);

/** The parameters that a path names: `/organizations/:org` has `org`. */
type ParametersIn<Path extends string> = Path extends `${string}:${infer Rest}`
  ? Rest extends `${infer Name}/${infer More}`
    ? Name | ParametersIn<`/${More}`>
    : Rest
  : never;

interface OperatorDefinition<
  Params extends z.ZodObject,
  Query extends z.ZodObject,
  Body extends z.ZodObject,
> extends Description<Params, Query> {
  /** The office, if it is left out. */
  readonly access?: Extract<Access, { readonly kind: 'operator' }>;
  readonly body?: Body;
  /** `sent`: the values of the body. */
  handle(
    request: HttpRequest<OperatorCaller, z.output<Params>, z.output<Query>>,
    sent: z.output<Body>,
  ): Promise<RouteResponse>;
}

const nothing = z.object({});

/**
 * Declares a route of the operator by its method and its path below `/operator/v1`. Parameters that are not
 * declared are the ids of an organization and of something that belongs to it.
 */
export const operatorRoute = <
  const Call extends `${Method} /${string}`,
  Params extends z.ZodObject = z.ZodObject<Record<ParametersIn<Call>, z.ZodType<string>>>,
  Query extends z.ZodObject = z.ZodObject,
  Body extends z.ZodObject = z.ZodObject,
>(
  call: Call,
  definition: OperatorDefinition<Params, Query, Body>,
): Route => {
  const { access = officeAccess, params, errors = ['not_found'], ...rest } = definition;
  const ids = pathParameters(call).map((name) => [name, name === 'org' ? orgParam : idParam]);
  return route(call.replace(' ', ' /operator/v1') as Call, {
    ...rest,
    access,
    // Those that the path names are what its type says.
    params: params ?? (z.object(Object.fromEntries(ids)) as unknown as Params),
    tags: ['operator'],
    errors,
    handle: (request) =>
      definition.handle(request, readAll(rest.body ?? (nothing as unknown as Body), request.body)),
  });
};

export const newKey = z.object({
  scopes: z.array(z.enum(scopes)).min(1),
  label: optionalText({ maxLength: longestLabel }),
  requests_per_minute: optional(z.int().min(1).max(1_000_000_000)),
});
export const newDesign = z.object({
  name: text({ maxLength: 200, examples: ['Thank you'] }),
  collection_slug: optionalText({ code: 'design_not_found', maxLength: 200 }),
});
const email = text({
  maxLength: 320,
  pattern: /^[^\s@]+@[^\s@]+$/u,
  hint: 'an e-mail address',
  examples: ['ada@example.com'],
});
const savedDesign = z.object({ id: z.string(), name: z.string() });

const keyRow = z.object({
  id: z.string(),
  label: z.string().nullable(),
  scopes: z.array(z.enum(scopes)),
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

/** The query of a list that can grow without limit. */
export const pageQuery = z.object({
  limit: pageLimit,
  starting_after: optionalText({ description: 'The `next_cursor` of the page before.' }),
});

/** The query of such a list, as it was at a moment. */
export const pageAtQuery = pageQuery.extend({ at: atParam });

const keyRoutes = (deps: OperatorRouteDeps): readonly Route[] => [
  operatorRoute(`POST /organizations/:org/keys`, {
    id: 'createKey',
    summary: 'Create an API key; it is shown only this once',
    body: newKey,
    answers: {
      201: z.object({
        id: z.string(),
        key: z.string().describe('The key itself. It is shown only this once and stored nowhere.'),
        scopes: z.array(z.enum(scopes)),
        label: z.string().nullable(),
      }),
    },
    handle: async (request, { scopes: wanted, label, requests_per_minute }) => {
      const unique = [...new Set(wanted)];
      const { id, secret } = await createKey(deps, byOperator(request), orgOf(request.params), {
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
    errors: ['not_found', 'invalid_cursor', ...atErrors],
    handle: async ({ params, query }) => {
      const org = orgOf(params);
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
      200: z.object({ id: z.string(), revoked: z.literal(true) }),
    },
    handle: async (request) => {
      await revokeKey(deps, byOperator(request), orgOf(request.params), request.params.id);
      return { status: 200, body: { id: request.params.id, revoked: true } };
    },
  }),
];

const designRoutes = (deps: OperatorRouteDeps): readonly Route[] => [
  operatorRoute(`POST /organizations/:org/designs`, {
    id: 'saveDesign',
    summary: "Save a design, or the organization's copy of a collection card",
    body: newDesign,
    answers: { 200: savedDesign, 201: savedDesign },
    errors: ['not_found', 'design_not_found'],
    handle: async (request, { name, collection_slug }) => {
      const design = await addDesign(deps, byOperator(request), orgOf(request.params), name, collection_slug);
      return { status: design.made ? 201 : 200, body: { id: design.id, name: design.name } };
    },
  }),
  operatorRoute(`DELETE /organizations/:org/designs/:id`, {
    id: 'archiveDesign',
    summary: 'Archive a saved design',
    answers: {
      200: z.object({ id: z.string(), archived: z.literal(true) }),
    },
    handle: async (request) => {
      const { id } = request.params;
      await removeDesign(deps, byOperator(request), orgOf(request.params), id);
      return { status: 200, body: { id, archived: true } };
    },
  }),
];

export const doNotMail = z.object({ email });
const doNotMailState = z.object({ email: z.string(), do_not_mail: z.boolean() });

const doNotMailRoutes = (deps: OperatorRouteDeps): readonly Route[] => [
  operatorRoute(`POST /organizations/:org/do-not-mail`, {
    id: 'addToDoNotMail',
    summary: 'Add an e-mail address to the do-not-mail list',
    body: doNotMail,
    answers: {
      201: doNotMailState,
    },
    handle: async (request, { email: address }) => {
      await addToDoNotMail(deps, byOperator(request), orgOf(request.params), address);
      return { status: 201, body: { email: address, do_not_mail: true } };
    },
  }),
  operatorRoute(`DELETE /organizations/:org/do-not-mail/:email`, {
    id: 'removeFromDoNotMail',
    summary: 'Remove an e-mail address from the do-not-mail list',
    params: z.object({ org: orgParam, email: text() }),
    answers: {
      200: doNotMailState,
    },
    handle: async (request) => {
      const { email: address } = request.params;
      await removeFromDoNotMail(deps, byOperator(request), orgOf(request.params), address);
      return { status: 200, body: { email: address, do_not_mail: false } };
    },
  }),
];

export const collectionCard = z.object({
  title: text({ maxLength: longestLabel, examples: ['Thank you, botanical'] }),
  active: z.boolean(),
});
export const collectionSlug = text({
  maxLength: 100,
  pattern: /^[A-Za-z0-9][A-Za-z0-9_-]*$/,
  hint: 'letters, digits, hyphens and underscores',
  examples: ['thank-you-botanical'],
});
const handwritingState = z.object({ active: z.boolean() });
export const handwritingName = text({
  maxLength: 100,
  description: 'Compared in any case; a known handwriting keeps its spelling.',
});

const catalogueRoutes = (deps: OperatorRouteDeps): readonly Route[] => [
  operatorRoute('PUT /collection/:slug', {
    id: 'putCollectionCard',
    summary: 'Publish or withdraw a card of the public collection',
    params: z.object({ slug: collectionSlug }),
    body: collectionCard,
    answers: { 200: z.object({ slug: z.string(), title: z.string(), active: z.boolean() }) },
    errors: [],
    handle: async (request, { title, active }) => {
      const { slug } = request.params;
      await publishCollectionCard(deps, byOperator(request), slug, title, active);
      return { status: 200, body: { slug, title, active } };
    },
  }),
  operatorRoute('PUT /handwriting/:name', {
    id: 'putHandwriting',
    summary: 'Offer or withdraw a handwriting',
    params: z.object({ name: handwritingName }),
    body: handwritingState,
    answers: { 200: z.object({ name: z.string(), active: z.boolean() }) },
    errors: [],
    handle: async (request, { active }) => {
      const name = await offerHandwriting(deps, byOperator(request), request.params.name, active);
      return { status: 200, body: { name, active } };
    },
  }),
];

/** For the operator: what belongs to an organization, and the public catalogue. */
export const operatorRoutes = (deps: OperatorRouteDeps): readonly Route[] => [
  ...keyRoutes(deps),
  ...designRoutes(deps),
  ...doNotMailRoutes(deps),
  ...catalogueRoutes(deps),
];
