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

/**
 * Starts the rebuilds that were requested, until the signal aborts. A request is deleted when its rebuild has
 * become active: if this projector dies before, the next one starts the rebuild again. Never rejects.
 */
export const followRebuildRequests = async (
  { database, clock, rebuild, status, onError }: RebuildRequestsOptions,
  signal: AbortSignal,
): Promise<void> => {
  const underWay = new Map<string, { readonly request: string; seen: boolean }>();
  await untilAborted({ clock, signal, pause: pollInterval, onError: onError }, async () => {
    const requests = database.collection<RequestRow>('rebuild_requests');
    for (const { _id, request } of await requests.find().toArray()) {
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
