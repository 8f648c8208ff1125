import { idOf, type Instant } from '../domain/ids.js';
import { organization } from '../domain/organization.js';
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
  /** Newest first, without the archived ones. */
  readonly designs: readonly DesignDocument[];
}

/** The account, the designs and the house hand of each organization. */
export const organizations = projection({
  name: 'organizations',
  version: 1,
  from: organization,
  key: ({ stream }) => idOf(stream),
  evolve: (document: OrganizationDocument | null, event): OrganizationDocument | null => {
    const { envelope } = event;
    if (event.type === 'OrganizationCreated')
      return { id: idOf(envelope.stream), ...event.data, designs: [] };
    if (document === null) return null;
    switch (event.type) {
      case 'HouseHandChosen':
        return { ...document, houseHand: event.data.houseHand };
      case 'DesignSaved':
        return {
          ...document,
          designs: [{ ...event.data.design, createdAt: envelope.metadata.occurredAt }, ...document.designs],
        };
      case 'DesignArchived':
        return { ...document, designs: document.designs.filter(({ id }) => id !== event.data.id) };
    }
  },
  org: ({ id }) => id,
});
