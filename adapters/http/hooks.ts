import { z } from 'zod';
import { newCommand } from '../../application/writing/commands.js';
import { fireHook, openHook } from '../../application/hooks/fire-hook.js';
import {
  listHookCalls,
  listHooks,
  listHooksAt,
  makeHook,
  removeHook,
  updateHook,
  type HookDeps,
  type ListedHook,
} from '../../application/hooks/hooks.js';
import { OutcomeUnknown } from '../../application/writing/outcome.js';
import type { Suspensions } from '../../application/organizations/suspensions.js';
import { type HookCall, unusedHook } from '../../application/ports/hook-calls.js';
import type { RateLimiter } from '../../application/ports/rate-limiter.js';
import type { SendCardDeps, SentCard } from '../../application/cards/send-card.js';
import { DomainError } from '../../domain/errors.js';
import { activeHook, unknownHook, type MadeHook } from '../../domain/hook.js';
import { Uuid } from '../../domain/ids.js';
import { exampleRecipient } from './card-fields.js';
import { cardReceipt, sentCard, sentCardBody } from './cards.js';
import { ClientGone, failureOf, refusalOf } from './errors.js';
import { longestLabel, optional, optionalText, text } from './fields.js';
import type { HookMetrics } from './hook-metrics.js';
import { hookPayload, readHookPayload } from './hook-payload.js';
import { asOfField, atErrors, momentFrom, pastPage } from './moments.js';
import { byOperator, orgOf, pageAtQuery, pageQuery, operatorRoute } from './operator.js';
import { receiptHeader } from './receipt.js';
import { instant, listOf, pageOf, timestamp } from './responses.js';
import { route, type Route } from './route.js';

export interface HookRouteDeps extends SendCardDeps, HookDeps {
  readonly suspensions: Suspensions;
  readonly baseUrl: () => string;
  readonly rateLimiter: RateLimiter;
  /** How many calls of a hook are let through in a clock minute. */
  readonly callsPerMinute: number;
  readonly metrics: HookMetrics;
  /** Is told about calls that could not be recorded; they get their responses all the same. */
  readonly onUnrecordedCall: (call: HookCall, error: unknown) => void;
}

const example = { ...exampleRecipient, line2: 'Apt 4', country: 'US' };

const verification = z
  .object({
    object: z.literal('inbound_hook'),
    ready: z.literal(true),
    message: z.string(),
    example: z.object({
      name: z.string(),
      line1: z.string(),
      line2: z.string(),
      city: z.string(),
      state: z.string(),
      zip: z.string(),
      country: z.string(),
    }),
  })
  .meta({ id: 'InboundHook' });

const ready = {
  object: 'inbound_hook',
  ready: true,
  message:
    'Ready. POST a recipient and a message as JSON to this URL: each POST sends one card. This response does not check the token; a POST does.',
  example,
};

/** What the call log keeps of an error; null if the client was gone. */
const resultOf = (error: unknown): Pick<HookCall, 'status' | 'code'> | null => {
  if (error instanceof ClientGone) return null;
  if (error instanceof OutcomeUnknown) return { status: 0, code: null };
  const { status, code } = refusalOf(error) ?? failureOf('order_failed');
  return { status, code };
};

/** A hook whose calls are recorded: it exists. */
interface CalledHook {
  readonly id: Uuid;
  readonly hook: MadeHook;
  readonly requestId: string;
}

const record = async (
  deps: HookRouteDeps,
  { id, hook, requestId }: CalledHook,
  result: Pick<HookCall, 'status' | 'code' | 'card'>,
): Promise<void> => {
  const call: HookCall = {
    id: Uuid.parse(deps.entropy.uuid()),
    hook: id,
    org: hook.org,
    at: deps.clock.instant(),
    requestId,
    ...result,
  };
  try {
    await deps.hookCalls.record(call);
  } catch (error) {
    deps.onUnrecordedCall(call, error);
  }
};

