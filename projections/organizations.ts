import { idOf, type Instant } from '../domain/ids.js';
import { organization } from '../domain/organization.js';
import { foldName } from '../domain/text.js';
import { projection } from './projection.js';

export interface DesignDocument {
  readonly id: string;
  readonly name: string;
  readonly slug: string | null;
  readonly createdAt: Instant;
}

export interface OrganizationDocument {
  readonly id: string;
  readonly name: string;
  readonly houseHand: string;
  readonly createdAt: Instant;
  /** Null if it is not suspended. */
  readonly suspendedAt: Instant | null;
  /** Newest first, without the archived ones. */
  readonly designs: readonly DesignDocument[];
}

/**
 * The account, the designs and the house hand of each organization. All of them are in one list, and their
 * agenda is the name, so that a search by the beginning of a name finds them, whatever their case.
 */
export const organizations = projection({
  name: 'organizations',
  version: 2,
  from: organization,
  key: ({ stream }) => idOf(stream),
  evolve: (document: OrganizationDocument | null, event): OrganizationDocument | null => {
    const { envelope } = event;
    if (event.type === 'OrganizationCreated')
      return {
        id: idOf(envelope.stream),
        ...event.data,
        createdAt: envelope.metadata.occurredAt,
        suspendedAt: null,
        designs: [],
      };
    if (document === null) return null;
    switch (event.type) {
      case 'OrganizationRenamed':
        return { ...document, name: event.data.name };
      case 'OrganizationSuspended':
        return { ...document, suspendedAt: envelope.metadata.occurredAt };
      case 'OrganizationReinstated':
        return { ...document, suspendedAt: null };
      case 'HouseHandChosen':
        return { ...document, houseHand: event.data.houseHand };
      case 'DesignSaved':
        return {
          ...document,
          designs: [{ ...event.data.design, createdAt: envelope.metadata.occurredAt }, ...document.designs],
        };
      case 'DesignRenamed':
        return {
          ...document,
          designs: document.designs.map((design) =>
            design.id === event.data.id ? { ...design, name: event.data.name } : design,
          ),
        };
      case 'DesignArchived':
        return { ...document, designs: document.designs.filter(({ id }) => id !== event.data.id) };
    }
  },
  org: () => null,
  listedFrom: 2,
  agenda: ({ name }) => foldName(name),
});
