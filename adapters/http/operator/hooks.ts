import { z } from 'zod';
import {
  listHookCalls,
  listHooks,
  listHooksAt,
  makeHook,
  updateHook,
  type HookDeps,
  type ListedHook,
  changeHook,
} from '../../../application/hooks/hooks.js';
import { unusedHook, type HookCall } from '../../../application/ports/hook-calls.js';
import { newCommand } from '../../../application/writing/execute.js';
import { deleteHook } from '../../../domain/hook.js';
import { asOfField, momentFrom, pastPage } from '../api/as-of.js';
import { byId, instant, listOf, pageOf, timestamp } from '../api/responses.js';
import { labelFacts, optional, optionalText } from '../schema/fields.js';
import * as shown from '../schema/shown.js';
import { parseValues, whole, type JsonObject } from '../schema/read.js';
import type { Route } from '../server/route.js';
import { byOperator, nothingToChange, operatorRoute, pageAtQuery, pageQuery } from './route.js';

export interface OperatorHookRouteDeps extends HookDeps {
  readonly baseUrl: () => string;
}

const exampleTemplate = 'Thank you for your order, {{name}}!';

const hookResponse = shown.component('Hook', 'An inbound hook.', {
  id: shown.idOf('hook').meta({ format: 'uuid' }),
  label: shown.textOrNull('What it is called; null if it has no label.', 'Shop'),
  design_id: shown.textOrNull(
    'Null means the newest saved design at the time of each call.',
    'card:thank-you-botanical',
  ),
  template: shown.textOrNull(
    'The message for payloads without one; null if each payload brings its own.',
    exampleTemplate,
  ),
  signed_by: shown.textOrNull('The value of the variable {{sender_name}}.', 'The team at Acme'),
  fire_count: shown.number('How many cards the hook has sent.', 12).min(0),
  last_fired_at: instant('When the hook last sent a card.').nullable(),
  paused: shown.boolean('True if the hook is paused: calls are refused.', false),
});

const listedHook = shown.component('ListedHook', 'An inbound hook in a list.', {
  ...hookResponse.shape,
  fire_count: hookResponse.shape.fire_count.nullable(),
});

const bodyOf = (hook: ListedHook): object => ({
  id: hook.id,
  label: hook.label,
  design_id: hook.design,
  template: hook.template,
  signed_by: hook.signedBy,
  fire_count: hook.fireCount,
  last_fired_at: hook.lastFiredAt && timestamp(hook.lastFiredAt),
  paused: hook.paused,
});

const callResponse = shown.component('HookCall', 'A call of an inbound hook.', {
  id: shown.idOf('call').meta({ format: 'uuid' }),
  at: instant('When the response to the call was sent.'),
  status: shown
    .number(
      'The HTTP status of the response; 0 if the connection was dropped because the outcome was unknown.',
      201,
    )
    .min(0),
  code: shown.nullText('The error code; null if there was no error.'),
  card: shown.cardCode.nullable().describe('The card that was sent; null if there was none.'),
  request_id: shown.text('The `x-request-id` of the request.', shown.examples.request),
});

const callBody = ({ id, at, status, code, card, requestId }: HookCall): object => ({
  id,
  at: timestamp(at),
  status,
  code,
  card,
  request_id: requestId,
});

export const newHook = shown.component('HookInput', 'A hook to be made.', {
  label: optionalText('What the hook is called.', 'Shop', labelFacts),
  design_id: optionalText(
    'The id of a saved design, or `card:<slug>`. Omit it for the newest saved design at the time of each call.',
    'card:thank-you-botanical',
    { code: 'design_not_found', codes: ['design_not_found', 'too_many_designs'] },
  ),
  template: optionalText(
    'The message for payloads without one: {{name}} is replaced by the value of that name.',
    exampleTemplate,
  ),
  signed_by: optionalText('The value of the variable {{sender_name}}.', 'The team at Acme'),
});

const hookChange = shown.component('HookChangeInput', 'What is left out stays; an empty text clears it.', {
  ...newHook.shape,
  paused: optional(shown.boolean('True pauses the hook, false resumes it.', false)),
});

/** Null means that a field was left out, unless its text is empty. */
const readChange = (sent: JsonObject) => {
  const { label, design_id: design, template, signed_by: signedBy, paused } = parseValues(hookChange, sent);
  return {
    ...((label !== null || sent['label'] === '') && { label }),
    ...((design !== null || sent['design_id'] === '') && { design }),
    ...((template !== null || sent['template'] === '') && { template }),
    ...((signedBy !== null || sent['signed_by'] === '') && { signedBy }),
    ...(paused !== null && { paused }),
  };
};

