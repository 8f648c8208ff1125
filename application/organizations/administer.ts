import {
  apiKey,
  issueKey,
  keyIdOf,
  operatorSecretFrom,
  revokeKey as decideToRevoke,
  secretFrom,
  issueOperatorKey,
  type IssuedKey,
  type IssuedOperatorKey,
} from '../../domain/api-key.js';
import {
  collectionCard,
  firstCollection,
  firstHandwritings,
  handwriting,
  handwritingId,
  putCollectionCard,
  putHandwriting,
  type CollectionEvent,
  type HandwritingEvent,
} from '../../domain/catalogue.js';
import { Front } from '../../domain/artwork.js';
import {
  addToDoNotMail as decideToAdd,
  doNotMail,
  doNotMailId,
  removeFromDoNotMail as decideToRemove,
  type DoNotMail,
  type DoNotMailEvent,
} from '../../domain/do-not-mail.js';
import type { Aggregate, DomainEvent } from '../../domain/events.js';
import { OrganizationId, Uuid } from '../../domain/ids.js';
import { house } from '../../domain/members.js';
import {
  assertRoom,
  chooseHouseHand,
  copyOf,
  created,
  createOrganization,
  nextCopyId,
  offered,
  organization,
  renameOrganization,
  saveDesign,
  suspendOrganization,
  type CreatedOrganization,
  type Organization,
  type OrganizationEvent,
} from '../../domain/organization.js';
import type { Artwork, MadeFronts } from '../ports/artwork.js';
import type { Authenticator } from '../access/authenticate.js';
import {
  newCommand,
  service,
  execute,
  type Initiator,
  type Decide,
  type Executed,
  type WriteDeps,
} from '../writing/execute.js';
import type { Moment } from '../history/as-of.js';
import type { LedgerQueue } from '../money/ledger-queue.js';
import { handNamed, lookUp } from '../cards/place-order.js';
import type { ReadYourWrites } from '../projecting/read-your-writes.js';

/** For the use cases of designs. */
export interface DesignDeps extends WriteDeps {
  readonly readYourWrites: ReadYourWrites;
}

/** For the use cases of operators. When a call returns, reads show its changes. */
export interface AdministrationDeps extends DesignDeps {
  readonly ledgers: LedgerQueue;
  readonly authenticator: Authenticator;
}

const run = async <State, Event extends DomainEvent>(
  deps: DesignDeps,
  initiator: Initiator,
  org: OrganizationId | null,
  aggregate: Aggregate<State, Event>,
  id: string,
  decide: Decide<State, Event>,
): Promise<Executed<State, Event>> => {
  const done = await execute(deps, aggregate, id, newCommand(deps, initiator, org), decide);
  if (done.position !== null) await deps.readYourWrites.afterWrite(done.position);
  return done;
};

export const organizationOf = async (
  { streams }: Pick<WriteDeps, 'streams'>,
  org: OrganizationId,
): Promise<CreatedOrganization> => created((await streams.load(organization, org)).state);

/** An organization as it was at a moment. Throws `not_found` if it was not there yet. */
export const organizationAt = async (
  { streams }: Pick<WriteDeps, 'streams'>,
  org: OrganizationId,
  moment: Moment,
): Promise<CreatedOrganization> => created((await streams.loadAt(organization, org, moment)).state);

/** For a new organization that names none: the first of `firstHandwritings` that is still offered. */
const defaultHouseHand = async ({ streams }: WriteDeps): Promise<string> => {
  for (const name of firstHandwritings)
    if ((await streams.load(handwriting, handwritingId(name))).state?.active) return name;
  return firstHandwritings[0];
};

/** An organization as operators see it. */
export interface OrganizationSummary {
  readonly id: OrganizationId;
  readonly name: string;
  readonly houseHand: string;
}