/**
 * Counts a call. Throws `rate_limited` if it is one too many in this clock minute: the log has the first of
 * these, because whoever sends too many could fill it with them.
 */
const limitRate = async (deps: HookRouteDeps, called: CalledHook): Promise<void> => {
  const { rateLimiter, callsPerMinute, clock, metrics } = deps;
  const calls = await rateLimiter.hit(`hook:${called.id}`, clock.now());
  if (calls <= callsPerMinute) return;
  const refusal = new DomainError(
    'rate_limited',
    `This hook may be called ${callsPerMinute} times per minute. Wait the number of seconds in Retry-After, then send again.`,
  );
  const result = resultOf(refusal);
  if (calls === callsPerMinute + 1 && result !== null) await record(deps, called, { ...result, card: null });
  else metrics.limited();
  throw refusal;
};

/**
 * Runs a call, and records its result before the response is sent. (decision 50: tokens, the call log, and
 * guessing)
 */
const recorded = async (
  deps: HookRouteDeps,
  called: CalledHook,
  run: () => Promise<SentCard>,
): Promise<SentCard> => {
  let sent: SentCard;
  try {
    sent = await run();
  } catch (error) {
    const result = resultOf(error);
    if (result !== null) await record(deps, called, { ...result, card: null });
    throw error;
  }
  await record(deps, called, { status: 201, code: null, card: sent.code });
  return sent;
};

const token = text({
  code: 'invalid_hook',
  hint: "the token of a hook's URL",
  description: 'The token: the only credential.',
});

/** The URLs to which form tools and shops post. (docs/contract.md#inbound-hooks) */
export const hookRoutes = (deps: HookRouteDeps): readonly Route[] => [
  route('POST /api/v1/hooks/:token', {
    id: 'fireHook',
    summary: 'Send one card through a hook',
    access: { kind: 'hook' },
    params: z.object({ token }),
    body: hookPayload,
    failure: 'order_failed',
    undecodable: 'as-is',
    description:
      'The token in the path is the credential: no key is needed. Each POST sends one card and spends one credit; an Idempotency-Key is ignored.',
    tags: ['hooks'],
    responses: { 201: { description: 'The card was accepted.', schema: sentCard, headers: receiptHeader } },
    errors: [
      'invalid_hook',
      'hook_disabled',
      'suspended',
      'rate_limited',
      'invalid_recipient',
      'missing_message',
      'template_incomplete',
      'message_too_long',
      'broken_merge_field',
      'invalid_date',
      'unknown_handwriting',
      'design_not_found',
      'no_design_available',
      'invalid_parameter',
      'no_credits',
      'production_failed',
    ],
    handle: async (request) => {
      const { id, hook } = await openHook(deps.streams, request.params.token);
      if (hook.status === 'none') throw unknownHook();
      request.concerns({ org: hook.org, hook: id });
      if (hook.status === 'deleted') {
        deps.metrics.deleted();
        throw unknownHook();
      }
      const called = { id, hook, requestId: request.id };
      await limitRate(deps, called);
      const sent = await recorded(deps, called, async () => {
        activeHook(hook);
        await deps.suspensions.assertActive(hook.org);
        const body = await request.readBody();
        return fireHook(deps, id, readHookPayload(body), ({ org }) =>
          newCommand(
            deps,
            { actor: { kind: 'hook', id }, requestId: request.id, traceparent: request.traceparent },
            org,
          ),
        );
      });
      return { status: 201, body: sentCardBody(sent, deps.baseUrl()), headers: cardReceipt(sent) };
    },
  }),
  route('GET /api/v1/hooks/:token', {
    id: 'verifyHook',
    summary: 'Verify a hook URL',
    access: { kind: 'public' },
    params: z.object({ token: optionalText({ description: 'Not checked.' }) }),
    failure: 'internal_error',
    undecodable: 'as-is',
    description:
      'For tools that fetch a URL before they save it. Never sends a card, and does not check the token: only a POST does.',
    tags: ['hooks'],
    responses: {
      200: { description: 'The URL can be called. Says nothing about the token.', schema: verification },
    },
    handle: () => Promise.resolve({ status: 200, body: ready }),
  }),
];

