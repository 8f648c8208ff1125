import { ObjectId } from 'mongodb';
import type { Clock } from '../../../application/ports/system.js';
import type { ProjectorStatus } from '../../../application/projecting/projection-board.js';
import { untilAborted } from '../../../application/timing/until-aborted.js';
import type { Milliseconds } from '../../../domain/ids.js';
import type { MongoDatabase } from '../client/database.js';

interface RequestRow {
  /** The projection's name. */
  readonly _id: string;
  /** Another one for every request: a request during a rebuild asks for another rebuild. */
  readonly request: string;
}

/** Asks the projector, in whichever process it runs, to rebuild a projection. */
export const requestRebuild = async (database: MongoDatabase, name: string): Promise<void> => {
  await database
    .collection<RequestRow>('rebuild_requests')
    .updateOne({ _id: { $eq: name } }, { $set: { request: new ObjectId().toHexString() } }, { upsert: true });
};

export interface RebuildRequestsOptions {
  readonly database: MongoDatabase;
  readonly clock: Clock;
  /** Starts a rebuild; false if there is no projection of that name. */
  readonly rebuild: (name: string) => boolean;
  readonly status: () => ProjectorStatus;
  readonly onError: (error: unknown) => void;
}

const pollInterval: Milliseconds = 1_000;
/** While one is under way: shorter than an activation takes, so that no rebuild is over unseen. */
const pollWhileBusy: Milliseconds = 250;

/**
 * Starts the rebuilds that were requested, until the signal aborts. A request is deleted when its rebuild has
 * become active: if this projector dies before, the next one starts the rebuild again. Never rejects.
 */
export const followRebuildRequests = async (
  { database, clock, rebuild, status, onError }: RebuildRequestsOptions,
  signal: AbortSignal,
): Promise<void> => {
  const underWay = new Map<string, { readonly request: string; seen: boolean }>();
  let lookedAt = -Infinity;
  await untilAborted({ clock, signal, pause: pollWhileBusy, onError }, async () => {
    const now = clock.monotonic();
    if (underWay.size === 0 && now - lookedAt < pollInterval) return;
    lookedAt = now;
    const requests = database.collection<RequestRow>('rebuild_requests');
    const rows = await requests.find().toArray();
    for (const name of underWay.keys()) if (!rows.some(({ _id }) => _id === name)) underWay.delete(name);
    for (const { _id, request } of rows) {
      const begun = underWay.get(_id);
      if (begun === undefined || begun.request !== request) {
        if (rebuild(_id)) underWay.set(_id, { request, seen: false });
        else await requests.deleteOne({ _id: { $eq: _id } });
        continue;
      }
      const rebuilding = status().projections.some(
        (projection) => projection.name === _id && projection.rebuilding !== null,
      );
      if (rebuilding) begun.seen = true;
      else if (begun.seen) {
        await requests.deleteOne({ _id: { $eq: _id }, request });
        underWay.delete(_id);
      }
    }
  });
};
