import { z } from 'zod';
import type { OperatorScope } from '../../../domain/api-key.js';
import { DomainError } from '../../../domain/errors.js';
import { OrganizationId } from '../../../domain/ids.js';
import { atParam } from '../api/as-of.js';
import { idParam, pageCursor, pageLimit, text } from '../schema/fields.js';
import { examples } from '../schema/shown.js';
import type { Access, OperatorCaller } from '../server/access.js';
import {
  pathParameters,
  route,
  type Definition,
  type HttpRequest,
  type Method,
  type Route,
} from '../server/route.js';

const withScope = <S extends OperatorScope>(scope: S) => ({ kind: 'operator', scope }) as const;

/** Organizations, credits, keys, designs, hooks, webhooks. Auditors may read them, too. */
const officeAccess = withScope('operator:office');
/** Cards and their production. */
export const floorAccess = withScope('operator:floor');
/** The feed of the log; with nothing else, without personal data. */
export const eventsAccess = withScope('operator:events');
/** Erasures, and finding their subjects. */
export const privacyAccess = withScope('operator:privacy');
/** For audits alone. */
export const operatorAccess = withScope('operator:audit');
/** Only with the operator token. */
export const rootAccess = { kind: 'operator', scope: null } as const;

export type OperatorRequest = Pick<HttpRequest<OperatorCaller>, 'id' | 'caller' | 'traceparent'>;

/** The operator, as events record it. */
export const byOperator = ({ id, caller, traceparent }: OperatorRequest) => ({
  actor: { kind: 'operator' as const, id: caller.id },
  requestId: id,
  traceparent,
});

export const orgParam = text('The id of the organization.', examples.organization, {
  code: 'not_found',
  rule: (id: string) => OrganizationId.parse(id),
});
/** Things with an `:id`, by the part of a path before it. */
const things: Readonly<Record<string, string>> = {
  deliveries: 'delivery',
  designs: 'design',
  hooks: 'hook',
  keys: 'key',
  members: 'member',
  webhooks: 'endpoint',
};
/** The parameters that a path names: `/organizations/:org` has `org`. */
type ParametersIn<Path extends string> = Path extends `${string}:${infer Rest}`
  ? Rest extends `${infer Name}/${infer More}`
    ? Name | ParametersIn<`/${More}`>
    : Rest
  : never;

type ParametersOf<Call extends string> = {
  readonly [Name in ParametersIn<Call>]: z.ZodType<Name extends 'org' ? OrganizationId : string>;
};

type OperatorAccess = Extract<Access, { readonly kind: 'operator' }>;

interface OperatorDefinition<Params extends z.ZodObject, Query extends z.ZodObject, Values> extends Omit<
  Definition<OperatorAccess, Params, Query, Values>,
  'access' | 'tags'
> {
  /** The office, if it is left out. */
  readonly access?: OperatorAccess;
}

/**
 * Declares a route of the operator by its method and its path below `/operator/v1`. Parameters that are not
 * declared are the ids of an organization and of something that belongs to it.
 */
export const operatorRoute = <
  const Call extends `${Method} /${string}`,
  Params extends z.ZodObject = z.ZodObject<ParametersOf<Call>>,
  Query extends z.ZodObject = z.ZodObject,
  Values = undefined,
>(
  call: Call,
  definition: OperatorDefinition<Params, Query, Values>,
): Route => {
  const { access = officeAccess, params, ...rest } = definition;
  const thing = things[/(\w+)\/:id/.exec(call)?.[1] ?? ''] ?? '';
  const ids = pathParameters(call).map((name) => [name, name === 'org' ? orgParam : idParam(thing)]);
  return route(call.replace(' ', ' /operator/v1') as Call, {
    ...rest,
    access,
    // The type of the parameters follows from the path.
    params: params ?? (z.object(Object.fromEntries(ids)) as unknown as Params),
    tags: ['operator'],
  });
};

/** The refusal of a change without a field. */
export const nothingToChange = (fields: string) =>
  new DomainError('invalid_parameter', `Send what is to be changed: ${fields}.`);

/** The query of a list that can grow without limit. */
export const pageQuery = z.object({
  limit: pageLimit,
  starting_after: pageCursor(examples.uuid),
});

/** The query of such a list, as it was at a moment. */
export const pageAtQuery = pageQuery.extend({ at: atParam });
