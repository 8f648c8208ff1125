import { z } from 'zod';
import {
  optional,
  optionalChoice,
  optionalText,
  pageLimit,
  annotations,
  text,
} from '../../../adapters/http/schema/fields.js';
import { whole } from '../../../adapters/http/schema/read.js';
import { route, type Route } from '../../../adapters/http/server/route.js';
import { OutcomeUnknown } from '../../../application/writing/execute.js';
import { IdempotencyUnavailable } from '../../../application/ports/idempotency-store.js';
import { DomainError, type ErrorCode } from '../../../domain/errors.js';
import { CommandId } from '../../../domain/ids.js';
import { limitedText } from '../../../domain/text.js';

const shortMessage = limitedText(20, () => new DomainError('message_too_long', 'At most 20 characters.'));

export const cardBody = z.object({
  recipient: z
    .object({
      name: text(''),
      line1: text(''),
      line2: optionalText(''),
      state: text('', undefined, { pattern: /^[A-Za-z]{2}$/, hint: 'a two-letter US state code' }),
      zip: text('', undefined, { pattern: /^\d{5}$/, hint: 'five digits, as a string' }),
    })
    .meta(
      annotations({
        code: 'invalid_recipient',
        hint: 'an object with one address: one request sends one card',
      }),
    ),
  message: text('', undefined, { code: 'missing_message', rule: shortMessage }),
  arrive_on: optionalText('', undefined, {
    pattern: /^\d{4}-\d\d-\d\d$/,
    code: 'invalid_date',
    blank: 'refused',
    hint: 'a date like 2026-05-04',
  }),
  reference: optionalText('', undefined, { number: 'text' }),
  events: optional(
    z.array(z.enum(['card.created', 'card.mailed'])).meta(annotations({ code: 'invalid_events' })),
  ),
  count: optional(z.int().min(1).max(9)),
});

const echo = z.object({ echo: z.looseObject({}) });
export const operation = (id: string, errors: readonly ErrorCode[] = []) => ({
  id,
  summary: `About ${id}`,
  tags: ['cards'],
  responses: { 200: { description: 'What was sent.', schema: echo } },
  errors,
});

/** What the handlers of the test table did, for tests that check that nothing was done. */
export interface Traces {
  readonly calls: string[];
  readonly aborted: string[];
  release: () => void;
}

/** A small table with every kind of access and every special rule. */
export const testRoutes = (traces: Traces): readonly Route[] => {
  const code = z.object({ code: text('', undefined, { code: 'missing_id' }) });
  return [
    route('GET /api/v1/cards', {
      access: { kind: 'key', scope: 'cards:read' },
      query: z.object({
        limit: pageLimit,
        status: optionalChoice(['pending', 'posted'], ''),
        reference: optionalText(''),
      }),
      ...operation('listCards'),
      handle: ({ query }) => Promise.resolve({ status: 200, body: { echo: query } }),
    }),
    route('POST /api/v1/cards', {
      access: { kind: 'key', scope: 'cards:send' },
      body: whole(cardBody),
      failure: 'order_failed',
      ...operation('sendCard', ['no_credits']),
      handle: (request, read) => {
        traces.calls.push('sendCard');
        return Promise.resolve({
          status: 201,
          body: {
            echo: {
              raw: request.sent,
              read,
              keys: request.header('idempotency-key'),
            },
          },
        });
      },
    }),
    route('GET /api/v1/cards/:code', {
      access: { kind: 'key', scope: 'cards:read' },
      params: code,
      undecodable: 'card_not_found',
      blank: true,
      ...operation('getCard'),
      handle: ({ params }) => Promise.resolve({ status: 200, body: { echo: params } }),
    }),
    route('DELETE /api/v1/cards/:code', {
      access: { kind: 'key', scope: 'cards:send' },
      params: code,
      failure: 'read_failed',
      undecodable: 'card_not_found',
      blank: true,
      ...operation('cancelCard'),
      handle: ({ params }) => Promise.resolve({ status: 200, body: { echo: params } }),
    }),
    route('DELETE /api/v1/webhooks/:id', {
      access: { kind: 'key', scope: 'webhooks:manage' },
      params: z.object({ id: text('') }),
      undecodable: 'as-is',
      ...operation('deleteWebhook'),
      handle: ({ params }) => Promise.resolve({ status: 200, body: { echo: params } }),
    }),
    route('GET /api/v1/account', {
      access: { kind: 'key', scope: null },
      ...operation('getAccount'),
      handle: ({ caller }) => Promise.resolve({ status: 200, body: { echo: { label: caller.label } } }),
    }),
    route('POST /api/v1/hooks/:token', {
      access: { kind: 'hook' },
      params: z.object({ token: text('') }),
      body: whole(z.looseObject({})),
      failure: 'order_failed',
      ...operation('fireHook'),
      handle: async (request) => {
        const { token } = request.params;
        if (token === 'paused') throw new DomainError('hook_disabled', 'This hook is paused.');
        if (token !== 'good') throw new DomainError('invalid_hook', 'There is no such hook.');
        return { status: 201, body: { echo: await request.readBody() } };
      },
    }),
    route('POST /operator/v1/organizations', {
      access: { kind: 'operator', scope: 'operator:office' },
      body: whole(z.object({ name: text('') })),
      failure: 'create_failed',
      ...operation('createOrganization'),
      handle: (_, body) => Promise.resolve({ status: 201, body: { echo: body } }),
    }),
    route('POST /operator/v1/cards/:code/queue', {
      access: { kind: 'operator', scope: 'operator:office' },
      params: z.object({ code: text('') }),
      failure: 'update_failed',
      ...operation('queueCard'),
      handle: ({ params }) => Promise.resolve({ status: 200, body: { echo: params } }),
    }),
    route('GET /operator/v1/events', {
      id: 'streamEvents',
      summary: 'A stream',
      access: { kind: 'operator', scope: 'operator:office' },
      query: z.object({ count: optionalText(''), fail: optionalText('') }),
      tags: ['operator'],
      responses: { 200: { description: 'Events.', schema: null, type: 'text/event-stream' } },
      handle: ({ query, signal }) => {
        const numbers = async function* () {
          for (let at = 1; at <= Number(query.count ?? 0); at++)
            yield { id: `${at}`, event: 'number', data: { at, text: 'two\nlines' } };
          if (query.fail !== null) throw new Error('the source broke');
          if (query.count === null) {
            yield { data: 'first' };
            await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
            traces.aborted.push('stream');
          }
        };
        return Promise.resolve({ status: 200 as const, events: numbers() });
      },
    }),
    route('GET /api/v1/fails/:how', {
      access: { kind: 'public' },
      params: z.object({ how: text('') }),
      ...operation('fail'),
      handle: async ({ params, signal }) => {
        if (params.how === 'outcome') throw new OutcomeUnknown(CommandId.parse('a-command'));
        if (params.how === 'idempotency') throw new IdempotencyUnavailable('away');
        if (params.how === 'progress') throw new DomainError('request_in_progress', 'Still running.');
        if (params.how === 'credits') throw new DomainError('no_credits', 'Add credits.');
        if (params.how === 'secret') throw new Error('password=hunter2 at /srv/db');
        traces.calls.push(params.how);
        signal.addEventListener('abort', () => traces.aborted.push(params.how));
        await new Promise<void>((resolve) => (traces.release = resolve));
        return { status: 200, body: { object: 'done' } };
      },
    }),
  ];
};

export const newTraces = (): Traces => ({ calls: [], aborted: [], release: () => undefined });
