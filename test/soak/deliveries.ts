import { card } from '../../domain/card.js';
import { parseEvent, type LoggedEvent } from '../../domain/events.js';
import { categoryOf } from '../../domain/ids.js';
import { publicEventOf } from '../../domain/public-events.js';
import type { Clients } from '../crash/client.js';
import type { Receiver } from '../support/http/receiver.js';

/** One event on its way to the receiver, as the operator sees it. */
export interface DeliveryRow {
  readonly id: string;
  readonly event: string;
  readonly status: string;
}

/** Every delivery of the organization, newest first. */
export const deliveriesOf = async (url: string, clients: Clients): Promise<readonly DeliveryRow[]> => {
  const { id, operatorToken } = clients.organization;
  const rows: DeliveryRow[] = [];
  for (let after: string | null = ''; after !== null;) {
    const response: Response = await fetch(
      `${url}/operator/v1/organizations/${id}/deliveries?limit=200&starting_after=${after}`,
      { headers: { authorization: `Bearer ${operatorToken}` } },
    );
    const page = (await response.json()) as {
      readonly data: readonly DeliveryRow[];
      readonly next_cursor: string | null;
    };
    rows.push(...page.data);
    after = page.next_cursor;
  }
  return rows;
};

/** How many events of the log go to an endpoint that gets all of them. */
const publicEventsIn = (log: readonly LoggedEvent[]): number =>
  log.filter(
    (logged) =>
      categoryOf(logged.stream) === 'card' &&
      publicEventOf(parseEvent(card, logged), logged.metadata.actor) !== null,
  ).length;

/** 14, 15: one delivery per event, and all its attempts with the same id and bytes. */
export const deliveryViolations = (
  rows: readonly DeliveryRow[],
  { received }: Receiver,
): readonly string[] => {
  const events = rows.map(({ event }) => event);
  const doubled = events.filter((event, index) => events.indexOf(event) !== index);
  const bodies = new Map<string, string>();
  const changed = received.filter(({ headers, body }) => {
    const id = String(headers['service-delivery']);
    const first = bodies.get(id) ?? body;
    bodies.set(id, first);
    return first !== body;
  });
  return [
    ...doubled.map((event) => `14: ${event} has more than one delivery`),
    ...changed.map(
      ({ headers }) => `15: an attempt of ${String(headers['service-delivery'])} has other bytes`,
    ),
  ];
};

/**
 * What is still missing until every event was delivered; violations of rule 14 once everything is at rest.
 */
export const undelivered = (
  rows: readonly DeliveryRow[],
  log: readonly LoggedEvent[],
  { received }: Receiver,
): readonly string[] => {
  const wanted = publicEventsIn(log);
  const came = new Set(received.map(({ headers }) => headers['service-delivery']));
  return [
    ...(rows.length === wanted ? [] : [`14: ${wanted} public events have ${rows.length} deliveries`]),
    ...rows.flatMap(({ id, status }) =>
      status === 'delivered' && came.has(id) ? [] : [`14: the delivery ${id} is ${status}`],
    ),
  ];
};