/** Throws `unknown_handwriting`. */
export const openOrganization = async (
  deps: AdministrationDeps,
  initiator: Initiator,
  name: string,
  houseHand: string | null,
): Promise<OrganizationSummary> => {
  const id = OrganizationId.parse(deps.entropy.uuid());
  const hand = houseHand === null ? await defaultHouseHand(deps) : await handNamed(deps.streams, houseHand);
  await run(deps, initiator, id, organization, id, createOrganization(name, hand));
  return { id, name, houseHand: hand };
};

/** An operator's change of an organization; null keeps a value. */
export interface OrganizationChange {
  readonly name: string | null;
  /** The handwriting of cards that are sent from now on without naming one. */
  readonly houseHand: string | null;
  readonly isSuspended: boolean | null;
}

/** Throws `not_found`, `unknown_handwriting`. */
export const changeOrganization = async (
  deps: AdministrationDeps,
  initiator: Initiator,
  org: OrganizationId,
  { name, houseHand, isSuspended }: OrganizationChange,
): Promise<OrganizationSummary & { readonly isSuspended: boolean }> => {
  await organizationOf(deps, org);
  const hand = houseHand === null ? null : await handNamed(deps.streams, houseHand);
  const { state } = await run(deps, initiator, org, organization, org, (before) => [
    ...(name === null ? [] : renameOrganization(name)(before)),
    ...(hand === null ? [] : chooseHouseHand(hand)(before)),
    ...(isSuspended === null ? [] : suspendOrganization(isSuspended)(before)),
  ]);
  const changed = created(state);
  return { id: org, name: changed.name, houseHand: changed.houseHand, isSuspended: changed.isSuspended };
};

/** A new API key. Its secret is not stored, so it is shown only here. Throws `not_found`. */
export const createKey = async (
  deps: AdministrationDeps,
  initiator: Initiator,
  org: OrganizationId,
  key: Omit<IssuedKey, 'org'>,
): Promise<{ readonly id: Uuid; readonly secret: string }> => {
  await organizationOf(deps, org);
  const secret = secretFrom(deps.entropy.bytes(32));
  const id = keyIdOf(secret);
  await run(deps, initiator, org, apiKey, id, issueKey({ org, ...key }));
  return { id, secret };
};

/** A new key for an operator. Its secret is not stored, so it is shown only here. */
export const createOperatorKey = async (
  deps: AdministrationDeps,
  initiator: Initiator,
  key: IssuedOperatorKey,
): Promise<{ readonly id: Uuid; readonly secret: string }> => {
  const secret = operatorSecretFrom(deps.entropy.bytes(32));
  const id = keyIdOf(secret);
  await run(deps, initiator, house, apiKey, id, issueOperatorKey(key));
  return { id, secret };
};

/** Takes effect at once in this process, within 5 s in the others. Throws `not_found`. */
export const revokeKey = async (
  deps: AdministrationDeps,
  initiator: Initiator,
  org: OrganizationId,
  id: string,
): Promise<void> => {
  const keyId = Uuid.parse(id);
  await run(deps, initiator, org, apiKey, keyId, decideToRevoke(org));
  deps.authenticator.forget(keyId);
};

/**
 * Saves a design; with a slug, it is the organization's copy of that collection card, which is not `made`
 * again. Throws `not_found`, `design_not_found`, `too_many_designs`. (decision 35: one copy per organization
 * and slug)
 */
export const addDesign = async (
  deps: DesignDeps,
  initiator: Initiator,
  org: OrganizationId,
  name: string,
  slug: string | null,
  fresh = Uuid.parse(deps.entropy.uuid()),
  front: Front | null = null,
): Promise<{ readonly id: Uuid; readonly name: string; readonly made: boolean }> => {
  const card = slug === null ? null : await lookUp(slug, (id) => deps.streams.load(collectionCard, id));
  const { state, events } = await run(deps, initiator, org, organization, org, (before) => {
    const owner = created(before);
    if (slug === null) {
      const saved = saveDesign({ id: fresh, name, slug, artwork: front })(before);
      if (saved.length > 0) assertRoom(owner);
      return saved;
    }
    if (copyOf(owner, slug) !== null) return [];
    const id = nextCopyId(owner, org, slug);
    return saveDesign({ id, name, slug, artwork: offered(card, slug).artwork })(before);
  });
  const copy = slug === null ? null : copyOf(created(state), slug);
  const { id, name: saved } = copy ?? { id: fresh, name };
  return { id, name: saved, made: events.length > 0 };
};

