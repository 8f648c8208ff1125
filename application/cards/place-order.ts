import {
  arrivalWindow,
  dueDay,
  honored,
  soonestArrival,
  today,
  type ProductionPlanning,
} from '../../domain/calendar.js';
import { schedule, acceptHeld, type FirstEvent, type Order } from '../../domain/card.js';
import { collectionCard, handwriting, handwritingId, offeredHand } from '../../domain/catalogue.js';
import { doNotMail, doNotMailId } from '../../domain/do-not-mail.js';
import { unwrap, type Captured } from '../../domain/errors.js';
import type { Command } from '../../domain/events.js';
import { reasonToHold, type OptOut } from '../../domain/hold.js';
import type { LocalDate, Milliseconds, OrganizationId, Uuid } from '../../domain/ids.js';
import {
  copyOf,
  created,
  defaultDesign,
  nextCopyId,
  offered,
  organization,
  saveDesign,
  savedDesign,
  slugOf,
  type CreatedOrganization,
  type Organization,
  type OrganizationEvent,
  type SavedDesign,
} from '../../domain/organization.js';
import type { Recipient } from '../../domain/recipient.js';
import { decideFor, type Organizations, type SeenOrganization } from '../organizations/organizations.js';
import type { StreamWrite } from '../ports/event-store.js';
import { IdempotencyUnavailable, type KeyClaim } from '../ports/idempotency-store.js';
import { PersonalKeysUnavailable } from '../ports/personal-keys.js';
import type { KeyRing } from '../personal/key-ring.js';
import { decidedBy, type Loaded, type Streams } from '../writing/streams.js';

/**
 * The fields of a card as they were sent, each of them read or refused. The first refusal is the one to
 * report. (decision 2: of several wrong fields, one is reported)
 */
export interface CardFields {
  readonly recipient: Captured<Recipient>;
  readonly message: Captured<string>;
  readonly arriveOn: Captured<LocalDate | null>;
  readonly handwriting: Captured<string | null>;
  readonly designId: Captured<string | null>;
  readonly reference: Captured<string | null>;
}

export interface CardDraft extends CardFields {
  /**
   * For the do-not-mail list; `lost` if the contact has one that can't be read any more, or may have had.
   * (decision 17: when the do-not-mail list counts)
   */
  readonly email: Captured<string | null> | 'lost';
  readonly contact: Uuid | null;
}

/** A request with an Idempotency-Key. `came`: when the service got it, by the clock of the keys. */
export interface KeyedRequest extends Pick<KeyClaim, 'key' | 'body'> {
  readonly came: Milliseconds;
}

export interface SendRequest {
  readonly org: OrganizationId;
  readonly command: Command;
  readonly source: Order['source'];
  readonly idempotency: KeyedRequest | null;
  /** Called once the key is claimed. Throws refusals that precede the refusals of fields. */
  readonly draft: () => CardDraft | Promise<CardDraft>;
}

/** The organization's copy of a collection card, which this send makes. */
export interface DesignCopy {
  readonly save: (state: Organization) => OrganizationEvent[];
  readonly write: StreamWrite;
}

export interface PlacedOrder {
  readonly event: FirstEvent;
  readonly copy: DesignCopy | null;
}

/** Production and mail days, and where today is. (decision 20: the soonest date) */
export interface OrderPlanning extends ProductionPlanning {
  readonly timeZone: string;
}

export interface PlaceOrderDeps {
  readonly streams: Streams;
  readonly organizations: Organizations;
  readonly planning: OrderPlanning;
}

/**
 * An Idempotency-Key and the body that came with it as a send gives them. Throws IdempotencyUnavailable.
 * (docs/money.md, rule 7: a card names its request)
 */
export const hashedIdempotency = async (
  { hashed }: Pick<KeyRing, 'hashed'>,
  org: OrganizationId,
  { key, body, came }: KeyedRequest,
): Promise<KeyedRequest> => {
  try {
    return { key: await hashed('key', org, key), body: await hashed('body', org, body), came };
  } catch (error) {
    if (!(error instanceof PersonalKeysUnavailable)) throw error;
    throw new IdempotencyUnavailable(error.message, { cause: error });
  }
};

/**
 * Identifies the request that made a card: equal for all requests with the same key, different for each one
 * without. (docs/money.md, rule 7: a card names its request)
 */
export const requestOf = ({ command, idempotency }: SendRequest): string => idempotency?.key ?? command.id;

/**
 * Makes the card's first event from the draft's fields and the things that they name. Throws the refusal of
 * the first wrong field; the design is the last one. (decision 2: of several wrong fields, one is reported)
 */
