import { turnAlone } from '../../../application/timing/next-turn.js';
import type { LogReader } from '../../../application/ports/event-store.js';
import type { Clock } from '../../../application/ports/system.js';
import type { DamagedLog } from '../../../application/log/damaged-log.js';
import { openForReading } from '../database.js';
import { insideGate, type Gate } from '../gate.js';
import { followLog, waitOnSharedHead } from './following.js';
import { logQueries } from './log-queries.js';

/** Lets a thread read the log and be woken by commits. It can be sent to a worker. */
export interface SharedLog {
  readonly path: string;
  readonly head: SharedArrayBuffer;
  readonly gate: Gate;
}

/**
 * Reads and follows the log in the calling thread, with its own connection. Commits wake it. This process
 * must have opened the events file.
 */
export const openLogReader = (
  { path, head, gate }: SharedLog,
  { clock, onDamage }: { readonly clock: Clock; readonly onDamage: (error: DamagedLog) => void },
): { readonly reader: LogReader; readonly close: () => void } => {
  const inGate = insideGate(gate);
  const database = inGate(() => openForReading(path));
  const queries = logQueries({ database, head, inGate, onDamage });
  const source = { ...queries, untilCommittedAfter: waitOnSharedHead(head), clock };
  return {
    reader: {
      readLog: async (after, limit) => {
        await turnAlone();
        return queries.readLog(after, limit);
      },
      head: async () => queries.head(),
      markAt: async (position) => queries.markAt(position),
      follow: (after, options) => followLog(source, after, options),
    },
    close: () => inGate(() => database.close()),
  };
};
