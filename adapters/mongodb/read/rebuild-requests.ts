import { ObjectId } from 'mongodb';
import type { Clock } from '../../../application/ports/system.js';
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
  /** Starts a rebuild, and resolves once it is active; null if there is no projection of that name. */
  readonly rebuild: (name: string) => Promise<void> | null;
  /** Whether another release may have projections that this one lacks. */
  readonly areSeveral: () => boolean;
  readonly onError: (error: unknown) => void;
}

const pollInterval: Milliseconds = 1_000;

/**
 * Starts the rebuilds that were requested, until the signal aborts. A request is deleted when its rebuild has
 * become active: if this projector dies before, the next one starts the rebuild again. Never rejects.
 */
export const followRebuildRequests = async (
  { database, clock, rebuild, areSeveral, onError }: RebuildRequestsOptions,
  signal: AbortSignal,
): Promise<void> => {
  const underWay = new Map<string, { readonly request: string; isDone: boolean }>();
  await untilAborted({ clock, signal, pause: pollInterval, onError }, async () => {
    const requests = database.collection<RequestRow>('rebuild_requests');
    const rows = await requests.find().toArray();
    for (const name of underWay.keys()) if (!rows.some(({ _id }) => _id === name)) underWay.delete(name);
    for (const { _id, request } of rows) {
      const begun = underWay.get(_id);
      if (begun?.request === request) {
        if (begun.isDone) await requests.deleteOne({ _id: { $eq: _id }, request });
        continue;
      }
      const rebuilding = rebuild(_id);
      if (rebuilding === null) {
        if (!areSeveral()) await requests.deleteOne({ _id: { $eq: _id } });
        continue;
      }
      const asked = { request, isDone: false };
      underWay.set(_id, asked);
      void rebuilding.then(() => (asked.isDone = true));
    }
  });
};
