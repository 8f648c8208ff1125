import {
  arrivalWindow,
  dueDay,
  honored,
  soonestArrival,
  today,
  type Planning as ProductionPlanning,
} from '../domain/calendar.js';
import { schedule, takeInHeld, type FirstEvent, type Order } from '../domain/card.js';
import { collectionCard, handwriting, offeredHand } from '../domain/catalogue.js';
import { doNotMail, doNotMailId } from '../domain/do-not-mail.js';
import { unwrap, type Captured } from '../domain/errors.js';
import type { Command } from '../domain/events.js';
import { reasonToHold } from '../domain/hold.js';
import { derivedUuid, type LocalDate, type OrganizationId, type Uuid } from '../domain/ids.js';
import {
  copyOf,
  created,
  defaultDesign,
  nextCopyId,
  offeredTitle,
  organization,
  saveDesign,
  savedDesign,
  slugOf,
  type Organization,
  type OrganizationEvent,
} from '../domain/organization.js';
import type { Recipient } from '../domain/recipient.js';
import { foldName } from '../domain/text.js';
import type { StreamWrite } from './ports/event-store.js';
import type { Loaded, Streams } from './streams.js';

/**
 * The fields of a card as they were asked for, each read or refused by itself: the first refusal in order is
 * the one to report. (decision 2)
 */
export interface CardFields {
  readonly recipient: Captured<Recipient>;
  readonly message: Captured<string>;
  readonly arriveOn: Captured<LocalDate | null>;
  readonly handwriting: Captured<string | null>;
  readonly designId: Captured<string | null>;
  readonly reference: Captured<string | null>;
}

/** A card as it was asked for. */
export interface CardDraft extends CardFields {
  /** Known from a hook's payload only: the do-not-mail list matches on it. (decision 17) */
  readonly email: string | null;
  readonly contact: Uuid | null;
}

export interface SendRequest {
  readonly org: OrganizationId;
  readonly command: Command;
  readonly source: Order['source'];
  /** The client's Idempotency-Key and the SHA-256 of the body's canonical JSON. */
  readonly idempotency: { readonly key: string; readonly body: string } | null;
  /** Called once the key is claimed. Throws refusals that stand before every field. */
  readonly draft: () => CardDraft | Promise<CardDraft>;
}

/** The organization's copy of a collection card, made by this send. */
export interface DesignCopy {
  readonly save: (state: Organization) => OrganizationEvent[];
  readonly write: StreamWrite;
}

export interface PlacedOrder {
  readonly event: FirstEvent;
  readonly copy: DesignCopy | null;
}

/** How arrival dates are reckoned, and where. (decisions 18, 20) */
export interface OrderPlanning extends ProductionPlanning {
  readonly timeZone: string;
}

/**
 * Tells whose card a code is: the same for every request with the same key, another for each without.
 * (money.md, rule 7)
 */
export const requestOf = ({ org, command, idempotency }: SendRequest): string =>
  idempotency === null ? command.id : derivedUuid('request', org, 'key', idempotency.key);

/**
 * Reads the draft's fields in order, the design last, looks up what they name, and makes the card's first
 * event of them. Throws the first refusal. (decisions 1, 2)
 */
export const placeOrder = async (
  streams: Streams,
  planning: OrderPlanning,
  request: SendRequest,
  draft: CardDraft,
): Promise<PlacedOrder> => {
  const { org, command, source } = request;
  const letter = { recipient: unwrap(draft.recipient), message: unwrap(draft.message) };
  const latest = latestArrival(unwrap(draft.arriveOn), command, planning);
  const owner = await streams.load(organization, org);
  const hand = await chooseHand(streams, unwrap(draft.handwriting), owner.state);
  const reference = unwrap(draft.reference);
  const { design, copy } = await chooseDesign(streams, request, unwrap(draft.designId), owner);
  const order: Order = {
    org,
    request: requestOf(request),
    source,
    design,
    handwriting: hand,
    window: arrivalWindow(latest),
    due: dueDay(latest, planning),
    reference,
    contact: draft.contact,
  };
  const listed =
    draft.email !== null && (await streams.load(doNotMail, doNotMailId(org, draft.email))).state.listed;
  const reason = reasonToHold({ ...letter, doNotMail: listed });
  return { event: reason === null ? schedule(order, letter) : takeInHeld(order, letter, reason), copy };
};

const latestArrival = (arriveOn: LocalDate | null, { at }: Command, planning: OrderPlanning) => {
  const now = today(at, planning.timeZone);
  return arriveOn === null ? soonestArrival(now, planning) : honored(arriveOn, now, planning);
};

const longestName = 200;
const control = /\p{Cc}/u;

/** What the catalogue has under a name; names that nothing in it can have are not looked up. */
export const lookUp = async <T>(
  name: string,
  load: (name: string) => Promise<Loaded<T | null>>,
): Promise<T | null> =>
  name === '' || name.length > longestName || control.test(name) ? null : (await load(name)).state;

const chooseHand = async (streams: Streams, wish: string | null, owner: Organization): Promise<string> =>
  wish === null
    ? created(owner).houseHand
    : offeredHand(await lookUp(foldName(wish), (name) => streams.load(handwriting, name)));

const chooseDesign = async (
  streams: Streams,
  { org, command }: SendRequest,
  designId: string | null,
  owner: Loaded<Organization>,
): Promise<{ readonly design: Order['design']; readonly copy: DesignCopy | null }> => {
  const state = created(owner.state);
  const slug = designId === null ? null : slugOf(designId);
  if (slug === null) {
    const saved = designId === null ? defaultDesign(state) : savedDesign(state, designId);
    return { design: { id: saved.id, slug: saved.slug, copied: false }, copy: null };
  }
  const name = offeredTitle(await lookUp(slug, (known) => streams.load(collectionCard, known)));
  const existing = copyOf(state, slug);
  if (existing !== null) return { design: { id: existing.id, slug, copied: false }, copy: null };
  const id = nextCopyId(state, org, slug);
  const save = saveDesign({ id, name, slug });
  const write = streams.write(
    organization,
    owner,
    save(state).map((event) => ({ event, command })),
  );
  return { design: { id, slug, copied: true }, copy: { save, write } };
};

/**
 * Checks that a card could be sent with a design now; null: the default is meant, whatever it will be. Throws
 * `not_found` for an unknown organization, `design_not_found`.
 */
export const checkDesign = async (
  streams: Streams,
  org: OrganizationId,
  designId: string | null,
): Promise<void> => {
  const state = created((await streams.load(organization, org)).state);
  if (designId === null) return;
  const slug = slugOf(designId);
  if (slug === null) savedDesign(state, designId);
  else offeredTitle(await lookUp(slug, (known) => streams.load(collectionCard, known)));
};