/** For the operator: create, pause, resume and delete hooks, and read their call logs. */
export const operatorHookRoutes = (deps: OperatorHookRouteDeps): readonly Route[] => [
  operatorRoute('POST /organizations/:org/hooks', {
    id: 'createHook',
    summary: 'Create an inbound hook',
    body: whole(newHook),
    answers: {
      201: [
        'The hook, with its token and URL: they are shown only this once.',
        z.object({
          id: shown.idOf('hook').meta({ format: 'uuid' }),
          token: shown.text('The token in the address. It is shown only this once.', shown.examples.token),
          url: shown.url(
            'The address to which forms and shops post.',
            `https://cards.example/api/v1/hooks/${shown.examples.token}`,
          ),
        }),
      ],
    },
    handle: async (request, { label, design_id: design, template, signed_by: signedBy }) => {
      const { org: owner } = request.params;
      const command = newCommand(deps, byOperator(request), owner);
      const settings = { label, design, template, signedBy };
      const { id, token } = await makeHook(deps, owner, settings, command);
      return { body: { id, token, url: `${deps.baseUrl()}/api/v1/hooks/${token}` } };
    },
  }),
  operatorRoute('GET /organizations/:org/hooks', {
    id: 'listHooks',
    summary: 'List inbound hooks, newest first, as they are or as they were',
    query: pageAtQuery,
    answers: {
      200: [
        'One page of hooks. With `at`, the number of calls is not known.',
        listOf(listedHook, 'HookList', asOfField),
      ],
    },
    handle: async ({ params, query: { limit, starting_after: startingAfter, at } }) => {
      const moment = await momentFrom(deps.store, at, 'at');
      if (moment !== null) {
        const pasts = await listHooksAt(deps, params.org, moment, { startingAfter, limit });
        return pastPage(pasts, limit, byId, (was) => ({
          ...bodyOf({ ...was, ...unusedHook }),
          fire_count: null,
        }));
      }
      const rows = await listHooks(deps, params.org, { startingAfter, limit });
      return pageOf(rows, limit, byId, bodyOf);
    },
  }),
  operatorRoute(`GET /organizations/:org/hooks/:id/calls`, {
    id: 'listHookCalls',
    summary: 'List the calls of a hook with their results, newest first',
    query: pageQuery,
    description:
      'Calls of the last 30 days (or what `HOOK_CALL_KEEP` says), and the newest 1,000 however old they are. A deleted hook keeps its log, and gets no new calls.',
    answers: { 200: ['One page of calls.', listOf(callResponse, 'HookCallList')] },
    handle: async ({ params, query: { limit, starting_after: startingAfter } }) => {
      const calls = await listHookCalls(deps, params.org, params.id, { startingAfter, limit });
      return pageOf(calls, limit, byId, callBody);
    },
  }),
  operatorRoute(`PATCH /organizations/:org/hooks/:id`, {
    id: 'updateHook',
    summary: 'Change settings of a hook, pause or resume it',
    body: { schema: hookChange, read: readChange },
    answers: { 200: ['The hook. A repeat changes nothing.', hookResponse] },
    handle: async (request, change) => {
      const { org: owner } = request.params;
      if (Object.keys(change).length === 0)
        throw nothingToChange('`paused`, `label`, `design_id`, `template` or `signed_by`');
      const command = newCommand(deps, byOperator(request), owner);
      return { body: bodyOf(await updateHook(deps, owner, request.params.id, change, command)) };
    },
  }),
  operatorRoute(`DELETE /organizations/:org/hooks/:id`, {
    id: 'deleteHook',
    summary: 'Delete a hook forever',
    description: 'Calls of its URL get a 401 from now on. A repeat changes nothing.',
    answers: {
      200: [
        'The hook is deleted.',
        z.object({ id: shown.idOf('hook').meta({ format: 'uuid' }), deleted: shown.alwaysTrue }),
      ],
    },
    handle: async (request) => {
      const { org: owner, id } = request.params;
      await changeHook(deps, id, newCommand(deps, byOperator(request), owner), deleteHook(owner));
      return { body: { id, deleted: true } };
    },
  }),
];
