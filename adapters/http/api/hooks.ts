import { Counter, type Registry } from 'prom-client';
import { z } from 'zod';
import { newCommand, OutcomeUnknown } from '../../../application/writing/execute.js';
import { fireHook, openHook } from '../../../application/hooks/fire-hook.js';
import type { HookDeps } from '../../../application/hooks/hooks.js';
import type { Suspensions } from '../../../application/organizations/suspensions.js';
import type { HookCall } from '../../../application/ports/hook-calls.js';
import type { RateLimiter } from '../../../application/ports/rate-limiter.js';
import type { SendCardDeps, SentCard } from '../../../application/cards/send-card.js';
import { DomainError } from '../../../domain/errors.js';
import { activeHook, unknownHook, type MadeHook } from '../../../domain/hook.js';
import { Uuid } from '../../../domain/ids.js';
import { exampleRecipient } from './card-fields.js';
import { cardReceipt, sentCard, sentCardBody } from './cards.js';
import { ClientGone, failureOf, refusalOf, statusOf } from '../server/errors.js';
import { optionalText, text } from '../schema/fields.js';
import { hookPayload, readHookPayload } from './hook-payload.js';
import * as shown from '../schema/shown.js';
import { receiptHeader } from './responses.js';
import { route, type Route } from '../server/route.js';

/** Calls of hooks that their log does not have. `limited`: beyond the hook's rate limit. */
export const hookMetrics = (registry: Registry) => {
  const calls = new Counter({
    name: 'unlogged_hook_calls_total',
    help: 'Refused hook calls that are in no hook’s log: of deleted hooks, or beyond the rate limit after the first of a minute.',
    labelNames: ['reason'] as const,
    registers: [registry],
  });
  return { deleted: () => calls.inc({ reason: 'deleted' }), limited: () => calls.inc({ reason: 'limited' }) };
};

export interface HookRouteDeps extends SendCardDeps, HookDeps {
  readonly suspensions: Suspensions;
  readonly baseUrl: () => string;
  readonly rateLimiter: RateLimiter;
  /** How many calls of a hook are let through in a clock minute. */
  readonly callsPerMinute: number;
  readonly metrics: ReturnType<typeof hookMetrics>;
  /** Called with failures to record a call; the call gets its response all the same. */
  readonly onUnrecordedCall: (call: HookCall, error: unknown) => void;
}

const example = { ...exampleRecipient, line2: 'Apt 4', country: 'US' };

const verification = shown.component('InboundHook', 'Says that a hook can be called, and with what.', {
  object: shown.objectKind('inbound_hook'),
  ready: shown.alwaysTrue,
  message: shown.text(
    'What to do next, for people.',
    'Ready. POST a recipient and a message as JSON to this URL.',
  ),
  example: shown.nested('An address that may be sent.', shown.address),
});

const ready = {
  object: 'inbound_hook',
  ready: true,
  message:
    'Ready. POST a recipient and a message as JSON to this URL: each POST sends one card. This response does not check the token; a POST does.',
  example,
};

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
 * Counts a call. Throws `rate_limited` if it is one too many in this clock minute: only the first of these is
 * logged, because a flood of calls could fill the log.
 */
const limitRate = async (deps: HookRouteDeps, called: CalledHook): Promise<void> => {
  const { rateLimiter, callsPerMinute, clock, metrics } = deps;
  const calls = await rateLimiter.hit(`hook:${called.id}`, clock.steady());
  if (calls <= callsPerMinute) return;
  const refusal = new DomainError(
    'rate_limited',
    `This hook may be called ${callsPerMinute} times per minute. Wait the number of seconds in Retry-After, then send again.`,
  );
  const { code } = refusal;
  if (calls === callsPerMinute + 1) await record(deps, called, { status: statusOf(code), code, card: null });
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
  const sent = await run().catch(async (error: unknown) => {
    const result = resultOf(error);
    if (result !== null) await record(deps, called, { ...result, card: null });
    throw error;
  });
  await record(deps, called, { status: 201, code: null, card: sent.code });
  return sent;
};

const token = text('The token: the only credential.', shown.examples.token, {
  code: 'invalid_hook',
  hint: "the token of a hook's URL",
});

/** The URLs to which form tools and shops post. (docs/contract.md#inbound-hooks) */
export const hookRoutes = (deps: HookRouteDeps): readonly Route[] => [
  route('POST /api/v1/hooks/:token', {
    id: 'fireHook',
    summary: 'Send one card through a hook',
    access: { kind: 'hook' },
    params: z.object({ token }),
    body: { schema: hookPayload, read: readHookPayload },
    failure: 'order_failed',
    undecodable: 'as-is',
    description:
      'The token in the path is the credential: no key is needed. Each POST sends one card and spends one credit; an Idempotency-Key is ignored.',
    tags: ['hooks'],
    responses: { 201: { description: 'The card was accepted.', schema: sentCard, headers: receiptHeader } },
    errors: [
      'hook_disabled',
      'suspended',
      'rate_limited',
      'template_incomplete',
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
      return { body: sentCardBody(sent, deps.baseUrl()), headers: cardReceipt(sent) };
    },
  }),
  route('GET /api/v1/hooks/:token', {
    id: 'verifyHook',
    summary: 'Verify a hook URL',
    access: { kind: 'public' },
    params: z.object({ token: optionalText('Not checked.', shown.examples.token) }),
    failure: 'internal_error',
    undecodable: 'as-is',
    description:
      'For tools that fetch a URL before they save it. Never sends a card, and does not check the token: only a POST does.',
    tags: ['hooks'],
    answers: { 200: ['The URL can be called. Says nothing about the token.', verification] },
    handle: () => Promise.resolve({ body: ready }),
  }),
];