const hookResponse = z
  .object({
    id: z.string().meta({ format: 'uuid' }),
    label: z.string().nullable(),
    design_id: z.string().nullable().describe('Null means the newest saved design at the time of each call.'),
    template: z.string().nullable(),
    signed_by: z.string().nullable().describe('The value of the variable {{sender_name}}.'),
    fire_count: z.int().min(0).describe('How many cards the hook has sent.'),
    last_fired_at: instant('When the hook last sent a card.').nullable(),
    paused: z.boolean(),
  })
  .meta({ id: 'Hook' });

const listedHook = hookResponse.extend({ fire_count: z.int().min(0).nullable() }).meta({ id: 'ListedHook' });

const bodyOf = ({
  id,
  label,
  design,
  template,
  signedBy,
  fireCount,
  lastFiredAt,
  paused,
}: ListedHook): object => ({
  id,
  label,
  design_id: design,
  template,
  signed_by: signedBy,
  fire_count: fireCount,
  last_fired_at: lastFiredAt && timestamp(lastFiredAt),
  paused,
});

const callResponse = z
  .object({
    id: z.string().meta({ format: 'uuid' }),
    at: instant('When the response to the call was sent.'),
    status: z
      .int()
      .min(0)
      .describe(
        'The HTTP status of the response; 0 if the connection was dropped because the outcome was unknown.',
      ),
    code: z.string().nullable().describe('The error code; null if there was no error.'),
    card: z.string().nullable().describe('The card that was sent; null if there was none.'),
    request_id: z.string(),
  })
  .meta({ id: 'HookCall' });

const callBody = ({ id, at, status, code, card, requestId }: HookCall): object => ({
  id,
  at: timestamp(at),
  status,
  code,
  card,
  request_id: requestId,
});

export const newHook = z
  .object({
    label: optionalText({ maxLength: longestLabel }),
    design_id: optionalText({
      code: 'design_not_found',
      description:
        'The id of a saved design, or `card:<slug>`. Omit it for the newest saved design at the time of each call.',
    }),
    template: optionalText({
      description: 'The message for payloads without one: {{name}} is replaced by the value of that name.',
    }),
    signed_by: optionalText({ description: 'The value of the variable {{sender_name}}.' }),
  })
  .meta({ id: 'NewHook' });

const hookChange = newHook
  .extend({ paused: optional(z.boolean().meta({ description: 'True pauses the hook, false resumes it.' })) })
  .meta({ id: 'HookChange', description: 'What is left out stays.' });

/** What is null was left out. */
const changeFrom = (sent: z.output<typeof hookChange>) => ({
  ...(sent.label !== null && { label: sent.label }),
  ...(sent.design_id !== null && { design: sent.design_id }),
  ...(sent.template !== null && { template: sent.template }),
  ...(sent.signed_by !== null && { signedBy: sent.signed_by }),
  ...(sent.paused !== null && { paused: sent.paused }),
});

const nothingToChange = () =>
  new DomainError(
    'invalid_parameter',
    'Send what is to be changed: `paused`, `label`, `design_id`, `template` or `signed_by`.',
    'paused',
  );

