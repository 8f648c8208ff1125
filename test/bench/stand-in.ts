import { SystemClock } from '../../adapters/system/clock.js';
import { EventStoreDbStandIn } from '../engines/eventstoredb-stand-in.js';

/**
 * A stand-in of EventStoreDB whose appends take as long as the command line says, in milliseconds. It prints
 * where it is, and serves until it is killed: a process of its own, so that its work is not taken for that of
 * the service.
 */
const appendTime = Number(process.argv[2] ?? 0);
const standIn = await EventStoreDbStandIn.start(new SystemClock());
standIn.appendTime = appendTime;
process.stdout.write(`${JSON.stringify({ url: standIn.url })}\n`);
