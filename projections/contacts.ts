import { contact, withContactEvent, type KnownContact } from '../domain/contact.js';
import { foldEmail } from '../domain/email.js';
import { idOf } from '../domain/ids.js';
import { projection } from './projection.js';

export interface ContactDocument extends KnownContact {
  readonly id: string;
  readonly org: string;
}

export const contacts = projection({
  name: 'contacts',
  version: 3,
  from: contact,
  evolve: (document: ContactDocument | null, event): ContactDocument | null => {
    const org = event.type === 'ContactCreated' ? event.data.org : document?.org;
    return org === undefined
      ? document
      : { id: idOf(event.envelope.stream), org, ...withContactEvent(document, event) };
  },
  // Deleted contacts are in no list.
  org: ({ org, deletedAt }) => (deletedAt ? null : org),
  indexes: {
    email: ({ details }) => (details === null || details.email === null ? null : foldEmail(details.email)),
    external_id: ({ details }) => details?.externalId ?? null,
  },
});
