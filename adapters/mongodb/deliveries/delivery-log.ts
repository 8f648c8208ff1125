import type { Filter } from 'mongodb';
import {
  deliveryStatuses,
  erasedReason,
  type DeliveryFilter,
  type DeliveryId,
  type DeliveryLog,
} from '../../../application/ports/delivery-log.js';
import { rowsToDrop } from '../../../application/webhooks/stored-endpoints.js';
import type { Milliseconds, OrganizationId, Uuid } from '../../../domain/ids.js';
import { publicEventTypes } from '../../../domain/public-events.js';
import { batchSize, chunks, findAll } from '../client/documents.js';
import { isInserted } from '../client/refusals.js';
import { deliveryEndpoints, earliestOf } from './delivery-endpoints.js';
import { dead } from '../client/indexes.js';
import { deliveryOf, deliveryRows, type DeliveryRow } from './delivery-rows.js';
import { deliveryWrites, type DeliveryParts } from './delivery-writes.js';
import { eraseRows, erasedCards } from './erased-cards.js';
import { mongoRedrives } from './redrives.js';

/** How long a request that inserts rows may take. */
const certainlyInserted: Milliseconds = 600_000;
/** Up to where rows are counted for the metrics. */
const maxCounted = 100_000;

const indexFor = ({ endpoint, status, type, card }: DeliveryFilter): string => {
  if (card !== null) return 'of_card';
  if (endpoint !== null) return 'of_endpoint';
  return status === null && type === null ? 'by_org' : 'by_kind';
};

const newestFirst = { seq: -1 } as const;

/** The rows of a page, newest first, that come after its last one. */
const before = (last: DeliveryRow | null): Filter<DeliveryRow> =>
  last === null ? {} : { seq: { $lt: last.seq } };

