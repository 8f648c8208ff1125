import { z } from 'zod';
import { readBirthday, readWorkAnniversary } from '../../../domain/calendar.js';
import {
  composeNames,
  maxContactTextLength,
  maxPhoneLength,
  readExternalId,
  readName,
  type ContactDetails,
} from '../../../domain/contact.js';
import { readEmail } from '../../../domain/email.js';
import { unwrap } from '../../../domain/errors.js';
import { addressPart, readState, readZip, withinUs } from '../../../domain/recipient.js';
import { readLine } from '../../../domain/text.js';
import { country, exampleRecipient } from './card-fields.js';
import { optional, optionalText, annotations } from '../schema/fields.js';
import { parseFields } from '../schema/read.js';
import * as shown from '../schema/shown.js';

const part = (description: string, example: string, rule = addressPart) =>
  optionalText(description, example, { rule });

const address = z
  .object({
    line1: part('The first line of the street address.', exampleRecipient.line1),
    line2: part('The second line of the street address.', 'Apt 4'),
    city: part('The city.', exampleRecipient.city),
    state: part(
      'Two-letter code of a US state or territory, in any case.',
      exampleRecipient.state,
      readState,
    ),
    zip: part('Five digits, optionally +4.', exampleRecipient.zip, readZip),
    country,
  })
  .meta(
    annotations({
      code: 'invalid_recipient',
      description: 'As much of it as is known. Every part that is sent must have the right form.',
    }),
  );

export const noAddress = {
  line1: null,
  line2: null,
  city: null,
  state: null,
  zip: null,
  country: 'US',
} as const;

const nameCodes = ['missing_name', 'invalid_parameter'] as const;
const namePart = (description: string, example: string) =>
  optionalText(description, example, { code: 'missing_name', codes: nameCodes, rule: readName });

const line = (description: string, example: string, maxLength = maxContactTextLength) =>
  optionalText(description, example, { maxLength, rule: readLine });

/**
 * A complete contact as a client sends it, in the order in which refusals are reported. (decision 2: of
 * several wrong fields, one is reported)
 */
export const contactRecord = shown.component(
  'ContactInput',
  'A complete contact: what is left out is empty afterwards.',
  {
    external_id: optionalText(
      'Your own identifier, case-sensitive: the contact with it is replaced. Without it, every call creates a contact.',
      'crm-1001',
      { number: 'text', rule: readExternalId },
    ),
    name: namePart(
      'Required unless `first_name` or `last_name` is sent. Its first word becomes the first name, the rest the last name.',
      'Ada Lovelace',
    ),
    first_name: namePart(
      `Together with \`last_name\`, preferred to \`name\`. Both together have at most ${maxContactTextLength} characters, too.`,
      'Ada',
    ),
    last_name: namePart('The last name.', 'Lovelace'),
    company: line('The variable {{company}} in the template of a hook.', 'Analytical Engines'),
    job_title: line('The variable {{job_title}} in the template of a hook.', 'Mathematician'),
    email: optionalText(
      'Not checked. Kept in lower case; of `Name <address>` the address.',
      'ada@example.com',
      { list: 'of one', rule: readEmail },
    ),
    phone: line('The telephone number. It is stored and never used.', '+1 217 555 0100', maxPhoneLength),
    address: optional(address),
    birthday: optionalText('MM-DD or YYYY-MM-DD. The year is not kept.', '12-10', {
      code: 'invalid_birthday',
      rule: readBirthday,
    }),
    work_anniversary: optionalText(
      'YYYY-MM-DD. The variable {{years}} in the template of a hook is counted from it.',
      '2020-02-29',
      { code: 'invalid_date', format: 'date', rule: readWorkAnniversary },
    ),
  },
  {
    examples: [
      {
        external_id: 'crm-1001',
        name: 'Ada Lovelace',
        company: 'Analytical Engines',
        email: 'ada@example.com',
        address: { line1: '12 Analytical Way', city: 'Springfield', state: 'IL', zip: '62701' },
        birthday: '12-10',
      },
    ],
  },
);

/**
 * Reads a complete contact; fields that are left out are null. Throws `invalid_parameter`, `missing_name`,
 * `invalid_recipient`, `invalid_birthday` or `invalid_date`: the first in the order of the fields.
 */
export const readContact = (body: Readonly<Record<string, unknown>>): ContactDetails => {
  const fields = parseFields(contactRecord, body);
  return {
    externalId: unwrap(fields.external_id),
    ...composeNames(unwrap(fields.name), unwrap(fields.first_name), unwrap(fields.last_name)),
    company: unwrap(fields.company),
    jobTitle: unwrap(fields.job_title),
    email: unwrap(fields.email),
    phone: unwrap(fields.phone),
    address: withinUs(unwrap(fields.address) ?? noAddress, 'address'),
    birthday: unwrap(fields.birthday),
    workAnniversary: unwrap(fields.work_anniversary),
  };
};
