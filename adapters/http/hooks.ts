import { z } from 'zod';
import { newCommand } from '../../application/commands.js';
import { fireHook, openHook } from '../../application/fire-hook.js';
import {
  listHookCalls,
  listHooks,
  makeHook,
  removeHook,
  setHookPaused,
  type HookDeps,
  type ListedHook,
} from '../../application/hooks.js';
import { OutcomeUnknown } from '../../application/outcome.js';
import type { HookCall } from '../../application/ports/hook-calls.js';
import type { SendCardDeps, SentCard } from '../../application/send-card.js';
import { activeHook, unknownHook, type MadeHook } from '../../domain/hook.js';
import { Uuid } from '../../domain/ids.js';
import { exampleRecipient } from './card-fields.js';
import { sentCard, sentCardBody } from './cards.js';
import { ClientGone, failureOf, refusalOf } from './errors.js';
import { optionalText, text } from './fields.js';
import { hookPayload, readHookPayload } from './hook-payload.js';
import { byOperator, idParam, operatorAccess, orgOf, orgParam, orgPath, pageQuery } from './operator.js';
import { readAll } from './read.js';
import { instant, listBody, listOf, timestamp } from './responses.js';
import { route, type Route } from './route.js';

export interface HookServices extends SendCardDeps, HookDeps {
  readonly baseUrl: () => string;
  /** Hears of calls that could not be recorded: they are answered all the same. */
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
    'Ready. POST a recipient and a message as JSON to this address: each POST sends one card. This answer does not check the token; a POST does.',
  example,
};

/** What a call log keeps of an error; null where there was nobody to answer. */
const resultOf = (error: unknown): Pick<HookCall, 'status' | 'code'> | null => {
  if (error instanceof ClientGone) return null;
  if (error instanceof OutcomeUnknown) return { status: 0, code: null };
  const { status, code } = refusalOf(error) ?? failureOf('order_failed');
  return { status, code };
};

/** Runs a call and keeps what came of it, before it is answered. (decision 50) */
const recorded = async (
  services: HookServices,
  hook: MadeHook,
  id: Uuid,
  requestId: string,
  run: () => Promise<SentCard>,
): Promise<SentCard> => {
  const record = async (result: Pick<HookCall, 'status' | 'code' | 'card'>): Promise<void> => {
    const call: HookCall = {
      id: Uuid.parse(services.entropy.uuid()),
      hook: id,
      org: hook.org,
      at: services.clock.instant(),
      requestId,
      ...result,
    };
    try {
      await services.hookCalls.record(call);
    } catch (error) {
      services.onUnrecordedCall(call, error);
    }
  };
  let sent: SentCard;
  try {
    sent = await run();
  } catch (error) {
    const result = resultOf(error);
    if (result !== null) await record({ ...result, card: null });
    throw error;
  }
  await record({ status: 201, code: null, card: sent.code });
  return sent;
};

const token = text({
  code: 'invalid_hook',
  hint: "the token of a hook's address",
  description: 'The token: the only credential.',
});

/**
 * The addresses that form tools and shops post to. (spec: POST and GET /api/v1/hooks/{token}; decisions
 * 46–50)
 */
export const hookRoutes = (services: HookServices): readonly Route[] => [
  route({
    method: 'POST',
    path: '/api/v1/hooks/:token',
    access: { kind: 'hook' },
    params: z.object({ token }),
    body: hookPayload,
    failure: 'order_failed',
    undecodable: 'as-is',
    operation: {
      operationId: 'fireHook',
      summary: 'Send one card through a hook',
      description:
        'The token in the path is the credential: no key is needed. Each POST sends one card and spends one credit; an Idempotency-Key is ignored.',
      tags: ['hooks'],
      responses: { 201: { description: 'The card was accepted.', schema: sentCard } },
      errors: [
        'invalid_hook', 'hook_disabled', 'rate_limited', 'invalid_recipient', 'missing_message', 'template_incomplete', 'message_too_long', 'broken_merge_field',
        'invalid_date', 'unknown_handwriting', 'design_not_found', 'no_design_available', 'invalid_parameter', 'no_credits', 'production_failed',
      ], // prettier-ignore
    },
    handle: async (request) => {
      const { id, hook } = await openHook(services.streams, request.params.token);
      if (hook.status === 'none') throw unknownHook();
      const sent = await recorded(services, hook, id, request.id, async () => {
        activeHook(hook);
        const body = await request.readBody();
        return fireHook(services, id, readHookPayload(body), ({ org }) =>
          newCommand(services, { actor: { kind: 'hook', id }, requestId: request.id }, org),
        );
      });
      return { status: 201, body: sentCardBody(sent, services.baseUrl()) };
    },
  }),
  route({
    method: 'GET',
    path: '/api/v1/hooks/:token',
    access: { kind: 'public' },
    params: z.object({ token: optionalText({ description: 'Not checked.' }) }),
    failure: 'internal_error',
    undecodable: 'as-is',
    operation: {
      operationId: 'verifyHook',
      summary: 'Answer tools that fetch an address before they save it',
      description:
        'Never sends a card and never checks the token, so it says nothing about the token: a POST does.',
      tags: ['hooks'],
      responses: { 200: { description: 'The address answers.', schema: verification } },
      errors: [],
    },
    handle: () => Promise.resolve({ status: 200, body: ready }),
  }),
];

const hookPath = `${orgPath}/hooks`;
const ofOrganization = z.object({ org: orgParam });
const ofHook = z.object({ org: orgParam, id: idParam });

