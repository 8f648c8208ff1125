import { z } from 'zod';
import { count, Front } from './artwork.js';
import { DomainError, UnknownName } from './errors.js';
import { truncate } from './text.js';
import { events, type Aggregate, type EventOf } from './events.js';
import { derivedUuid, streamName, Uuid, type OrganizationId } from './ids.js';

/** A customer: its name, its house hand, and the designs that it has saved. */
export const organizationStream = (org: OrganizationId) => streamName('organization', org);

/**
 * `slug`: the collection card of which this design is the organization's copy. `artwork`: null for a design
 * that is only a name.
 */
const Design = z.object({
  id: Uuid,
  name: z.string(),
  slug: z.string().nullable(),
  artwork: Front.nullable().default(null),
});

export const organizationEvents = events({
  OrganizationCreated: { name: z.string(), houseHand: z.string() },
  OrganizationRenamed: { name: z.string() },
  OrganizationSuspended: {},
  OrganizationReinstated: {},
  HouseHandChosen: { houseHand: z.string() },
  DesignSaved: { design: Design },
  DesignRenamed: { id: Uuid, name: z.string() },
  DesignArchived: { id: Uuid },
  /** Its picture is removed, and it is archived. */
  DesignErased: { id: Uuid },
  /** The house has taken it out of use. */
  DesignWithdrawn: { id: Uuid, reason: z.string() },
  /** Its cards that were not printed are held. */
  WithdrawalCarriedOut: { id: Uuid },
  /** The house has put it back into use. */
  DesignReinstated: { id: Uuid },
});
export type OrganizationEvent = EventOf<typeof organizationEvents>;

/** An erased design is archived, too. */
export interface SavedDesign extends z.infer<typeof Design> {
  readonly archived: boolean;
  readonly isErased: boolean;
  /** Why the house has withdrawn it; null if it has not. */
  readonly withdrawn: string | null;
}

/** `designs` in the order in which they were saved. */
export type Organization =
  | { readonly status: 'none' }
  | {
      readonly status: 'created';
      readonly name: string;
      readonly houseHand: string;
      readonly isSuspended: boolean;
      readonly designs: readonly SavedDesign[];
    };

export type CreatedOrganization = Extract<Organization, { status: 'created' }>;

/** Copies no more than it must: an organization has many designs, and many changes of them. */
const changed = (state: CreatedOrganization, id: Uuid, change: Partial<SavedDesign>): Organization => {
  const at = state.designs.findIndex((design) => design.id === id);
  const design = state.designs[at];
  return design === undefined
    ? state
    : { ...state, designs: state.designs.with(at, { ...design, ...change }) };
};

const evolve = (state: Organization, event: OrganizationEvent): Organization => {
  if (event.type === 'OrganizationCreated')
    return { status: 'created', ...event.data, isSuspended: false, designs: [] };
  if (state.status === 'none') return state;
  switch (event.type) {
    case 'OrganizationRenamed':
      return { ...state, name: event.data.name };
    case 'OrganizationSuspended':
      return { ...state, isSuspended: true };
    case 'OrganizationReinstated':
      return { ...state, isSuspended: false };
    case 'HouseHandChosen':
      return { ...state, houseHand: event.data.houseHand };
    case 'DesignSaved':
      return {
        ...state,
        designs: [
          ...state.designs,
          { ...event.data.design, archived: false, isErased: false, withdrawn: null },
        ],
      };
    case 'DesignRenamed':
      return changed(state, event.data.id, { name: event.data.name });
    case 'DesignArchived':
      return changed(state, event.data.id, { archived: true });
    case 'DesignErased':
      return changed(state, event.data.id, { archived: true, isErased: true, artwork: null });
    case 'DesignWithdrawn':
      return changed(state, event.data.id, { withdrawn: event.data.reason });
    case 'DesignReinstated':
      return changed(state, event.data.id, { withdrawn: null });
    case 'WithdrawalCarriedOut':
      return state;
  }
};

export const organization: Aggregate<Organization, OrganizationEvent> = {
  category: 'organization',
  schemas: organizationEvents,
  initial: { status: 'none' },
  evolve,
};

