import type { Logger } from 'pino';
import { suspended } from '../../../application/organizations/suspensions.js';
import type { Clock } from '../../../application/ports/system.js';
import { assertService, type Rehearsal } from '../../../application/writing/rehearsal.js';
import { DomainError } from '../../../domain/errors.js';
import type { Milliseconds } from '../../../domain/ids.js';
import { hasKey, type Caller, type OperatorCaller } from './access.js';
import { assertOneAuthorization, windowEnd, type Gate } from './caller.js';
import type { Exchange } from './exchange.js';
import type { Route } from './route.js';

/** Auditors may read everything; some routes are only for the operator token. */
const requireOperatorScope = ({ access, method }: Route, { scopes }: OperatorCaller): void => {
  if (access.kind !== 'operator' || scopes === null) return;
  const { scope } = access;
  if (scope !== null && scopes.includes(scope)) return;
  if (method === 'GET' && scopes.includes('operator:audit')) return;
  throw new DomainError(
    'missing_scope',
    scope === null
      ? 'This is done with the operator token of OPERATOR_TOKEN_FILE alone.'
      : `This key lacks the scope \`${scope}\`. Use a key that has it.`,
  );
};

const requireScope = (route: Route, caller: Caller): void => {
  if (route.access.kind === 'operator' && caller.kind === 'operator') requireOperatorScope(route, caller);
  if (route.access.kind !== 'key' || route.access.scope === null || caller.kind !== 'key') return;
  const { scope } = route.access;
  if (!caller.scopes.includes(scope))
    throw new DomainError('missing_scope', `This key lacks the scope \`${scope}\`. Use a key that has it.`);
};

/** How other services call what they take instead of a bearer token. */
const namesElsewhere = /^(x-)?api[-_]?key$|^(access|auth)[-_]token$/i;

/** Throws a refusal, and names what the request has instead of a bearer token. */
const refuseWith = (error: unknown, { request: { headers }, search }: Exchange): never => {
  if (!(error instanceof DomainError) || error.code !== 'missing_key') throw error;
  const names = [...Object.keys(headers), ...new URLSearchParams(search).keys()];
  const [scheme] = /^[a-z]+(?= )/i.exec(headers.authorization ?? '') ?? [];
  const other = scheme ?? names.find((name) => namesElsewhere.test(name));
  throw other === undefined
    ? error
    : new DomainError(error.code, `\`${other}\` is not read. ${error.message}`);
};

export interface AdmissionDeps {
  readonly gate: Gate;
  readonly clock: Clock;
  readonly log: Logger;
  readonly rehearsal: Rehearsal;
}

/**
 * Lets a caller in: its credential, its rate, its scopes. Throws the refusal. (decision 1: one order of
 * checks)
 */
export const admission = ({ gate, clock, log, rehearsal }: AdmissionDeps) => {
  const count = async (caller: Caller, now: Milliseconds) => {
    try {
      return await gate.count(caller, now);
    } catch (error) {
      log.error({ err: error }, 'requests are not counted');
      return gate.keyless;
    }
  };

  return async (exchange: Exchange, route: Route): Promise<void> => {
    if (hasKey(route)) assertOneAuthorization(exchange.request.rawHeaders);
    const { authorization } = exchange.request.headers;
    const caller = await gate
      .identify(route.access, authorization, exchange.address)
      .catch((error: unknown) => refuseWith(error, exchange));
    exchange.caller = caller;
    const now = clock.steady();
    exchange.reset = windowEnd(now);
    exchange.allowance = await count(caller, now);
    if (exchange.allowance.remaining < 0)
      throw new DomainError(
        'rate_limited',
        `This key may send ${exchange.allowance.limit} requests per minute. Wait the number of seconds in Retry-After, then send again.`,
      );
    if (caller.kind === 'key' && caller.isSuspended) throw suspended();
    requireScope(route, caller);
    if (!route.rehearses && rehearsal() !== null) await assertService(rehearsal);
  };
};
