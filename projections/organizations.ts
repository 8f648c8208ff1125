import { idOf, type Instant } from '../domain/ids.js';
import { organization, type SavedDesign } from '../domain/organization.js';
import { foldName } from '../domain/text.js';
import { projection } from './projection.js';

export interface DesignDocument extends Pick<SavedDesign, 'id' | 'name' | 'slug' | 'artwork' | 'archived'> {
  readonly createdAt: Instant;
  /** How many there were before it. */
  readonly place: number;
  /** Null unless the house has withdrawn it. */
  readonly withdrawn: (OutOfUse & { readonly reason: string }) | null;
  /** Null unless its picture was erased. */
  readonly erased: OutOfUse | null;
}

/** `isDone`: its cards are held. */
interface OutOfUse {
  readonly at: Instant;
  readonly isDone: boolean;
}

/** Whether its cards are to be held. */
export const isWaiting = ({ withdrawn, erased }: DesignDocument): boolean =>
  withdrawn?.isDone === false || erased?.isDone === false;

export interface OrganizationDocument {
  readonly id: string;
  readonly name: string;
  readonly houseHand: string;
  readonly createdAt: Instant;
  readonly suspendedAt: Instant | null;
  /** Newest first, without the archived and withdrawn ones. */
  readonly designs: readonly DesignDocument[];
  /** The others, newest first. Cards that were sent with them keep them. */
  readonly archived: readonly DesignDocument[];
}

const isInUse = ({ archived, withdrawn }: DesignDocument): boolean => !archived && withdrawn === null;

/** With the design at its place among the others, newest first. */
const withDesign = (others: readonly DesignDocument[], design: DesignDocument): readonly DesignDocument[] => {
  const older = others.findIndex(({ place }) => place < design.place);
  return older === -1 ? [...others, design] : others.toSpliced(older, 0, design);
};

/** Copies no more than it must: an organization has many designs, and many changes of them. */
const changed = (
  document: OrganizationDocument,
  id: string,
  change: (design: DesignDocument) => Partial<DesignDocument>,
): OrganizationDocument => {
  const isIt = (design: DesignDocument): boolean => design.id === id;
  const inUse = document.designs.findIndex(isIt);
  const list = inUse === -1 ? 'archived' : 'designs';
  const at = inUse === -1 ? document.archived.findIndex(isIt) : inUse;
  const design = document[list][at];
  if (design === undefined) return document;
  const next = { ...design, ...change(design) };
  const to = isInUse(next) ? 'designs' : 'archived';
  if (to === list) return { ...document, [list]: document[list].with(at, next) };
  return { ...document, [list]: document[list].toSpliced(at, 1), [to]: withDesign(document[to], next) };
};

/**
 * The account, the designs and the house hand of each organization. All of them are in one list, and their
 * agenda is the name, so that a search by the beginning of a name finds them, whatever their case.
 */
export const organizations = projection({
  name: 'organizations',
  version: 5,
  from: organization,
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
          designs: [
            {
              ...event.data.design,
              createdAt: envelope.metadata.occurredAt,
              place: document.designs.length + document.archived.length,
              archived: false,
              withdrawn: null,
              erased: null,
            },
            ...document.designs,
          ],
        };
      case 'DesignRenamed':
        return changed(document, event.data.id, () => ({ name: event.data.name }));
      case 'DesignArchived':
        return changed(document, event.data.id, () => ({ archived: true }));
      case 'DesignErased':
        return changed(document, event.data.id, () => ({
          archived: true,
          artwork: null,
          erased: { at: envelope.metadata.occurredAt, isDone: false },
        }));
      case 'DesignWithdrawn': {
        const { id, reason } = event.data;
        const withdrawn = { reason, at: envelope.metadata.occurredAt, isDone: false };
        return changed(document, id, () => ({ withdrawn }));
      }
      case 'WithdrawalCarriedOut':
        return changed(document, event.data.id, ({ withdrawn, erased }) => ({
          withdrawn: withdrawn && { ...withdrawn, isDone: true },
          erased: erased && { ...erased, isDone: true },
        }));
      case 'DesignReinstated':
        return changed(document, event.data.id, () => ({ withdrawn: null }));
    }
  },
  org: () => null,
  indexes: {
    withdrawing: ({ archived }) => (archived.some(isWaiting) ? 'yes' : null),
  },
  across: [['withdrawing']],
  agenda: ({ name }) => foldName(name),
});
