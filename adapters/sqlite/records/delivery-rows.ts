import type { Delivery } from '../../../application/ports/delivery-log.js';

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
