import { z } from 'zod';
import type { EventMark } from '../../../application/ports/event-store.js';
import { Instant, Uuid } from '../../../domain/ids.js';

const Mark = z.object({ id: Uuid, hash: z.string(), at: Instant });

/** The event of a checkpoint from its stored JSON; none if there is none. */
export const markFrom = (stored: string | null | undefined): { readonly event?: EventMark } =>
  stored === null || stored === undefined ? {} : { event: Mark.parse(JSON.parse(stored)) };
