import { setMaxListeners } from 'node:events';
import type { Engine } from '../../../../bin/wiring/engine.js';
import type { Clock } from '../../../../application/ports/system.js';
import type { Life } from '../life.js';
import type { House } from './house.js';

const renewedEvery = 2_000;
const maxSilence = 5_000;
const takenOverAfter = 6_000;

/** Who does a piece of work, and when it was last heard of. */
export interface Lease {
  readonly owner: Life;
  heard: number;
}

/**
 * Work that one process does at a time. One that is not heard of stops by itself before another takes over.
 */
export const exclusivelyIn =
  (house: House, life: Life, clock: Clock): Engine['exclusively'] =>
  async (name, signal, work) => {
    const { leases } = house;
    while (!signal.aborted) {
      const lease = leases.get(name);
      const isFree = lease === undefined || clock.monotonic() - lease.heard > takenOverAfter;
      if (isFree && !house.isAway(name)) await hold(house, life, clock, name, signal, work);
      await clock.sleep(renewedEvery, signal);
    }
  };

const hold = async (
  house: House,
  life: Life,
  clock: Clock,
  name: string,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<void> => {
  const lease: Lease = { owner: life, heard: clock.monotonic() };
  house.leases.set(name, lease);
  const over = new AbortController();
  const held = AbortSignal.any([signal, over.signal]);
  setMaxListeners(0, held);
  const renew = async (): Promise<void> => {
    const asked = clock.monotonic();
    await life.call(async () => {
      if (house.leases.get(name) === lease) lease.heard = asked;
    });
  };
  const watch = async (): Promise<void> => {
    while (!held.aborted) {
      await clock.sleep(renewedEvery, held);
      const isSilent = clock.monotonic() - lease.heard > maxSilence;
      if (isSilent || house.isAway(name) || house.leases.get(name) !== lease) over.abort();
      else void renew();
    }
  };
  const watching = watch();
  try {
    await work(held);
  } catch (error) {
    house.note(name, error);
  } finally {
    over.abort();
    await watching;
    if (house.leases.get(name) === lease) house.leases.delete(name);
  }
};
