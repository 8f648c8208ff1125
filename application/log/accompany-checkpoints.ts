import type { Clock } from '../ports/system.js';
import type { Checkpoint, LogTiles } from '../ports/log-tiles.js';
import { untilAborted } from '../until-aborted.js';
import type { Witnessing } from './witnesses.js';

export interface AccompanyDeps {
  readonly tiles: Pick<LogTiles, 'newest'>;
  readonly clock: Clock;
  readonly witnessing: Pick<Witnessing, 'offer' | 'settled'> | null;
  /** Keeps a checkpoint elsewhere, under the hour; once an hour is enough, and again does no harm. */
  readonly anchor: ((checkpoint: Checkpoint, hour: string) => Promise<void>) | null;
  readonly report: (error: unknown) => void;
}

const lookEvery = 1_000;

/**
 * Brings each new checkpoint to the witnesses, and one an hour to where it can't be taken back, until the
 * signal aborts.
 */
export const accompanyCheckpoints = async (deps: AccompanyDeps, signal: AbortSignal): Promise<void> => {
  const { tiles, clock, witnessing, anchor, report } = deps;
  let offered = 0;
  let anchored = '';
  const look = async (): Promise<void> => {
    const newest = await tiles.newest();
    if (newest === null) return;
    if (newest.size > offered) witnessing?.offer(newest, signal);
    offered = newest.size;
    const hour = clock.instant().slice(0, 'YYYY-MM-DDTHH'.length);
    if (hour === anchored) return;
    await anchor?.(newest, hour);
    anchored = hour;
  };
  await untilAborted({ clock, signal, pause: lookEvery, onError: report }, look);
  await witnessing?.settled();
};
