import { z } from 'zod';
import { MonthDay, wholeYearsSince } from './calendar.js';
import { DomainError } from './errors.js';
import { events, type Aggregate, type EventOf } from './events.js';
import { derivedUuid, Instant, LocalDate, OrganizationId, type Uuid } from './ids.js';
import { AddressParts } from './recipient.js';
import { clean, countCharacters, limitedText, readLine, withMaxLength } from './text.js';

/**
 * The id of the contact with this `external_id`: that its stream must not exist yet keeps it unique. Once
 * `deleted` contacts with it were deleted, the next one has another id. (decision 45: two saves at once, and
 * what an update keeps)
 */
export const contactIdOf = (org: OrganizationId, externalId: string, deleted = 0): Uuid =>
  deleted === 0 ? derivedUuid('contact', org, externalId) : derivedUuid('contact', org, externalId, deleted);

/** The complete record: every update replaces all of it. (docs/contract.md#contacts) */
export const ContactDetails = z.object({
  externalId: z.string().nullable(),
  name: z.string(),
  firstName: z.string().nullable(),
  lastName: z.string().nullable(),
  company: z.string().nullable(),
  jobTitle: z.string().nullable(),
  email: z.string().nullable(),
  phone: z.string().nullable(),
  address: AddressParts,
  birthday: MonthDay.nullable(),
  workAnniversary: LocalDate.nullable(),
});
export type ContactDetails = z.infer<typeof ContactDetails>;

export const contactEvents = events({
  ContactCreated: { org: OrganizationId, at: Instant, personal: ContactDetails.nullable() },
  ContactReplaced: { at: Instant, personal: ContactDetails.nullable() },
  /** The details are erased. A later save fills them again. */
  ContactErased: { at: Instant, reason: z.string() },
  /** The details are erased, and nothing can be saved here again. */
  ContactDeleted: { at: Instant },
});
export type ContactEvent = EventOf<typeof contactEvents>;

export interface KnownContact {
  /** Null if they were erased or can't be read any more. */
  readonly details: ContactDetails | null;
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
  /** When the details were erased; null if they were not, or were saved again since. */
  readonly erasedAt: Instant | null;
  /** Null while it is in the address book. */
  readonly deletedAt: Instant | null;
}

/** Null: there is no such contact. */
export type Contact = KnownContact | null;

/** The contact that an event leaves. */
export const withContactEvent = (before: KnownContact | null, event: ContactEvent): KnownContact => {
  const { at } = event.data;
  const created = before?.createdAt ?? at;
  const gone = { details: null, createdAt: created, updatedAt: at, erasedAt: null, deletedAt: null };
  switch (event.type) {
    case 'ContactCreated':
    case 'ContactReplaced':
      return { ...gone, details: event.data.personal };
    case 'ContactErased':
      return { ...gone, erasedAt: at };
    case 'ContactDeleted':
      return { ...gone, erasedAt: before?.erasedAt ?? null, deletedAt: at };
  }
};

export const contact: Aggregate<Contact, ContactEvent> = {
  category: 'contact',
  schemas: contactEvents,
  initial: null,
  evolve: withContactEvent,
};

/**
 * The later of now and just after the last change: `updated_at` moves with every update, whatever the clock
 * does. (decision 45: two saves at once, and what an update keeps)
 */
const movedOn = (now: Instant, last: Instant): Instant =>
  Instant.parse(new Date(Math.max(Date.parse(now), Date.parse(last) + 1)).toISOString());

/**
 * Creates the contact, or replaces every field of it; records nothing if it was deleted.
 * (docs/contract.md#contacts)
 */
export const saveContact =
  (org: OrganizationId, details: ContactDetails, at: Instant) =>
  (state: Contact): ContactEvent[] => {
    if (state === null) return [{ type: 'ContactCreated', data: { org, at, personal: details } }];
    if (state.deletedAt !== null) return [];
    return [{ type: 'ContactReplaced', data: { at: movedOn(at, state.updatedAt), personal: details } }];
  };

/** The same for the same details. */
const textOf = (details: ContactDetails): string => JSON.stringify(ContactDetails.parse(details));

const isSaved = (state: Contact, details: ContactDetails): boolean =>
  state !== null && state.details !== null && textOf(state.details) === textOf(details);

/** The same for a form, which may come twice: saving unchanged values records nothing. */
export const saveContactOnce =
  (org: OrganizationId, details: ContactDetails, at: Instant) =>
  (state: Contact): ContactEvent[] =>
    isSaved(state, details) ? [] : saveContact(org, details, at)(state);

const erasedAlready = (): DomainError =>
  new DomainError('invalid_transition', 'This contact was erased. Make a new one instead.');

type Save = (org: OrganizationId, details: ContactDetails, at: Instant) => (state: Contact) => ContactEvent[];

/** As a save, but an erased contact stays erased. Throws `invalid_transition`. */
const unlessErased =
  (save: Save): Save =>
  (...saved) =>
  (state) => {
    if (state !== null && state.erasedAt !== null && state.deletedAt === null) throw erasedAlready();
    return save(...saved)(state);
  };

