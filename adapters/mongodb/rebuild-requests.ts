import type { Clock } from '../../application/ports/system.js';
import type { ProjectorStatus } from '../../application/projection-board.js';
import { untilAborted } from '../../application/until-aborted.js';
import type { Milliseconds } from '../../domain/ids.js';
import type { MongoDatabase } from './database.js';

interface RequestRow {
  /** The projection's name. */
  readonly _id: string;
  /** Grows with every request: one that comes while a rebuild is under way is another one. */
  readonly number: number;
}

/** Asks the projector, wherever it runs, to build a projection anew. */
export const requestRebuild = async (database: MongoDatabase, name: string): Promise<void> => {
  await database
    .collection<RequestRow>('rebuild_requests')
    .updateOne({ _id: { $eq: name } }, { $inc: { number: 1 } }, { upsert: true });
};

export interface RebuildWatch {
  readonly database: MongoDatabase;
  readonly clock: Clock;
  /** Starts one; false where no projection has that name. */
  readonly rebuild: (name: string) => boolean;
  readonly status: () => ProjectorStatus;
  readonly onTrouble: (error: unknown) => void;
}

const every: Milliseconds = 250;

/**
 * Starts what was asked for, until the signal aborts. A request goes when its rebuild is in use: the next
 * projector begins it again where this one dies before.
 */
export const followRebuildRequests = async (
  { database, clock, rebuild, status, onTrouble }: RebuildWatch,
  signal: AbortSignal,
): Promise<void> => {
  const underWay = new Map<string, { readonly number: number; seen: boolean }>();
  await untilAborted({ clock, signal, pause: every, onError: onTrouble }, async () => {
    const requests = database.collection<RequestRow>('rebuild_requests');
    for (const { _id, number } of await requests.find().toArray()) {
      const begun = underWay.get(_id);
      if (begun === undefined || begun.number !== number) {
        if (rebuild(_id)) underWay.set(_id, { number, seen: false });
        else await requests.deleteOne({ _id: { $eq: _id } });
        continue;
      }
      const rebuilding = status().projections.some(
        (projection) => projection.name === _id && projection.rebuilding !== null,
      );
      if (rebuilding) begun.seen = true;
      else if (begun.seen) {
        await requests.deleteOne({ _id: { $eq: _id }, number });
        underWay.delete(_id);
      }
    }
  });
};
