import type { Instant } from '../../../domain/ids.js';

/** What stands in place of personal data that is not there: only an erasure makes it erased. */
export const gone = (erasedAt: Instant | null | undefined): 'erased' | 'unreadable' =>
  erasedAt ? 'erased' : 'unreadable';
