import { card } from '../domain/card.js';
import { idOf, type Instant, type OrganizationId } from '../domain/ids.js';
import {
  publicEventId,
  publicEventOf,
  typesOfPublicEvents,
  type PublicEventType,
} from '../domain/public-events.js';
import { projection } from './projection.js';

/**
 * A public event, without the fields that its card's order and its own event already hold: readers look those
 * up, so that no personal data is kept here.
 */
export interface PublicEventDocument {
  readonly id: string;
  readonly org: OrganizationId;
  readonly type: PublicEventType;
  readonly card: string;
  /** In the stream of the card. */
  readonly revision: number;
  readonly created: Instant;
}

/** The public events of each organization: webhooks push them, and this list is for polling. */
export const publicEvents = projection({
  name: 'public_events',
  version: 2,
  from: card,
  types: typesOfPublicEvents,
  key: publicEventId,
  oneEventEach: true,
  evolve: (_: PublicEventDocument | null, { envelope, ...event }): PublicEventDocument | null => {
    const { org, actor, occurredAt } = envelope.metadata;
    const meaning = publicEventOf(event, actor);
    if (meaning === null || org === null) return null;
    return {
      id: publicEventId(envelope),
      org,
      type: meaning.type,
      card: idOf(envelope.stream),
      revision: envelope.revision,
      created: occurredAt,
    };
  },
  org: ({ org }) => org,
  indexes: { type: ({ type }) => type },
});