/** The rows of deliveries. Every change is one guarded update of one document. */
export const mongoDeliveryLog = (parts: DeliveryParts): DeliveryLog => {
  const { database, watch, attempts, keep, entropy } = parts;
  const endpoints = deliveryEndpoints(database);
  const writes = deliveryWrites(parts);
  const redrives = mongoRedrives(parts);

  /** The row of a delivery, of the organization if one is given. */
  const rowOf = async (id: string, org?: OrganizationId): Promise<DeliveryRow | null> => {
    const deliveries = await deliveryRows(database);
    return deliveries.findOne({
      _id: { $eq: id as DeliveryId },
      ...(org !== undefined && { org: { $eq: org } }),
    });
  };

  return {
    insert: async (rows) => {
      const added: DeliveryId[] = [];
      for (const some of chunks(rows)) added.push(...(await writes.insert(some)));
      await watch.announce(added);
      return added;
    },

    erase: async (card, now) => {
      await isInserted(erasedCards(database).insertOne({ _id: card, at: now }));
      const of = { card: { $eq: card } };
      while ((await writes.dropSome(of, erasedReason)) === batchSize);
      await eraseRows(database, [card]);
      await attempts.revokeClaims(of);
    },

    dropExpired: async (now, only) => {
      // Deliveries of a process that died before it could see that their card had been erased meanwhile.
      const recently = { at: { $gt: now - certainlyInserted } };
      await eraseRows(database, await erasedCards(database).distinct('_id', recently));
      let count = 0;
      for (const inactive of await endpoints.inactive(only)) {
        const toDrop = rowsToDrop(inactive, now);
        if (toDrop === null) continue;
        const { endpoint, state, changedAt } = inactive;
        const which = { endpoint: { $eq: endpoint }, expires: { $lte: toDrop.endingBy } };
        let dropped: number;
        do {
          dropped = await writes.dropSome(which, toDrop.reason);
          count += dropped;
        } while (dropped === batchSize);
        if (state === 'opening') await endpoints.open(endpoint);
        // Rows may still be inserted by a process that read the endpoint before it was deleted.
        if (state === 'closed' && changedAt + certainlyInserted <= now) await endpoints.markClean(endpoint);
      }
      return count;
    },

    removeEnded: async (before) => {
      const deliveries = await deliveryRows(database);
      // The server removes them too, if it can; this is for servers that can't.
      const ended = { removeAt: { $lte: new Date(before + keep) } };
      let count = 0;
      for (;;) {
        const rows = await findAll(deliveries, ended, { projection: { _id: 1 }, limit: batchSize });
        if (rows.length === 0) break;
        const found = { ...ended, _id: { $in: rows.map(({ _id }) => _id) } };
        count += (await deliveries.deleteMany(found)).deletedCount;
      }
      await endpoints.forget(before);
      await erasedCards(database).deleteMany({ at: { $lte: before } });
      return count;
    },

    continueRedrives: async () => {
      const endpoints = new Set<Uuid>();
      for (;;) {
        const open = await redrives.first();
        if (open === null) return endpoints;
        for (const endpoint of (await redrives.step(open, 'chunk')).counts.keys()) endpoints.add(endpoint);
      }
    },

    retry: async (org, id, now, expires) => {
      for (;;) {
        const row = await rowOf(id, org);
        if (row === null) return 'unknown';
        const { endpoint } = row;
        const known = await endpoints.find(endpoint);
        if (row.status === 'delivered' || known === null || known.state === 'closed') return 'refused';
        const done =
          row.status === 'pending'
            ? await writes.makeDue(row, now, row.expires <= now ? expires : row.expires)
            : await writes.revive(row, now, expires);
        if (!done) continue;
        await watch.announce([row._id]);
        return { endpoint };
      }
    },

    redrive: async (org, { from, to, endpoint }, now, expires) => {
      const redrive = {
        _id: entropy.uuid(),
        org,
        fromPosition: 'position' in from ? from.position : 0n,
        toTime: to !== null && 'time' in to ? to.time : null,
        toPosition: to !== null && 'position' in to ? to.position : null,
        endpoint,
        now,
        expires,
        occurredAt: 'time' in from ? from.time : 0,
        seq: -1,
      };
      return redrives.step(redrive, 'all');
    },

    replay: async (rows) => {
      const deliveries = await deliveryRows(database);
      let count = 0;
      for (const some of chunks(rows)) {
        const deleted = await endpoints.deleted(some.map(({ endpoint }) => endpoint));
        const open = some.filter(({ endpoint }) => !deleted.has(endpoint));
        const existing = await findAll(deliveries, { _id: { $in: open.map(({ id }) => id) } });
        const known = new Map(existing.map((row) => [row._id, row]));
        const added = await writes.insert(open.filter(({ id }) => !known.has(id)));
        const revived: DeliveryId[] = [];
        for (const { id, due, expires, allowed } of open) {
          let row = known.get(id) ?? null;
          while (row?.status === 'exhausted' || row?.status === 'dropped') {
            if (await writes.revive(row, due, expires, allowed)) {
              revived.push(id);
              break;
            }
            row = await rowOf(id);
          }
        }
        await watch.announce([...added, ...revived]);
        count += added.length + revived.length;
      }
      return count;
    },

    page: async (org, { endpoint, status, type, card }, { startingAfter, limit }) => {
      const deliveries = await deliveryRows(database);
      const last = startingAfter === null ? null : await rowOf(startingAfter, org);
      if (startingAfter !== null && last === null) return null;
      const wanted = {
        org: { $eq: org },
        ...(endpoint !== null && { endpoint: { $eq: endpoint as Uuid } }),
        ...(card !== null && { card: { $eq: card } }),
      };
      // Whatever is not asked for is listed, so that an index yields the rows in order for each of them.
      const kind =
        card === null && endpoint === null && status === null && type === null
          ? {}
          : {
              status: { $in: status === null ? [...deliveryStatuses] : [status] },
              type: { $in: type === null ? [...publicEventTypes] : [type] },
            };
      if (limit < 1) return [];
      const hint = indexFor({ endpoint, status, type, card });
      const which = { ...wanted, ...kind, ...before(last) };
      return (await findAll(deliveries, which, { hint, sort: newestFirst, limit })).map(deliveryOf);
    },

    deadLetters: async ({ startingAfter, limit }) => {
      const deliveries = await deliveryRows(database);
      const last = startingAfter === null ? null : await rowOf(startingAfter);
      if (startingAfter !== null && last === null) return null;
      const order = { hint: 'all_dead_letters', sort: newestFirst, limit };
      return (await findAll(deliveries, { ...dead, ...before(last) }, order)).map(deliveryOf);
    },

    get: async (org, id) => {
      const row = await rowOf(id, org);
      return row && deliveryOf(row);
    },

    depth: async (now) => {
      const deliveries = await deliveryRows(database);
      const disabled = await endpoints.allDisabled();
      const counting = { limit: maxCounted, hint: 'by_status' };
      const [pending, deadLetters, first] = await Promise.all([
        deliveries.countDocuments({ status: 'pending', endpoint: { $nin: [...disabled] } }, counting),
        deliveries.countDocuments({ status: 'exhausted' }, counting),
        earliestOf(database),
      ]);
      const due = [...first.values()].filter((delivery) => delivery.due <= now);
      const oldestDue = new Map(due.toSorted((a, b) => b.due - a.due).map((each) => [each.org, each.due]));
      return { pending, deadLetters, oldestDue, disabledEndpoints: disabled.length };
    },

    watch: (org, signal) => watch.watch(org, signal),
  };
};
