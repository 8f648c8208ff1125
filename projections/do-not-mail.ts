import { doNotMail } from '../domain/do-not-mail.js';
import { idOf, type Instant } from '../domain/ids.js';
import { projection } from './projection.js';

export interface DoNotMailDocument {
  readonly id: string;
  readonly org: string | null;
  /** Null if it was removed, or can't be read any more. */
  readonly email: string | null;
  readonly addedAt: Instant;
  readonly listed: boolean;
}

/** The filter of the list, which removed addresses don't match. */
export const listedAddresses = { listed: 'yes' };

export const doNotMailList = projection({
  name: 'do_not_mail',
  version: 2,
  from: doNotMail,
  evolve: (document: DoNotMailDocument | null, event): DoNotMailDocument | null => {
    if (event.type === 'DoNotMailRemoved') return document && { ...document, email: null, listed: false };
    const { stream, metadata } = event.envelope;
    return {
      id: idOf(stream),
      org: metadata.org,
      email: event.data.personal?.email ?? null,
      addedAt: metadata.occurredAt,
      listed: true,
    };
  },
  org: ({ org }) => org,
  indexes: { listed: ({ listed }) => (listed ? listedAddresses.listed : null) },
});