/**
 * Changes a design of an organization. One that is erased is archived, too, and its picture is removed within
 * an hour. Cards of one that is withdrawn are held unless they are in production, and stay held once it is
 * put back into use. Throws `not_found`.
 */
export const changeDesign = async (
  deps: DesignDeps,
  initiator: Initiator,
  org: OrganizationId,
  decide: (state: Organization) => OrganizationEvent[],
): Promise<void> => {
  await run(deps, initiator, org, organization, org, decide);
};

/** A use case that changes the do-not-mail list. It throws `not_found`. */
const listChange =
  (decide: (email: string) => (state: DoNotMail) => DoNotMailEvent[]) =>
  async (deps: DesignDeps, initiator: Initiator, org: OrganizationId, email: string) => {
    await organizationOf(deps, org);
    await run(deps, initiator, org, doNotMail, doNotMailId(org, email), decide(email));
  };

export const addToDoNotMail = listChange(decideToAdd);

export const removeFromDoNotMail = listChange(() => decideToRemove);

/** Without a front, the card keeps the one that it has. */
export const publishCollectionCard = async (
  deps: DesignDeps,
  initiator: Initiator,
  slug: string,
  title: string,
  active: boolean,
  front: Front | null = null,
): Promise<void> => {
  await run(deps, initiator, null, collectionCard, slug, putCollectionCard(title, active, front));
};

/** Returns the canonical name of the handwriting. */
export const offerHandwriting = async (
  deps: AdministrationDeps,
  initiator: Initiator,
  name: string,
  active: boolean,
): Promise<string> => {
  const id = handwritingId(name);
  const { state } = await run(deps, initiator, null, handwriting, id, putHandwriting(name, active));
  return state?.name ?? name;
};

/** Where the fronts of the first collection come from, and go to. */
export interface CollectionFronts {
  readonly artwork: Pick<Artwork, 'put' | 'renew'>;
  readonly frontOf: (slug: string) => Promise<MadeFronts[number]>;
}

/**
 * Offers the handwritings and collection cards of a new deployment. Items that were ever offered before stay
 * unchanged, even if they were withdrawn. Without `fronts`, the cards are titles.
 */
export const stockCatalogue = async (deps: DesignDeps, fronts?: CollectionFronts): Promise<void> => {
  const initiator = service('catalogue');
  const onlyNew =
    <State, Event extends HandwritingEvent | CollectionEvent>(put: (state: State) => Event[]) =>
    (state: State): Event[] =>
      state === null ? put(state) : [];
  for (const name of firstHandwritings)
    await run(deps, initiator, null, handwriting, handwritingId(name), onlyNew(putHandwriting(name, true)));
  const put = async (slug: string): Promise<MadeFronts[number] | null> => {
    const isNew = (await deps.streams.load(collectionCard, slug)).state === null;
    if (!isNew || fronts === undefined) return null;
    const front = await fronts.frontOf(slug);
    await fronts.artwork.put(front.digest, front.pictures);
    return front;
  };
  const made = await Promise.all(firstCollection.map(({ slug }) => put(slug)));
  for (const [at, { slug, title }] of firstCollection.entries()) {
    const front = made[at] ?? null;
    const publish = putCollectionCard(title, true, front && Front.parse(front));
    await run(deps, initiator, null, collectionCard, slug, onlyNew(publish));
    // Its event may have taken so long that it was removed as unused.
    if (front !== null && !(await fronts?.artwork.renew(front.digest)))
      await fronts?.artwork.put(front.digest, front.pictures);
  }
};
