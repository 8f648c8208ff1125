import type { EventMacs } from '../../../domain/event-mac.js';

export * from '../../../domain/event-mac.js';

/** A text in each event's place for a MAC, which any reader takes for right. */
export const eventMacs = (): EventMacs => ({ sign: () => 'none:', verifies: () => true });