/** The organization. Throws `not_found`. */
export const created = (state: Organization): CreatedOrganization => {
  if (state.status === 'none') throw new DomainError('not_found', 'There is no such organization.');
  return state;
};

export const createOrganization =
  (name: string, houseHand: string) =>
  (state: Organization): OrganizationEvent[] =>
    state.status === 'none' ? [{ type: 'OrganizationCreated', data: { name, houseHand } }] : [];

/** A repeat records nothing. Throws `not_found`. */
export const renameOrganization =
  (name: string) =>
  (state: Organization): OrganizationEvent[] =>
    created(state).name === name ? [] : [{ type: 'OrganizationRenamed', data: { name } }];

/**
 * Suspends an organization, whose keys and hooks are refused and whose webhooks wait, or ends that. A repeat
 * records nothing. Throws `not_found`.
 */
export const suspendOrganization =
  (suspended: boolean) =>
  (state: Organization): OrganizationEvent[] => {
    if (created(state).isSuspended === suspended) return [];
    return [{ type: suspended ? 'OrganizationSuspended' : 'OrganizationReinstated', data: {} }];
  };

/** Chooses the handwriting of cards that name none; a repeat records nothing. Throws `not_found`. */
export const chooseHouseHand =
  (houseHand: string) =>
  (state: Organization): OrganizationEvent[] =>
    created(state).houseHand === houseHand ? [] : [{ type: 'HouseHandChosen', data: { houseHand } }];

/**
 * Saves a design. With a slug it is the organization's copy of that collection card: there is at most one
 * that isn't archived. A design whose id is already there, archived or not, isn't saved again. (decision 35:
 * which design, and whose copy)
 */
export const saveDesign =
  (design: z.input<typeof Design>) =>
  (state: Organization): OrganizationEvent[] => {
    const owner = created(state);
    const saved =
      owner.designs.some(({ id }) => id === design.id) ||
      (design.slug !== null && copyOf(owner, design.slug) !== null);
    return saved ? [] : [{ type: 'DesignSaved', data: { design: Design.parse(design) } }];
  };

/** Gives a saved design another name; a repeat records nothing. Throws `not_found`. */
export const renameDesign =
  (id: string, name: string) =>
  (state: Organization): OrganizationEvent[] => {
    const design = created(state).designs.find((saved) => saved.id === id && isInUse(saved));
    if (design === undefined) throw noSuchDesign();
    return design.name === name ? [] : [{ type: 'DesignRenamed', data: { id: design.id, name } }];
  };

const noSuchDesign = (): DomainError =>
  new DomainError('not_found', 'There is no such design in this organization.');

/** Archives a saved design; a repeat records nothing. Throws `not_found`. */
export const archiveDesign =
  (id: string) =>
  (state: Organization): OrganizationEvent[] => {
    const design = anyDesign(created(state), id);
    return design.archived ? [] : [{ type: 'DesignArchived', data: { id: design.id } }];
  };

/** Removes the picture of a design; a repeat records nothing. Throws `not_found`. */
export const eraseDesign =
  (id: string) =>
  (state: Organization): OrganizationEvent[] => {
    const design = anyDesign(created(state), id);
    return design.artwork === null ? [] : [{ type: 'DesignErased', data: { id: design.id } }];
  };

/**
 * Takes a design out of use for the house, or, without a reason, puts it back; a repeat records nothing.
 * Throws `not_found`.
 */
export const withdrawDesign =
  (id: string, reason: string | null) =>
  (state: Organization): OrganizationEvent[] => {
    const { id: known, withdrawn } = anyDesign(created(state), id);
    if ((withdrawn === null) === (reason === null)) return [];
    return reason === null
      ? [{ type: 'DesignReinstated', data: { id: known } }]
      : [{ type: 'DesignWithdrawn', data: { id: known, reason } }];
  };

/** A reason in the middle of a sentence. */
const asClause = (reason: string): string => reason.trim().replace(/\.$/, '');

