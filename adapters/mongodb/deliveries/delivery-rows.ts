import type { Collection, UpdateFilter } from 'mongodb';
import type {
  Delivery,
  DeliveryChange,
  DeliveryId,
  NewDelivery,
} from '../../../application/ports/delivery-log.js';
import type { DeliveryEndpoint } from '../../../application/ports/endpoint-gates.js';
import type { StoredEndpoint } from '../../../application/webhooks/stored-endpoints.js';
import { erasedPayload } from '../../../domain/delivery-payload.js';
import type { Milliseconds, Uuid } from '../../../domain/ids.js';
import type { MongoDatabase } from '../client/database.js';

/** A note about an attempt that its endpoint may not have counted yet. */
export interface Uncounted {
  /**
   * The delivery and the claim: a delivery that was removed may be made again, and its attempts counted from
   * 1.
   */
  readonly attempt: string;
  /** The claim that it was made under. */
  readonly claim: string;
  readonly at: Milliseconds;
  /** Why it failed, in plain words; null if it succeeded. */
  readonly failure: string | null;
  readonly enabledAt: number;
  readonly disableAfter: number;
}

/** A delivery as it is stored. `traceparent` is absent if there is none. */
export type DeliveryRow = Omit<Delivery, 'id'> & {
  readonly _id: DeliveryId;
  /** Its place in the order of insertion. */
  readonly seq: number;
  /** Its card was erased: neither this body nor the bodies of attempts hold anything personal ever again. */
  readonly erased: boolean;
  /** When the server may remove it; null while it is pending. */
  readonly removeAt: Date | null;
  readonly claim: string | null;
  /** When the claim ends, unless it is recorded or released before. */
  readonly claimedUntil: Milliseconds;
  readonly uncounted?: Uncounted;
  /** Grows by one with every change. */
  readonly revision: number;
  readonly change: DeliveryChange['kind'];
  readonly changedAt: Milliseconds;
};

/** An endpoint as it is stored. */
export interface EndpointRow extends Omit<StoredEndpoint, 'endpoint'> {
  readonly _id: Uuid;
  /** Deleted, and nothing is pending for it. */
  readonly isClean?: boolean;
  /** The attempts that were counted last, so that none is counted twice. */
  readonly lastCount?: { readonly id: string; readonly attempts: readonly string[] };
}

/**
 * The deliveries, with their indexes and the endpoints'. Throws a MongoError while the server is known to be
 * away.
 */
export const deliveryRows = async (database: MongoDatabase): Promise<Collection<DeliveryRow>> => {
  await database.indexed<EndpointRow>('delivery_targets');
  return database.indexed<DeliveryRow>('deliveries');
};

export const endpointRows = (database: MongoDatabase): Collection<EndpointRow> =>
  database.collection<EndpointRow>('delivery_targets');

export const unclaimed = { claim: null, claimedUntil: 0 } as const;

/** An update that watchers are shown. */
export const changed = (
  change: DeliveryChange['kind'],
  set: Partial<DeliveryRow>,
  now: Milliseconds,
): UpdateFilter<DeliveryRow> => ({
  $set: { ...set, change, changedAt: now },
  $inc: { revision: 1 },
});

export const newDeliveryRow = (
  delivery: NewDelivery,
  seq: number,
  dropReason: string | null,
  erased: boolean,
  now: Milliseconds,
  keep: Milliseconds,
): DeliveryRow => {
  const { id, due, body, ...fields } = delivery;
  return {
    ...fields,
    _id: id,
    seq,
    body: erased ? erasedPayload(body) : body,
    erased,
    dropReason,
    status: dropReason === null ? 'pending' : 'dropped',
    attempts: [],
    made: 0,
    due: dropReason === null ? due : null,
    removeAt: dropReason === null ? null : new Date(fields.occurredAt + keep),
    claim: null,
    claimedUntil: 0,
    revision: 0,
    change: 'made',
    changedAt: now,
  };
};

/** Without the fields that only this store needs. */
export const deliveryOf = ({ _id, ...row }: DeliveryRow): Delivery => {
  const {
    seq: _seq,
    erased: _erased,
    removeAt: _removeAt,
    claim: _claim,
    claimedUntil: _until,
    ...more
  } = row;
  const { uncounted: _uncounted, revision: _revision, change: _change, changedAt: _at, ...delivery } = more;
  return { ...delivery, id: _id };
};

export const storedEndpointOf = ({ _id, ...row }: EndpointRow): StoredEndpoint => ({ ...row, endpoint: _id });

export const newEndpointRow = ({ endpoint, secrets, active, ...fields }: DeliveryEndpoint): EndpointRow => ({
  ...fields,
  _id: endpoint,
  secrets: JSON.stringify(secrets),
  state: active ? 'open' : 'off',
  closedBecause: null,
  changedAt: 0,
  failures: 0,
  consecutive: 0,
  lastSuccess: null,
  lastFailure: '',
});
