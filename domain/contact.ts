import { z } from 'zod';
import { MonthDay, parseBirthday, parseWorkAnniversary, wholeYearsSince } from './calendar.js';
import { DomainError } from './errors.js';
import { events, type Aggregate, type EventOf } from './events.js';
import { derivedUuid, Instant, LocalDate, OrganizationId, streamName, type Uuid } from './ids.js';
import { AddressParts, parseAddressParts } from './recipient.js';
import { ownProperty, type Payload } from './template.js';
import { clean, countCharacters } from './text.js';

/** A person in an organization's address book. */
export const contactStream = (id: Uuid) => streamName('contact', id);

/**
 * The id of the contact with this `external_id`: "the stream must not exist" is the uniqueness rule.
 * (decision 45)
 */
export const contactIdOf = (org: OrganizationId, externalId: string): Uuid =>
  derivedUuid('contact', org, externalId);

/** The complete record, replaced as a whole. (spec: Contact) */
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
  ContactCreated: { org: OrganizationId, at: Instant, personal: ContactDetails },
  ContactReplaced: { at: Instant, personal: ContactDetails },
});
export type ContactEvent = EventOf<typeof contactEvents>;

export interface KnownContact {
  readonly details: ContactDetails;
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
}

/** Null: there is no such contact. */
export type Contact = KnownContact | null;

/** The contact that an event leaves. */
export const withContactEvent = (before: KnownContact | null, { data }: ContactEvent): KnownContact => ({
  details: data.personal,
  createdAt: before?.createdAt ?? data.at,
  updatedAt: data.at,
});

export const contact: Aggregate<Contact, ContactEvent> = {
  category: 'contact',
  schemas: contactEvents,
  schemaVersion: 1,
  initial: null,
  evolve: withContactEvent,
};

/**
 * The later of now and just after the last change: `updated_at` moves with every update, whatever the clock
 * does. (decision 45)
 */
const movedOn = (now: Instant, last: Instant): Instant =>
  Instant.parse(new Date(Math.max(Date.parse(now), Date.parse(last) + 1)).toISOString());

/** Creates the contact, or replaces every field of the one that exists. (spec: POST /api/v1/contacts) */
export const saveContact =
  (org: OrganizationId, details: ContactDetails, at: Instant) =>
  (state: Contact): ContactEvent[] =>
    state === null
      ? [{ type: 'ContactCreated', data: { org, at, personal: details } }]
      : [{ type: 'ContactReplaced', data: { at: movedOn(at, state.updatedAt), personal: details } }];

/** In characters. (decision 42) */
export const longestExternalId = 255;

const invalidParameter = (field: string, message: string) =>
  new DomainError('invalid_parameter', message, field);

const orNull = (text: string): string | null => (text === '' ? null : text);

/**
 * The client's own identifier; a number is one too, blank is none. Throws `invalid_parameter`. (decisions 7,
 * 42)
 */
export const parseExternalId = (value: unknown): string | null => {
  if (value === undefined || value === null) return null;
  if (typeof value === 'number' && Number.isFinite(value)) return String(value);
  if (typeof value !== 'string')
    throw invalidParameter('external_id', '`external_id` must be a string or a number.');
  const id = value.trim();
  if (countCharacters(id) > longestExternalId)
    throw invalidParameter('external_id', `\`external_id\` is longer than ${longestExternalId} characters.`);
  return orNull(id);
};

const readText = (body: Payload, field: string): string | null => {
  const value = ownProperty(body, field) ?? null;
  if (value === null) return null;
  if (typeof value !== 'string') throw invalidParameter(field, `\`${field}\` must be a string.`);
  return orNull(value.trim());
};

const readName = (body: Payload, field: string): string | null => {
  const value = ownProperty(body, field) ?? null;
  if (value === null) return null;
  if (typeof value !== 'string')
    throw new DomainError('missing_name', `\`${field}\` must be a string.`, field);
  return orNull(clean(value).replace(/\s+/gu, ' '));
};

/**
 * First and last name compose the name; a name alone is taken apart after its first word. (spec: POST
 * /api/v1/contacts; decision 42)
 */
const readNames = (body: Payload): Pick<ContactDetails, 'name' | 'firstName' | 'lastName'> => {
  const [name, firstName, lastName] = [
    readName(body, 'name'),
    readName(body, 'first_name'),
    readName(body, 'last_name'),
  ];
  if (firstName !== null || lastName !== null)
    return { name: [firstName, lastName].filter((part) => part !== null).join(' '), firstName, lastName };
  if (name === null)
    throw new DomainError('missing_name', 'A contact needs `name`, or `first_name` and `last_name`.', 'name');
  const end = name.indexOf(' ');
  return end === -1
    ? { name, firstName: name, lastName: null }
    : { name, firstName: name.slice(0, end), lastName: name.slice(end + 1) };
};

const isLeftOut = (value: unknown): boolean =>
  value === undefined || value === null || (typeof value === 'string' && clean(value) === '');

const optional = <T>(value: unknown, read: (value: unknown) => T): T | null =>
  isLeftOut(value) ? null : read(value);

/**
 * The complete record that a client sends; fields that it leaves out are null.
 * Throws `invalid_parameter`, `missing_name`, `invalid_recipient`, `invalid_birthday` or `invalid_date`, in
 * the order of the specification's table.
 */
export const parseContact = (body: Payload): ContactDetails => ({
  externalId: parseExternalId(ownProperty(body, 'external_id')),
  ...readNames(body),
  company: readText(body, 'company'),
  jobTitle: readText(body, 'job_title'),
  email: readText(body, 'email'),
  phone: readText(body, 'phone'),
  address: parseAddressParts(ownProperty(body, 'address')),
  birthday: optional(ownProperty(body, 'birthday'), parseBirthday),
  workAnniversary: optional(ownProperty(body, 'work_anniversary'), parseWorkAnniversary),
});

/** An e-mail address as it is compared. (decision 43) */
export const foldEmail = (email: string): string => email.trim().toLowerCase();

/** What a hook's template may take from the contact with the payload's `external_id`. (decision 48) */
export const contactVariables = (
  { company, jobTitle, workAnniversary }: ContactDetails,
  today: LocalDate,
): Readonly<Record<string, string | null>> => ({
  company,
  job_title: jobTitle,
  years: workAnniversary === null ? null : String(wholeYearsSince(workAnniversary, today)),
});