/** For those who run the service: their files may be older than an erasure. */
export const saveUnerased = unlessErased(saveContact);

/** The same for a row of a file: saving unchanged values records nothing. */
export const importContact = unlessErased(saveContactOnce);

const noSuchContact = (): DomainError =>
  new DomainError('not_found', 'There is no such contact in this organization.');

/**
 * Asserts that the contact is unchanged since it was `seen`, which is its `updatedAt`. Throws `not_found`,
 * and `invalid_transition`.
 */
const assertUnchanged = (state: Contact, seen: string): KnownContact => {
  if (state === null || state.deletedAt !== null) throw noSuchContact();
  if (state.erasedAt !== null) throw erasedAlready();
  if (state.updatedAt !== seen)
    throw new DomainError(
      'invalid_transition',
      'This contact was changed after you opened it. Nothing was saved: reload it, and make your changes again.',
    );
  return state;
};

/**
 * Replaces every field of the contact that was `seen`. Saving unchanged values records nothing. Throws
 * `not_found`, and `invalid_transition` if it was erased or changed since.
 */
export const replaceSeenContact =
  (org: OrganizationId, details: ContactDetails, seen: string, at: Instant) =>
  (state: Contact): ContactEvent[] =>
    isSaved(state, details) ? [] : saveContact(org, details, at)(assertUnchanged(state, seen));

/**
 * Deletes the contact that was `seen`; a repeat records nothing. Throws `not_found`, and `invalid_transition`
 * if it was erased or changed since.
 */
export const deleteContact =
  (seen: string, at: Instant) =>
  (state: Contact): ContactEvent[] => {
    if (state !== null && state.deletedAt !== null) return [];
    const { updatedAt } = assertUnchanged(state, seen);
    return [{ type: 'ContactDeleted', data: { at: movedOn(at, updatedAt) } }];
  };

/**
 * Erases the details of a contact; a repeat records nothing. Throws `not_found`.
 * (docs/operations.md#erase-personal-data)
 */
export const eraseContact =
  (reason: string, at: Instant) =>
  (state: Contact): ContactEvent[] => {
    if (state === null) throw noSuchContact();
    return state.erasedAt === null && state.deletedAt === null
      ? [{ type: 'ContactErased', data: { at: movedOn(at, state.updatedAt), reason } }]
      : [];
  };

/** In characters. (decision 42: names and identifiers of a contact) */
const maxExternalIdLength = 255;

/**
 * The client's own identifier, as it was sent. Throws `invalid_parameter`. (decision 42: names and
 * identifiers of a contact)
 */
export const readExternalId = limitedText(
  maxExternalIdLength,
  (length) =>
    new DomainError(
      'invalid_parameter',
      `An external id has at most ${maxExternalIdLength} characters, not ${length}.`,
    ),
  (text) => text,
);

/** The longest name, company and job title of a contact, in characters. (docs/contract.md#limits) */
export const maxContactTextLength = 200;
export const maxPhoneLength = 40;

const nameTooLong = (length: number, param: string | null = null): DomainError =>
  new DomainError(
    'invalid_parameter',
    `The name of a contact has at most ${maxContactTextLength} characters, not ${length}.`,
    param,
  );

const limitedName = limitedText(maxContactTextLength, nameTooLong, (text) => text);

/**
 * A name as it is kept: nothing invisible, and white space only as single spaces inside. Throws
 * `invalid_parameter` if it is too long. (decision 42: names and identifiers of a contact)
 */
export const readName = withMaxLength(
  maxContactTextLength,
  (text) => limitedName((readLine(clean(text)) ?? '').replace(/\s+/gu, ' ')) || null,
);

/**
 * First and last name make up the full name; a full name alone is split after its first word. Throws
 * `missing_name`, or `invalid_parameter` if both together are too long. (decision 42: names and identifiers
 * of a contact)
 */
export const composeNames = (
  name: string | null,
  firstName: string | null,
  lastName: string | null,
): Pick<ContactDetails, 'name' | 'firstName' | 'lastName'> => {
  if (firstName !== null || lastName !== null) {
    const whole = [firstName, lastName].filter((part) => part !== null).join(' ');
    const length = countCharacters(whole);
    if (length > maxContactTextLength) throw nameTooLong(length, 'first_name');
    return { name: whole, firstName, lastName };
  }
  if (name === null)
    throw new DomainError('missing_name', 'Provide at least one of `name`, `first_name` and `last_name`.');
  const end = name.indexOf(' ');
  return end === -1
    ? { name, firstName: name, lastName: null }
    : { name, firstName: name.slice(0, end), lastName: name.slice(end + 1) };
};

/**
 * The variables that a contact provides to the template of a hook. (decision 48: what a template variable
 * stands for)
 */
export const contactVariables = (
  { company, jobTitle, workAnniversary }: ContactDetails,
  today: LocalDate,
): Readonly<Record<string, string | null>> => {
  const years = workAnniversary === null ? 0 : wholeYearsSince(workAnniversary, today);
  return { company, job_title: jobTitle, years: years < 1 ? null : String(years) };
};
