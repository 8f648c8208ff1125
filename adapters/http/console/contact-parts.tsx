import type { ContactImport } from '../../../application/contacts/imports.js';
import { listContacts } from '../../../application/contacts/list-contacts.js';
import type { ContactDetails } from '../../../domain/contact.js';
import { states } from '../../../domain/recipient.js';
import { type ContactDocument, contacts } from '../../../projections/contacts.js';
import { readContact } from '../api/contact-fields.js';
import { detailsBody } from '../api/contacts.js';
import { Choice, Field } from '../web/form.js';
import { Badge, type Tone } from '../web/parts.js';
import type { OrgContext, Sent } from './page.js';

const maxFound = 5;

/** The contacts with this e-mail address or external id. */
export const contactsLike = async (
  { deps, org }: OrgContext,
  text: string,
): Promise<readonly ContactDocument[]> => {
  if (text === '') return [];
  const find = (email: string | null, externalId: string | null) =>
    listContacts(deps.readModels, org, { email, externalId, startingAfter: null, limit: maxFound });
  const both = (await Promise.all([find(text, null), find(null, text)])).flat();
  return [...new Map(both.map((contact) => [contact.id, contact])).values()];
};

/** A contact of the organization; null for any other id. */
export const contactOf = async ({ deps, org }: OrgContext, id: string): Promise<ContactDocument | null> => {
  if (!/^[0-9a-f-]{36}$/.test(id)) return null;
  const document = (await deps.readModels.get(contacts, id))?.document ?? null;
  return document === null || contacts.org(document) !== org ? null : document;
};

const importTones: Readonly<Record<ContactImport['status'], Tone>> = {
  running: 'busy',
  done: 'good',
  stopped: 'idle',
  failed: 'bad',
};

export const ImportState = ({ status }: Pick<ContactImport, 'status'>) => (
  <Badge tone={importTones[status]}>{status}</Badge>
);

/** The fields of the form, by its lines. */
const lines = [
  ['first_name', 'last_name'],
  ['company', 'job_title'],
  ['email', 'phone'],
  ['address.line1'],
  ['address.line2'],
  ['address.city', 'address.state', 'address.zip'],
  ['birthday', 'work_anniversary'],
];

const parts = ['line1', 'line2', 'city', 'state', 'zip'] as const;

/** The record that the form holds. Throws the refusal of the first wrong field. */
export const contactFrom = (sent: Sent): ContactDetails =>
  readContact({
    ...Object.fromEntries(['external_id', ...lines.flat()].map((name) => [name, sent(name)])),
    address: Object.fromEntries(parts.map((part) => [part, sent(`address.${part}`)])),
  });

export const contactLabels: Readonly<Record<string, string>> = {
  external_id: 'External id',
  name: 'Name',
  first_name: 'First name',
  last_name: 'Last name',
  company: 'Company',
  job_title: 'Job title',
  email: 'E-mail',
  phone: 'Phone',
  'address.line1': 'Street',
  'address.line2': 'Apartment, suite, floor',
  'address.city': 'City',
  'address.state': 'State',
  'address.zip': 'ZIP',
  'address.country': 'Country',
  birthday: 'Birthday',
  work_anniversary: 'Work anniversary',
};

/** The states of an address, and none. */
export const stateOptions = ['', ...[...states].sort()].map((value) => ({ value, name: value }));

const hints: Readonly<Record<string, string>> = { birthday: 'MM-DD', work_anniversary: 'YYYY-MM-DD' };

/** Every field of a contact, with the stored details if it isn't new: an empty one is cleared. */
export const ContactFields = ({ details }: { readonly details: ContactDetails | null }) => {
  const { address, ...texts } = detailsBody(details);
  const ofAddress = parts.map((part) => [`address.${part}`, address[part]] as const);
  const known: Readonly<Record<string, string | null>> = { ...texts, ...Object.fromEntries(ofAddress) };
  const fieldOf = (name: string) => {
    const about = { name, label: contactLabels[name] ?? name, value: known[name] ?? '' };
    return name === 'address.state' ? (
      <Choice {...about} options={stateOptions} />
    ) : (
      <Field {...about} hint={hints[name]} optional={name !== 'first_name'} />
    );
  };
  return (
    <>
      {lines.map((names) =>
        names.length === 1 ? names.map(fieldOf) : <div class="beside">{names.map(fieldOf)}</div>,
      )}
    </>
  );
};
