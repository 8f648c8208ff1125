import { apiKey } from '../../domain/api-key.js';
import type { Actor, RecordedEvent } from '../../domain/events.js';
import { hook } from '../../domain/hook.js';
import type { Moment } from '../history/as-of.js';
import type { Streams } from '../writing/streams.js';

/** An actor, and its label when it acted; null if it had none. */
export interface NamedActor extends Actor {
  readonly label: string | null;
}

const labelOf = async (streams: Streams, { kind, id }: Actor, moment: Moment): Promise<string | null> => {
  if (id === null || kind === 'system' || id === 'root') return null;
  const { state } = await (kind === 'hook'
    ? streams.loadAt(hook, id, moment)
    : streams.loadAt(apiKey, id, moment));
  return state.status === 'none' ? null : state.label;
};

/**
 * The actors of events, in their order: the label of a key, which for an operator's key is the operator's
 * name, or that of a hook, as it was then. Throws DamagedStream, EventStoreUnavailable.
 */
export const namedActors = (
  streams: Streams,
  events: readonly RecordedEvent[],
): Promise<readonly NamedActor[]> =>
  Promise.all(
    events.map(async ({ position, metadata: { actor, occurredAt } }) => {
      const label = await labelOf(streams, actor, { position, at: occurredAt });
      return { ...actor, label };
    }),
  );
