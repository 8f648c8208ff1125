import type { Front } from '../domain/artwork.js';
import { idOf, type Instant } from '../domain/ids.js';
import { organization } from '../domain/organization.js';
import { foldName } from '../domain/text.js';
import { projection } from './projection.js';

export interface DesignDocument {
  readonly id: string;
  readonly name: string;
  readonly slug: string | null;
  readonly artwork: Front | null;
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
  /** Newest first. Cards that were sent with them keep them. */
  readonly archived: readonly DesignDocument[];
}

const archive = (
  document: OrganizationDocument,
  id: string,
  change: Partial<DesignDocument>,
): OrganizationDocument => {
  const all = [...document.designs, ...document.archived];
  const found = all.filter((design) => design.id === id).map((design) => ({ ...design, ...change }));
  const without = (designs: readonly DesignDocument[]) => designs.filter((design) => design.id !== id);
  return {
    ...document,
    designs: without(document.designs),
    archived: [...found, ...without(document.archived)],
  };
};

/**
 * The account, the designs and the house hand of each organization. All of them are in one list, and their
 * agenda is the name, so that a search by the beginning of a name finds them, whatever their case.
 */
export const organizations = projection({
  name: 'organizations',
  version: 3,
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
        archived: [],
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
      case 'DesignWithdrawn':
        return archive(document, event.data.id, {});
      case 'DesignErased':
        return archive(document, event.data.id, { artwork: null });
    }
  },
  org: () => null,
  listedFrom: 2,
  agenda: ({ name }) => foldName(name),
});
