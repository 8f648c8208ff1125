import type { ContactDetails } from '../../../domain/contact.js';
import { states } from '../../../domain/recipient.js';
import { readContact } from '../api/contact-fields.js';
import { Choice, Field } from '../web/form.js';
import type { Sent } from './page.js';

/** The record that the form holds. Throws the refusal of the first wrong field. */
export const contactFrom = (sent: Sent, externalId: string | null): ContactDetails =>
  readContact({
    external_id: externalId ?? sent('external_id'),
    first_name: sent('first_name'),
    last_name: sent('last_name'),
    company: sent('company'),
    job_title: sent('job_title'),
    email: sent('email'),
    phone: sent('phone'),
    address: {
      line1: sent('address.line1'),
      line2: sent('address.line2'),
      city: sent('address.city'),
      state: sent('address.state'),
      zip: sent('address.zip'),
    },
    birthday: sent('birthday'),
    work_anniversary: sent('work_anniversary'),
  });

const textsOf = (details: ContactDetails | null): Readonly<Record<string, string | null>> =>
  details === null
    ? {}
    : {
        first_name: details.firstName,
        last_name: details.lastName,
        company: details.company,
        job_title: details.jobTitle,
        email: details.email,
        phone: details.phone,
        'address.line1': details.address.line1,
        'address.line2': details.address.line2,
        'address.city': details.address.city,
        'address.state': details.address.state,
        'address.zip': details.address.zip,
        birthday: details.birthday,
        work_anniversary: details.workAnniversary,
      };

interface Props {
  /** The stored details; null for a new contact. */
  readonly details: ContactDetails | null;
}

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

/** Every field of a contact: an empty one is cleared. */
export const ContactFields = ({ details }: Props) => {
  const known = textsOf(details);
  const at = (name: string) => ({
    name,
    label: contactLabels[name] ?? name,
    value: known[name] ?? '',
  });
  const optional = (name: string) => <Field {...at(name)} required={false} />;
  return (
    <>
      <div class="beside">
        <Field {...at('first_name')} />
        {optional('last_name')}
      </div>
      <div class="beside">
        {optional('company')}
        {optional('job_title')}
      </div>
      <div class="beside">
        {optional('email')}
        {optional('phone')}
      </div>
      {optional('address.line1')}
      {optional('address.line2')}
      <div class="beside">
        {optional('address.city')}
        <Choice
          {...at('address.state')}
          options={['', ...[...states].sort()].map((value) => ({ value, name: value }))}
        />
        {optional('address.zip')}
      </div>
      <div class="beside">
        <Field {...at('birthday')} hint="MM-DD" required={false} />
        <Field {...at('work_anniversary')} hint="YYYY-MM-DD" required={false} />
      </div>
    </>
  );
};
