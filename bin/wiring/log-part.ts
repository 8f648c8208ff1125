import type { Registry } from 'prom-client';
import type { Part } from '../../adapters/http/server/health.js';
import type { WitnessStatus } from '../../application/log/witnesses.js';
import type { LogTiles } from '../../application/ports/log-tiles.js';
import type { Engine, ProcessContext } from './engine.js';
import { measured, registerMetrics } from '../metrics/measured.js';

/**
 * The log of the log as a part of readiness: not ready while the log is known to be damaged. A service whose
 * notary is late, or runs nowhere, stays ready. (docs/operations.md#health)
 */
export const logPart = async (tiles: LogTiles): Promise<Part> => {
  const name = 'log';
  try {
    const [damage, newest] = await Promise.all([tiles.damage(), tiles.newest()]);
    if (damage !== null)
      return { name, ready: false, detail: `damaged at position ${damage.position}: ${damage.reason}` };
    const detail = newest === null ? 'no checkpoint yet' : `${newest.size} events signed at ${newest.at}`;
    return { name, ready: true, detail };
  } catch {
    // Another part reports that the storage can't be reached.
    return { name, ready: true, detail: null };
  }
};

/**
 * Beyond this many the metric only says that there are more: reading them would hold up this thread's other
 * work.
 */
const maxCounted = 100;

/** Registers how old the newest checkpoint is, and how many events came since. */
export const registerLogMetrics = (
  registry: Registry,
  deps: Pick<ProcessContext, 'clock' | 'witnesses'> & Pick<Engine, 'tiles' | 'store'>,
): void => {
  const { tiles, store, clock, witnesses } = deps;
  const signed = measured(clock, async () => {
    const [tree, newest] = await Promise.all([tiles.tree(), tiles.newest()]);
    const waiting = await store.readLog(tree.position, maxCounted);
    return { newest, unsigned: Math.max(0, tree.size - (newest?.size ?? 0)) + waiting.length };
  });
  const ofWitnesses = (read: (of: WitnessStatus) => number) =>
    witnesses().map((each) => [each.name, read(each)] as const);
  registerMetrics(registry, {
    log_checkpoint_age_seconds: [
      'How long ago the newest checkpoint of the log was signed; absent if there is none.',
      async () => {
        const newest = (await signed())?.newest ?? null;
        return newest && Math.abs(clock.now() - Date.parse(newest.at)) / 1_000;
      },
    ],
    log_events_unsigned: [
      `Events that no checkpoint covers yet; of those that the notary has not reached, at most ${maxCounted}.`,
      async () => (await signed())?.unsigned ?? null,
    ],
    'log_witness_refuses{witness}': [
      '1 if the witness refuses to sign the log because it has signed another tree or a larger one; else 0.',
      () => ofWitnesses(({ refusal }) => (refusal === null ? 0 : 1)),
    ],
    'log_witness_events_behind{witness}': [
      'Events of the newest checkpoint that the witness has not signed.',
      async () => {
        const found = await signed();
        return found === null ? [] : ofWitnesses(({ size }) => Math.max(0, (found.newest?.size ?? 0) - size));
      },
    ],
    'log_witness_signed_timestamp_seconds{witness}': [
      'When the witness last signed, in seconds since 1970; 0 if not since this process started.',
      () => ofWitnesses(({ time }) => time),
    ],
  });
};
