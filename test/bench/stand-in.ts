import { SystemClock } from '../../adapters/system/clock.js';
import { EventStoreDbStandIn } from '../engines/eventstoredb-stand-in.js';

/**
 * A stand-in of EventStoreDB whose appends take as long as the command line says, in milliseconds. It prints where
 * it is, and serves until it is killed: a process of its own, so that its work is not taken for that of the service.
 */
const appendTime = Number(process.argv[2] ?? 0);
const clock = new SystemClock();
const standIn = await EventStoreDbStandIn.start(clock);
const fate = {
  kind: 'delayed' as const,
  get until() {
    return clock.sleep(appendTime);
  },
};
if (appendTime > 0) Object.assign(standIn.appendFates, { shift: () => fate });
process.stdout.write(`${JSON.stringify({ url: standIn.url })}\n`);
