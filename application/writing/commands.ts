import type { Command } from '../../domain/events.js';
import { CommandId, type OrganizationId } from '../../domain/ids.js';
import type { Clock, Entropy } from '../ports/system.js';

/** The initiator of a change, and the request. */
export type Initiator = Pick<Command, 'actor' | 'requestId' | 'traceparent'>;

/** A part of the service that acts without a request. */
export const service = (id: string): Initiator => ({ actor: { kind: 'system', id }, requestId: null });

export const newCommand = (
  { clock, entropy }: { readonly clock: Clock; readonly entropy: Entropy },
  { actor, requestId, traceparent }: Initiator,
  org: OrganizationId | null,
): Command => ({
  id: CommandId.parse(entropy.uuid()),
  org,
  actor,
  requestId,
  ...(traceparent !== undefined && { traceparent }),
  at: clock.instant(),
});
