import type { Filter } from 'mongodb';
import type { Redriven } from '../../../application/ports/delivery-log.js';
import type { Milliseconds, OrganizationId, Uuid } from '../../../domain/ids.js';
import { batchSize, findAll } from '../client/documents.js';
import { deliveryEndpoints } from './delivery-endpoints.js';
import { deliveryRows, type DeliveryRow } from './delivery-rows.js';
import { deliveryWrites, type DeliveryParts } from './delivery-writes.js';

/** A redrive that is not finished. Times and positions are inclusive; null means no bound. */
export interface OpenRedrive {
  readonly _id: string;
  readonly org: OrganizationId;
  readonly fromPosition: bigint;
  readonly toTime: Milliseconds | null;
  readonly toPosition: bigint | null;
  readonly endpoint: string | null;
  readonly now: Milliseconds;
  readonly expires: Milliseconds;
  /** The last dead letter that was looked at. */
  readonly occurredAt: Milliseconds;
  readonly seq: number;
}

const inOrder = { occurredAt: 1, seq: 1 } as const;

const count = (counts: Map<Uuid, number>, { endpoint }: Pick<DeliveryRow, 'endpoint'>): void =>
  void counts.set(endpoint, (counts.get(endpoint) ?? 0) + 1);

/** Redrives, one chunk of dead letters at a time. The rest is stored, so that any process can continue. */
export const mongoRedrives = (parts: DeliveryParts) => {
  const { database, watch, keep } = parts;
  const endpoints = deliveryEndpoints(database);
  const writes = deliveryWrites(parts);
  const open = () => database.collection<OpenRedrive>('redrives');

  /** The dead letters that are still to be made due, without newer ones. */
  const which = (redrive: OpenRedrive): Filter<DeliveryRow> => {
    const { org, occurredAt, seq, toTime, fromPosition, toPosition, endpoint, now } = redrive;
    return {
      org: { $eq: org },
      status: 'exhausted',
      $or: [{ occurredAt: { $gt: occurredAt } }, { occurredAt: { $eq: occurredAt }, seq: { $gt: seq } }],
      ...(toTime !== null && { $and: [{ occurredAt: { $lte: toTime } }] }),
      position: { $gte: fromPosition, ...(toPosition !== null && { $lte: toPosition }) },
      ...(endpoint !== null && { endpoint: { $eq: endpoint as Uuid } }),
      removeAt: { $lte: new Date(now + keep) },
    };
  };

  /** How many dead letters it will make due, by endpoint. */
  const countDue = async (redrive: OpenRedrive): Promise<Map<Uuid, number>> => {
    const counts = new Map<Uuid, number>();
    const options = { projection: { endpoint: 1 }, sort: inOrder };
    const rows = (await deliveryRows(database)).find(which(redrive), options);
    for await (const row of rows) count(counts, row);
    const known = await endpoints.gates.addresses([...counts.keys()]);
    for (const endpoint of counts.keys()) if (!known.has(endpoint)) counts.delete(endpoint);
    return counts;
  };

  return {
    first: (): Promise<OpenRedrive | null> => open().findOne({}),

    /**
     * Does one chunk. Two processes that do the same change nothing twice. `counts`: how many became due, by
     * endpoint; of `all`, how many will.
     */
    step: async (redrive: OpenRedrive, counting: 'chunk' | 'all'): Promise<Redriven> => {
      const { now, expires } = redrive;
      const deliveries = await deliveryRows(database);
      const rows = await findAll(deliveries, which(redrive), { sort: inOrder, limit: batchSize });
      const known = await endpoints.gates.addresses(rows.map(({ endpoint }) => endpoint));
      const mine = rows.filter(({ endpoint }) => known.has(endpoint));
      const changed = await Promise.all(mine.map((row) => writes.revive(row, now, expires)));
      const revived = mine.filter((_, index) => changed[index] === true);
      await watch.announce(revived.map(({ _id }) => _id));
      const last = rows.at(-1);
      const rest =
        last === undefined || rows.length < batchSize
          ? null
          : { ...redrive, occurredAt: last.occurredAt, seq: last.seq };
      // Before another process can go on with it.
      const counts = rest === null || counting === 'chunk' ? new Map<Uuid, number>() : await countDue(rest);
      for (const row of revived) count(counts, row);
      if (rest === null) await open().deleteOne({ _id: { $eq: redrive._id } });
      else await open().replaceOne({ _id: { $eq: redrive._id } }, rest, { upsert: true });
      return { counts, more: rest !== null };
    },
  };
};
