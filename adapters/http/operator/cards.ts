import { OrganizationId } from '../../../domain/ids.js';
import { z } from 'zod';
import { Actor } from '../../../domain/events.js';
import { changeCard, type ChangeCardDeps } from '../../../application/cards/change-card.js';
import { newCommand, OutcomeUnknown } from '../../../application/writing/execute.js';
import { listAllCards, codeFrom } from '../../../application/cards/read-cards.js';
import { namedActors } from '../../../application/access/actor-labels.js';
import { asOf } from '../../../application/history/as-of.js';
import {
  cardHistory,
  cardForOperator,
  type CardForOperator,
} from '../../../application/cards/card-record.js';
import type { ReadDeps } from '../../../application/projecting/read-your-writes.js';
import {
  fail,
  hold,
  queue,
  release,
  reportedStatuses,
  reportStep,
  steps,
  type Card,
  type CardEvent,
  cancel,
} from '../../../domain/card.js';
import { readLine } from '../../../domain/text.js';
import * as api from '../api/cards.js';
import { asOfBody, asOfField, atQuery, momentFrom } from '../api/as-of.js';
import { annotations, optionalText, pageCursor, reasonFacts, text } from '../schema/fields.js';
import * as shown from '../schema/shown.js';
import { whole } from '../schema/read.js';
import { byOperator, floorAccess, operatorRoute, type OperatorRequest } from './route.js';
import { instant, listOf, pageOf, timestamp, wholeList } from '../api/responses.js';
import type { RouteResponse, Route } from '../server/route.js';

export interface OperatorCardDeps extends ChangeCardDeps, ReadDeps {
  readonly baseUrl: () => string;
}

const cardForOperatorSchema = shown.component('OperatorsCard', 'A card, as operators see it.', {
  ...api.wholeCard.shape,
  organization: shown.organizationId,
  message: shown.textOrNull(
    'Null once the personal data of the card was erased.',
    'Thank you for everything, Ada.',
  ),
  design_id: shown.text('The design of the card.', shown.examples.uuid),
  source: z.enum(['api', 'hook', 'console']).describe('Through what the card was sent.'),
});

const allCardsRow = shown.component('OperatorsCardRow', 'A card in a list of operators.', {
  ...api.cardRow.shape,
  held_reason: api.wholeCard.shape.held_reason,
  organization: shown.organizationId,
});
const allCardsQuery = api.cardListQuery.extend({
  organization: optionalText('Only cards of the organization with this id.', shown.examples.organization),
  starting_after: pageCursor(shown.examples.card),
});

const historyRow = z.object({
  position: shown.position,
  revision: shown.text('Revision in the stream of the card, from 0.', '3'),
  id: shown.idOf('event'),
  type: shown.eventType,
  at: instant('When the event occurred.'),
  actor: shown.nested('Who did it.', {
    kind: Actor.shape.kind.describe('The kind of actor.'),
    id: shown.textOrNull(
      'For an operator the id of the key, or `root` for the operator token. Null for the service itself.',
      shown.examples.uuid,
    ),
    label: shown.textOrNull('What the key or the hook was called then.', 'Shop'),
  }),
  request_id: shown.textOrNull(
    'The request that did it; null for the work of the service itself.',
    shown.examples.request,
  ),
  data: z.looseObject({}).meta(shown.words('What happened.', {})),
  hash: shown.text('SHA-256 that chains this event to the one before it in its stream.', shown.examples.hash),
  verified: shown.boolean(
    'Always true: the hash is that of the event. A history that fails this is not shown.',
  ),
});

const wholeBody = ({ card, order, message }: CardForOperator, baseUrl: string) => ({
  ...api.cardBody(card, baseUrl),
  organization: order.org,
  message,
  design_id: order.design.id,
  source: order.source.kind,
});

const ofCard = {
  access: floorAccess,
  params: api.cardCodeParam,
  undecodable: 'card_not_found',
} as const;
export const reasonLike = (example: string) =>
  z.object({ reason: text('The reason, in your words.', example, reasonFacts) });
export const withReason = reasonLike('The apartment number is missing.');
export const stepReport = z.object({
  status: z.enum(reportedStatuses).describe('What happened to the step.'),
  machine: optionalText('The machine that does the step.', 'pen-3', { maxLength: 200, rule: readLine }),
});
const stepParams = z.object({
  card_code: api.pathCode,
  step: z.enum(steps).meta(annotations({ code: 'not_found', description: 'The step of production.' })),
});