export const placeOrder = async (
  { streams, organizations, planning }: PlaceOrderDeps,
  request: SendRequest,
  draft: CardDraft,
  seen: SeenOrganization,
): Promise<PlacedOrder> => {
  const { org, command, source } = request;
  const letter = { recipient: unwrap(draft.recipient), message: unwrap(draft.message) };
  const latest = latestArrival(unwrap(draft.arriveOn), command, planning);
  const chosen = await decideFor(organizations, org, seen, (owner) => choose(streams, request, draft, owner));
  const order: Order = {
    org,
    request: requestOf(request),
    source,
    design: chosen.design,
    handwriting: chosen.hand,
    window: arrivalWindow(latest),
    due: dueDay(latest, planning),
    reference: chosen.reference,
    contact: draft.contact,
  };
  const optedOut = await optOut(streams, org, draft.email);
  const reason = reasonToHold({ handwriting: chosen.hand, doNotMail: optedOut, ...letter });
  return {
    event: reason === null ? schedule(order, letter) : acceptHeld(order, letter, reason),
    copy: chosen.copy,
  };
};

const optOut = async (
  streams: Streams,
  org: OrganizationId,
  email: CardDraft['email'],
): Promise<OptOut | null> => {
  if (email === 'lost') return email;
  if ('refusal' in email) return 'unclear';
  if (email.value === null) return null;
  return (await streams.load(doNotMail, doNotMailId(org, email.value))).state.listed ? 'listed' : null;
};

/** Resolves the choices that depend on the organization, with the refusals in their order. */
const choose = async (
  streams: Streams,
  request: SendRequest,
  draft: CardDraft,
  owner: Loaded<Organization>,
) => {
  const wanted = unwrap(draft.handwriting);
  const hand = wanted === null ? created(owner.state).houseHand : await handNamed(streams, wanted);
  const reference = unwrap(draft.reference);
  return { hand, reference, ...(await chooseDesign(streams, request, unwrap(draft.designId), owner)) };
};

const latestArrival = (arriveOn: LocalDate | null, { at }: Command, planning: OrderPlanning) => {
  const now = today(at, planning.timeZone);
  return arriveOn === null ? soonestArrival(now, planning) : honored(arriveOn, now, planning);
};

const maxNameLength = 200;
const control = /\p{Cc}/u;

/** Finds a name in the catalogue; null if it isn't there. Doesn't load impossible names. */
export const lookUp = async <T>(
  name: string,
  load: (name: string) => Promise<Loaded<T | null>>,
): Promise<T | null> =>
  name === '' || name.length > maxNameLength || control.test(name) ? null : (await load(name)).state;

/** An offered handwriting by its name, whose case doesn't matter. Throws `unknown_handwriting`. */
export const handNamed = async (streams: Streams, wanted: string): Promise<string> =>
  offeredHand(await lookUp(handwritingId(wanted), (id) => streams.load(handwriting, id)), wanted);

/** A design as a send finds it, and whether it is a collection card of which that send makes a copy. */
export interface FoundDesign extends Pick<SavedDesign, 'id' | 'name' | 'slug' | 'artwork'> {
  readonly isNew: boolean;
}

/** Null stands for the default. Throws `design_not_found`, `no_design_available`, `too_many_designs`. */
export const designFor = async (
  streams: Streams,
  org: OrganizationId,
  owner: CreatedOrganization,
  designId: string | null,
): Promise<FoundDesign> => {
  const slug = designId === null ? null : slugOf(designId);
  if (slug === null) {
    const saved = designId === null ? defaultDesign(owner) : savedDesign(owner, designId);
    return { isNew: false, ...saved };
  }
  const { title: name, artwork } = offered(
    await lookUp(slug, (known) => streams.load(collectionCard, known)),
    slug,
  );
  const copy = copyOf(owner, slug);
  if (copy !== null) return { isNew: false, ...copy };
  return { id: nextCopyId(owner, org, slug), name, slug, artwork, isNew: true };
};

const chooseDesign = async (
  streams: Streams,
  { org, command }: SendRequest,
  designId: string | null,
  owner: Loaded<Organization>,
): Promise<{ readonly design: Order['design']; readonly copy: DesignCopy | null }> => {
  const found = await designFor(streams, org, created(owner.state), designId);
  const { id, name, slug, artwork, isNew } = found;
  const design: Order['design'] = { id, slug, copied: isNew, front: artwork?.digest ?? null };
  if (!isNew) return { design, copy: null };
  const save = saveDesign({ id, name, slug, artwork });
  const write = streams.write(organization, owner, decidedBy(command, save(owner.state)));
  return { design, copy: { save, write } };
};

/**
 * Checks that a card could be sent with a design now; null stands for the default of the time and always
 * passes. Throws `not_found` for an unknown organization, `design_not_found`, `too_many_designs`.
 */
export const checkDesign = async (
  streams: Streams,
  org: OrganizationId,
  designId: string | null,
): Promise<void> => {
  const owner = created((await streams.load(organization, org)).state);
  if (designId !== null) await designFor(streams, org, owner, designId);
};
