import fc from 'fast-check';
import type { KeyUseRows } from '../../application/ports/key-uses.js';
import type { Checkpoints } from '../../application/ports/checkpoints.js';
import type { RateLimiter } from '../../application/ports/rate-limiter.js';
import type { Instant, Uuid } from '../../domain/ids.js';
import { drawing, type Port } from './compare.js';

const upTo = (most: number) => fc.integer({ min: 0, max: most });

const markedAt = '2026-03-02T15:00:00.000Z' as Instant;

const onCheckpoints = drawing<Checkpoints>();
const processName = upTo(2).map((number) => `process ${number}`);

export const checkpoints: Port<Checkpoints> = {
  name: 'checkpoints',
  operation: fc.oneof(
    onCheckpoints('load', processName, (known: Checkpoints, name) => known.load(name)),
    onCheckpoints('all', fc.constant(null), async (known) =>
      (await known.all()).toSorted((a, b) => a.name.localeCompare(b.name)),
    ),
    onCheckpoints(
      'save',
      fc.record({
        name: processName,
        position: upTo(12),
        marked: fc.boolean(),
        openSince: fc.option(upTo(9), { nil: undefined }),
        state: fc.jsonValue(),
      }),
      (known, { name, position, marked, openSince, state }) =>
        known.save(name, {
          position: BigInt(position),
          ...(marked && { event: { id: `event-${position}` as Uuid, hash: 'h', at: markedAt } }),
          ...(openSince !== undefined && { openSince }),
          state,
        }),
    ),
  ),
};

/** Later than any clock: MongoDB removes counts of the past. */
const startOfWindows = Date.parse('2100-01-01T00:00:00.000Z');

const onRateLimiter = drawing<RateLimiter>();

export const rateLimits: Port<RateLimiter> = {
  name: 'the counts of the rate limit',
  operation: onRateLimiter('hit', fc.tuple(upTo(3), upTo(300)), (limiter: RateLimiter, [subject, second]) =>
    limiter.hit(`key ${subject}`, startOfWindows + second * 1_000),
  ),
};

const onKeyUses = drawing<KeyUseRows>();
const keyId = upTo(4).map((number) => `key-${number}` as Uuid);
const use = fc.tuple(
  keyId,
  upTo(59).map((second) => new Date(startOfWindows + second * 1_000).toISOString() as Instant),
);

export const keyUses: Port<KeyUseRows> = {
  name: 'last uses of API keys',
  operation: fc.oneof(
    onKeyUses(
      'save',
      fc.uniqueArray(use, { minLength: 1, maxLength: 3, selector: ([id]) => id }),
      (rows: KeyUseRows, uses) => rows.save(uses),
    ),
    onKeyUses('read', fc.uniqueArray(keyId, { maxLength: 5 }), (rows, ids) => rows.read(ids)),
  ),
};
