import { apiKey } from '../../domain/api-key.js';
import type { Actor, RecordedEvent } from '../../domain/events.js';
import { hook } from '../../domain/hook.js';
import type { Moment } from '../history/as-of.js';
import type { Streams } from '../writing/streams.js';

const labelOf = async (streams: Streams, { kind, id }: Actor, moment: Moment): Promise<string | null> => {
  if (id === null || kind === 'system' || id === 'root') return null;
  const { state } = await (kind === 'hook'
    ? streams.loadAt(hook, id, moment)
    : streams.loadAt(apiKey, id, moment));
  return state.status === 'none' ? null : state.label;
};

/**
 * The actors of events, in their order, with their labels as they were then; null for those without one. The
 * label of an operator's key is the operator's name. Throws DamagedStream, EventStoreUnavailable.
 */
export const namedActors = (
  streams: Streams,
  events: readonly RecordedEvent[],
): Promise<readonly (Actor & { readonly label: string | null })[]> =>
  Promise.all(
    events.map(async ({ position, metadata: { actor, occurredAt } }) => {
      const label = await labelOf(streams, actor, { position, at: occurredAt });
      return { ...actor, label };
    }),
  );