const hookAnswer = z
  .object({
    id: z.string().meta({ format: 'uuid' }),
    label: z.string().nullable(),
    design_id: z.string().nullable().describe('Null: the newest saved design at every call.'),
    template: z.string().nullable(),
    signed_by: z.string().nullable().describe('The variable {{sender_name}}.'),
    fire_count: z.int().min(0).describe('How many cards it has made.'),
    last_fired_at: instant('When it last made a card.').nullable(),
    paused: z.boolean(),
  })
  .meta({ id: 'Hook' });

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

const callAnswer = z
  .object({
    id: z.string().meta({ format: 'uuid' }),
    at: instant('When the call was answered.'),
    status: z
      .int()
      .min(0)
      .describe(
        'The HTTP status of the response; 0 if the connection was dropped because the outcome was unknown.',
      ),
    code: z.string().nullable().describe('The code of the error.'),
    card: z.string().nullable().describe('The card that was made.'),
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

const newHook = z
  .object({
    label: optionalText(),
    design_id: optionalText({
      code: 'design_not_found',
      description:
        'The id of a saved design, or `card:<slug>`. Left out: the newest saved design at every call.',
    }),
    template: optionalText({
      description: 'Makes the message of a payload that has none: {{name}} stands for a value.',
    }),
    signed_by: optionalText({ description: 'The variable {{sender_name}}.' }),
  })
  .meta({ id: 'NewHook' });

const pausing = z.object({ paused: z.boolean().describe('True stops the hook until it is resumed.') });

/** Making, pausing and deleting hooks, and their call log. (operations.md, Operator API) */
export const operatorHookRoutes = (services: HookServices): readonly Route[] => [
  route({
    method: 'POST',
    path: hookPath,
    access: operatorAccess,
    params: ofOrganization,
    body: newHook,
    failure: 'internal_error',
    operation: {
      operationId: 'createHook',
      summary: 'Make an inbound hook',
      tags: ['operator'],
      responses: {
        201: {
          description: 'The hook, with its token and address: they are shown this once.',
          schema: z.object({
            id: z.string().meta({ format: 'uuid' }),
            token: z.string(),
            url: z.string().meta({ format: 'uri' }),
          }),
        },
      },
      errors: ['not_found', 'design_not_found', 'invalid_parameter'],
    },
    handle: async (request) => {
      const owner = orgOf(request.params);
      const { label, design_id: design, template, signed_by: signedBy } = readAll(newHook, request.body);
      const made = await makeHook(
        services,
        owner,
        { label, design, template, signedBy },
        newCommand(services, byOperator(request), owner),
      );
      return {
        status: 201,
        body: { id: made.id, token: made.token, url: `${services.baseUrl()}/api/v1/hooks/${made.token}` },
      };
    },
  }),
  route({
    method: 'GET',
    path: hookPath,
    access: operatorAccess,
    params: ofOrganization,
    query: pageQuery,
    failure: 'read_failed',
    operation: {
      operationId: 'listHooks',
      summary: 'List the inbound hooks that are not deleted, newest first',
      tags: ['operator'],
      responses: { 200: { description: 'One page of hooks.', schema: listOf(hookAnswer) } },
      errors: ['not_found', 'invalid_cursor'],
    },
    handle: async ({ params, query: { limit, starting_after: startingAfter } }) => {
      const rows = await listHooks(services, orgOf(params), { startingAfter, limit });
      return { status: 200, body: listBody(rows, limit, ({ id }) => id, bodyOf) };
    },
  }),
  route({
    method: 'GET',
    path: `${hookPath}/:id/calls`,
    access: operatorAccess,
    params: ofHook,
    query: pageQuery,
    failure: 'read_failed',
    operation: {
      operationId: 'listHookCalls',
      summary: 'The calls of a hook with their results, newest first',
      description: 'A deleted hook keeps its log.',
      tags: ['operator'],
      responses: { 200: { description: 'One page of calls.', schema: listOf(callAnswer) } },
      errors: ['not_found', 'invalid_cursor'],
    },
    handle: async ({ params, query: { limit, starting_after: startingAfter } }) => {
      const calls = await listHookCalls(services, orgOf(params), params.id, { startingAfter, limit });
      return { status: 200, body: listBody(calls, limit, ({ id }) => id, callBody) };
    },
  }),
  route({
    method: 'PATCH',
    path: `${hookPath}/:id`,
    access: operatorAccess,
    params: ofHook,
    body: pausing,
    failure: 'internal_error',
    operation: {
      operationId: 'pauseHook',
      summary: 'Pause or resume a hook',
      tags: ['operator'],
      responses: { 200: { description: 'The hook. A repeat changes nothing.', schema: hookAnswer } },
      errors: ['not_found', 'invalid_parameter'],
    },
    handle: async (request) => {
      const owner = orgOf(request.params);
      const { paused } = readAll(pausing, request.body);
      return {
        status: 200,
        body: bodyOf(
          await setHookPaused(
            services,
            owner,
            request.params.id,
            paused,
            newCommand(services, byOperator(request), owner),
          ),
        ),
      };
    },
  }),
  route({
    method: 'DELETE',
    path: `${hookPath}/:id`,
    access: operatorAccess,
    params: ofHook,
    failure: 'internal_error',
    operation: {
      operationId: 'deleteHook',
      summary: 'Delete a hook for ever',
      description: 'Its address answers 401 from now on. A repeat changes nothing.',
      tags: ['operator'],
      responses: {
        200: {
          description: 'The hook is gone.',
          schema: z.object({ id: z.string().meta({ format: 'uuid' }), deleted: z.literal(true) }),
        },
      },
      errors: ['not_found'],
    },
    handle: async (request) => {
      const owner = orgOf(request.params);
      const { id } = request.params;
      await removeHook(services, owner, id, newCommand(services, byOperator(request), owner));
      return { status: 200, body: { id, deleted: true } };
    },
  }),
];