/** For the operator: every card of every organization, and its production. */
export const operatorCardRoutes = (deps: OperatorCardDeps): readonly Route[] => {
  const apply = async (
    request: OperatorRequest & { readonly params: { readonly card_code: string } },
    decide: (state: Card) => CardEvent[],
  ): Promise<RouteResponse> => {
    const code = codeFrom(request.params.card_code);
    const command = newCommand(deps, byOperator(request), null);
    await changeCard(deps, { code, org: null }, command, decide);
    const { was } = await cardForOperator(deps, code, null).catch(() => {
      // The change is made: a failure now would deny it.
      throw new OutcomeUnknown(command.id);
    });
    return { body: wholeBody(was, deps.baseUrl()) };
  };
  const changing = {
    ...ofCard,
    answers: { 200: cardForOperatorSchema },
    errors: ['invalid_transition'],
  } as const;

  return [
    operatorRoute('GET /cards', {
      id: 'listAllCards',
      summary: 'List the cards of all organizations: those that need a person first, then the newest',
      access: floorAccess,
      query: allCardsQuery,
      answers: { 200: listOf(allCardsRow, 'OperatorsCardList') },
      handle: async ({ query }) => {
        const listed = await listAllCards(deps.readModels, {
          limit: query.limit,
          status: query.status === null ? null : api.statusFrom(query.status),
          reference: query.reference,
          org: query.organization === null ? null : OrganizationId.parse(query.organization),
          startingAfter: query.starting_after,
        });
        return pageOf(
          listed,
          query.limit,
          ({ cursor }) => cursor,
          ({ card }) => ({ ...api.cardRowBody(card), held_reason: card.heldReason, organization: card.org }),
        );
      },
    }),
    operatorRoute('GET /cards/:card_code', {
      id: 'getOperatorsCard',
      summary: 'Look up any card, as it is or as it was',
      ...ofCard,
      query: atQuery,
      answers: { 200: cardForOperatorSchema.extend(asOfField) },
      handle: async ({ params, query }) => {
        const code = codeFrom(params.card_code);
        const moment = await momentFrom(deps.store, query.at, 'at');
        const past = await cardForOperator(deps, code, moment);
        const body = { ...wholeBody(past.was, deps.baseUrl()), ...(moment && asOfBody(past.asOf)) };
        return { body };
      },
    }),
    operatorRoute(`GET /cards/:card_code/history`, {
      id: 'getCardHistory',
      summary: 'List the events of a card, oldest first: all of them, or those up to a moment',
      ...ofCard,
      query: atQuery,
      answers: { 200: listOf(historyRow, 'CardHistory', asOfField) },
      handle: async ({ params, query }) => {
        const code = codeFrom(params.card_code);
        const moment = await momentFrom(deps.store, query.at, 'at');
        const events = await cardHistory(deps, code, moment);
        const last = events.at(-1);
        const actors = await namedActors(deps.streams, events);
        const data = events.map(({ position, revision, id, type, metadata, data: facts }, index) => ({
          position: position?.toString() ?? null,
          revision: String(revision),
          id,
          type,
          at: timestamp(metadata.occurredAt),
          actor: actors[index],
          request_id: metadata.requestId,
          data: facts,
          hash: metadata.hash,
          verified: true,
        }));
        const body = { ...wholeList(data), ...(moment && last !== undefined && asOfBody(asOf(last))) };
        return { body };
      },
    }),
    operatorRoute('POST /cards/:card_code/release', {
      id: 'releaseCard',
      summary: 'Release a held card; one credit is charged',
      ...changing,
      errors: [...changing.errors, 'no_credits'],
      handle: (request) => apply(request, release),
    }),
    operatorRoute('POST /cards/:card_code/queue', {
      id: 'queueCard',
      summary: 'Queue a card for production',
      ...changing,
      handle: (request) => apply(request, queue),
    }),
    operatorRoute('POST /cards/:card_code/hold', {
      id: 'holdCard',
      summary: 'Hold a card; its credit comes back',
      ...changing,
      body: whole(withReason),
      handle: (request, { reason }) => apply(request, hold(reason)),
    }),
    operatorRoute('POST /cards/:card_code/fail', {
      id: 'failCard',
      summary: 'Fail a card in production; its credit comes back',
      ...changing,
      body: whole(reasonLike('The pen tore the card.')),
      handle: (request, { reason }) => apply(request, fail(reason)),
    }),
    operatorRoute('POST /cards/:card_code/steps/:step', {
      id: 'reportStep',
      summary: 'Report a production step',
      ...changing,
      params: stepParams,
      body: whole(stepReport),
      handle: (request, { status, machine }) =>
        apply(request, reportStep(request.params.step, status, machine)),
    }),
    operatorRoute(`POST /cards/:card_code/cancel`, {
      id: 'cancelCardAsOperator',
      summary: 'Cancel a card, without a webhook',
      ...ofCard,
      answers: { 200: api.cancelledCard },
      errors: ['too_late_to_cancel'],
      handle: async (request) => {
        const code = codeFrom(request.params.card_code);
        const command = newCommand(deps, byOperator(request), null);
        const { creditsReturned } = await changeCard(deps, { code, org: null }, command, cancel);
        return { body: api.cancelledBody(code, creditsReturned) };
      },
    }),
  ];
};
