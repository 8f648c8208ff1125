import type { Delivery } from '../../../application/ports/delivery-log.js';
import type { DeliveryEndpoint, EndpointHealth } from '../../../application/ports/endpoint-gates.js';

/** How many rows one step of a large change touches: some 20 ms, for which other writes wait. */
export const rowsPerStep = 100;

/** A delivery as it is stored: its columns have the names of the fields. */
export type DeliveryRow = Omit<Delivery, 'position' | 'attempts' | 'traceparent'> & {
  readonly seq: number;
  readonly position: number;
  /** JSON. */
  readonly attempts: string;
  readonly endedAt: number | null;
  readonly traceparent: string | null;
};

/**
 * As the column `state` has it. `opening`: enabled, but rows whose window ended before are
 * still being dropped. `off`: disabled. `tripped`: failed so often that it is to be disabled.
 * `closed`: deleted.
 */
export type EndpointState = 'open' | 'opening' | 'off' | 'tripped' | 'closed';

export interface EndpointRow extends Omit<DeliveryEndpoint, 'secrets' | 'active'> {
  /** JSON. */
  readonly secrets: string;
  readonly state: EndpointState;
  readonly closedBecause: string | null;
  /** When it was last opened, disabled or deleted. */
  readonly changedAt: number;
  readonly failures: number;
  readonly consecutive: number;
  readonly lastSuccess: number | null;
  readonly lastFailure: string | null;
}

/** A delivery that a write has changed. */
export type ChangedDelivery = Pick<DeliveryRow, 'id' | 'endpoint'>;

export const deliveryOf = ({ seq: _seq, endedAt: _endedAt, ...row }: DeliveryRow): Delivery => {
  const { position, attempts, traceparent, ...delivery } = row;
  return {
    ...delivery,
    position: BigInt(position),
    attempts: JSON.parse(attempts) as Delivery['attempts'],
    ...(traceparent !== null && { traceparent }),
  };
};

export const endpointOf = ({ endpoint, org, url, version, enabledAt, state, secrets }: EndpointRow) => ({
  endpoint,
  org,
  url,
  version,
  enabledAt,
  active: state !== 'off' && state !== 'closed',
  secrets: JSON.parse(secrets) as DeliveryEndpoint['secrets'],
});

export const healthOf = (row: EndpointRow): EndpointHealth => ({
  failureCount: row.failures,
  consecutiveFailures: row.consecutive,
  lastSuccessAt: row.lastSuccess,
});

export interface RedriveInput {
  readonly org: string;
  readonly fromPosition: number;
  readonly toPosition: number;
  readonly fromTime: number;
  readonly toTime: number;
  readonly endpoint: string | null;
  readonly now: number;
  readonly expires: number;
  /** Where to go on: an event's time and a row. */
  readonly cursor: readonly [number, number] | null;
}

/** For `deadLettersQuery`. */
export const whichOf = (
  { org, fromPosition, toPosition, fromTime, toTime, endpoint, now, cursor }: RedriveInput,
  limit: number,
) => [org, ...(cursor ?? [fromTime, -1]), toTime, fromPosition, toPosition, endpoint, now, limit] as const;

/** The next dead letters of a redrive. The index has all that it reads. */
export const deadLettersQuery = `
  select seq, occurredAt, endpoint from deliveries indexed by deliveries_dead
  where org = ?1 and status = 'exhausted' and (occurredAt, seq) > (?2, ?3) and occurredAt <= ?4
    and position between ?5 and ?6 and endpoint = ifnull(?7, endpoint) and ifnull(endedAt, 0) <= ?8
  order by occurredAt, seq limit ?9`;

export type DeadLetter = Pick<DeliveryRow, 'seq' | 'occurredAt' | 'endpoint'>;