/** For the operator: create, pause, resume and delete hooks, and read their call logs. */
export const operatorHookRoutes = (deps: HookRouteDeps): readonly Route[] => [
  operatorRoute('POST /organizations/:org/hooks', {
    id: 'createHook',
    summary: 'Create an inbound hook',
    body: newHook,
    responses: {
      201: {
        description: 'The hook, with its token and URL: they are shown only this once.',
        schema: z.object({
          id: z.string().meta({ format: 'uuid' }),
          token: z.string(),
          url: z.string().meta({ format: 'uri' }),
        }),
      },
    },
    errors: ['not_found', 'design_not_found', 'invalid_parameter'],
    handle: async (request, { label, design_id: design, template, signed_by: signedBy }) => {
      const owner = orgOf(request.params);
      const made = await makeHook(
        deps,
        owner,
        { label, design, template, signedBy },
        newCommand(deps, byOperator(request), owner),
      );
      return {
        status: 201,
        body: { id: made.id, token: made.token, url: `${deps.baseUrl()}/api/v1/hooks/${made.token}` },
      };
    },
  }),
  operatorRoute('GET /organizations/:org/hooks', {
    id: 'listHooks',
    summary: 'List inbound hooks, newest first, as they are or as they were',
    query: pageAtQuery,
    responses: {
      200: {
        description: 'One page of hooks. Of hooks as they were, nobody knows how often they had been fired.',
        schema: listOf(listedHook, 'HookList', asOfField),
      },
    },
    errors: ['not_found', 'invalid_cursor', ...atErrors],
    handle: async ({ params, query: { limit, starting_after: startingAfter, at } }) => {
      const moment = await momentFrom(deps.store, at, 'at');
      if (moment !== null) {
        const pasts = await listHooksAt(deps, orgOf(params), moment, { startingAfter, limit });
        return pastPage(
          pasts,
          limit,
          ({ id }) => id,
          (was) => ({ ...bodyOf({ ...was, ...unusedHook }), fire_count: null }),
        );
      }
      const rows = await listHooks(deps, orgOf(params), { startingAfter, limit });
      return pageOf(rows, limit, ({ id }) => id, bodyOf);
    },
  }),
  operatorRoute(`GET /organizations/:org/hooks/:id/calls`, {
    id: 'listHookCalls',
    summary: 'List the calls of a hook with their results, newest first',
    query: pageQuery,
    description:
      'Calls of the last 30 days (or what `HOOK_CALL_KEEP` says), and the newest 1,000 however old they are. A deleted hook keeps its log, and gets no new calls.',
    responses: { 200: { description: 'One page of calls.', schema: listOf(callResponse, 'HookCallList') } },
    errors: ['not_found', 'invalid_cursor'],
    handle: async ({ params, query: { limit, starting_after: startingAfter } }) => {
      const calls = await listHookCalls(deps, orgOf(params), params.id, { startingAfter, limit });
      return pageOf(calls, limit, ({ id }) => id, callBody);
    },
  }),
  operatorRoute(`PATCH /organizations/:org/hooks/:id`, {
    id: 'updateHook',
    summary: 'Change settings of a hook, pause or resume it',
    body: hookChange,
    responses: { 200: { description: 'The hook. A repeat changes nothing.', schema: hookResponse } },
    errors: ['not_found', 'invalid_parameter', 'design_not_found'],
    handle: async (request, sent) => {
      const owner = orgOf(request.params);
      const change = changeFrom(sent);
      if (Object.keys(change).length === 0) throw nothingToChange();
      const command = newCommand(deps, byOperator(request), owner);
      return { status: 200, body: bodyOf(await updateHook(deps, owner, request.params.id, change, command)) };
    },
  }),
  operatorRoute(`DELETE /organizations/:org/hooks/:id`, {
    id: 'deleteHook',
    summary: 'Delete a hook forever',
    description: 'Calls of its URL get a 401 from now on. A repeat changes nothing.',
    responses: {
      200: {
        description: 'The hook is deleted.',
        schema: z.object({ id: z.string().meta({ format: 'uuid' }), deleted: z.literal(true) }),
      },
    },
    errors: ['not_found'],
    handle: async (request) => {
      const owner = orgOf(request.params);
      const { id } = request.params;
      await removeHook(deps, owner, id, newCommand(deps, byOperator(request), owner));
      return { status: 200, body: { id, deleted: true } };
    },
  }),
];