const isInUse = ({ archived, withdrawn }: SavedDesign): boolean => !archived && withdrawn === null;

/** Why cards of a design are held: it was withdrawn, or its picture erased; null if they are not. */
export const whyHeld = (state: Organization, id: string): string | null => {
  const design = state.status === 'none' ? undefined : state.designs.find((saved) => saved.id === id);
  const { withdrawn = null, isErased = false } = design ?? {};
  if (withdrawn === null && !isErased) return null;
  const what =
    withdrawn === null
      ? 'The picture of the design was erased'
      : `The design was withdrawn: ${asClause(withdrawn)}`;
  return `${what}. Cancel the card and send it again with another design`;
};

/** A design of the organization, archived or not. Throws `not_found`. */
export const anyDesign = ({ designs }: CreatedOrganization, id: string): SavedDesign => {
  const design = designs.find((saved) => saved.id === id);
  if (design === undefined) throw noSuchDesign();
  return design;
};

/** The organization's copy of a collection card that is in use; null if there is none. */
export const copyOf = ({ designs }: CreatedOrganization, slug: string): SavedDesign | null =>
  designs.findLast((design) => design.slug === slug && isInUse(design)) ?? null;

/** Archived ones included: what reads an organization reads all of them. */
const maxDesigns = 2_000;

/** Throws `too_many_designs`, about this field, if the organization can save no more. */
export const assertRoom = ({ designs }: CreatedOrganization, param: string | null = null): void => {
  if (designs.length >= maxDesigns)
    throw new DomainError(
      'too_many_designs',
      `The organization has saved ${count(designs.length)} designs, archived ones included, and can save no more. Use one of them.`,
      param,
    );
};

/**
 * The id that the next copy of a collection card gets: an archived copy is not used again. Throws
 * `too_many_designs`, and `design_not_found` after one that was withdrawn. (decision 35: which design, and
 * whose copy)
 */
export const nextCopyId = (owner: CreatedOrganization, org: OrganizationId, slug: string): Uuid => {
  const copies = owner.designs.filter((design) => design.slug === slug);
  const reason = copies.find(({ withdrawn }) => withdrawn !== null)?.withdrawn;
  if (reason !== undefined) throw notFound(`card:${slug}`, reason);
  assertRoom(owner);
  return derivedUuid('design-copy', org, slug, copies.length);
};

const notFound = (wanted: string, withdrawn: string | null = null): DomainError => {
  const shown = truncate(wanted, 100);
  const unknown = `There is no design \`${shown}\`. Use the id of a saved design of this organization, or card:<slug> of a card in the public collection.`;
  if (withdrawn === null) return new UnknownName('design_not_found', unknown, wanted);
  // Its own name would be the nearest one.
  const text = `The design \`${shown}\` was withdrawn: ${asClause(withdrawn)}. Choose another one.`;
  return new DomainError('design_not_found', text);
};

/**
 * The newest saved design that isn't archived. Throws `no_design_available`. (decision 35: which design, and
 * whose copy)
 */
export const defaultDesign = ({ designs }: CreatedOrganization): SavedDesign => {
  const newest = designs.findLast(isInUse);
  if (newest === undefined)
    throw new DomainError(
      'no_design_available',
      'The organization has no saved design. Save one, or choose a card of the public collection.',
    );
  return newest;
};

/** A saved design by its id. Throws `design_not_found`. */
export const savedDesign = ({ designs }: CreatedOrganization, id: string): SavedDesign => {
  const design = designs.find((saved) => saved.id === id.toLowerCase());
  if (design === undefined || !isInUse(design)) throw notFound(id, design?.withdrawn);
  return design;
};

/** The slug of `card:<slug>`, or null for any other id. */
export const slugOf = (designId: string): string | null =>
  designId.startsWith('card:') ? designId.slice('card:'.length) : null;

/** The collection card with a slug, if it is on offer. Throws `design_not_found`. */
export const offered = <Card extends { readonly active: boolean }>(card: Card | null, slug: string): Card => {
  if (card === null || !card.active) throw notFound(`card:${slug}`);
  return card;
};
