import type { Instant } from '../../../domain/ids.js';

/** Takes the place of missing personal data: it counts as erased only after an erasure. */
export const gone = (erasedAt: Instant | null | undefined): 'erased' | 'unreadable' =>
  erasedAt ? 'erased' : 'unreadable';
