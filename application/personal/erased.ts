import { erasures, type RecordedEvent } from '../../domain/events.js';
import type { StreamName } from '../../domain/ids.js';
import { LazyLru } from '../memory/lazy-lru.js';
import { cacheTtl } from './key-ring.js';

type Placed = Pick<RecordedEvent, 'stream' | 'revision'>;

const rememberedStreams = 1_000;

/**
 * Whether an erasure has followed an event in its stream, so that its key is about to be destroyed. Ask about
 * the events of a stream in their order. `read`: its events from a revision on.
 */
export const erasureFinder = (
  read: (stream: StreamName, from: number) => Promise<readonly Pick<RecordedEvent, 'type' | 'revision'>[]>,
): ((event: Placed) => Promise<boolean>) => {
  const known = new LazyLru<StreamName, number>(rememberedStreams);
  return async ({ stream, revision }) => {
    let last = known.get(stream);
    if (last === undefined) {
      last = (await read(stream, revision)).findLast(({ type }) => erasures.has(type))?.revision ?? 0;
      // Others may erase meanwhile, as they may destroy keys.
      known.set(stream, last, { ttl: cacheTtl });
    }
    return revision < last;
  };
};
