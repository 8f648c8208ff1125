import { Call } from '../code.js';
import { part } from '../text.js';
import type { Guide } from '../page.js';

const contact = {
  external_id: 'crm-7',
  first_name: 'Ada',
  last_name: 'Lovelace',
  company: 'Analytical Engines',
  email: 'ada@example.com',
  address: { line1: '1 Main St', city: 'Springfield', state: 'IL', zip: '62701' },
  birthday: '12-10',
  work_anniversary: '2019-04-01',
};

export const contacts: Guide = ({ baseUrl }) => [
  part(
    'saving',
    'Create or replace',
    '`external_id` is your id of the person. The first call with it creates the contact (201), every later one replaces it (200).',
    <Call name="save" url={`${baseUrl}/api/v1/contacts`} body={contact} />,
    '- **Send the whole record each time:** a field that you leave out becomes null. `id` and `created_at` stay.',
    '- Without `external_id` every call creates a new contact. Nothing is matched by e-mail.',
    '- One of `name`, `first_name` and `last_name` is enough. The year of a birthday is not kept; that of a work anniversary is, since templates can count the `{{years}}`.',
  ),
  part(
    'finding',
    'Find one again',
    'By your id, or by e-mail whose case does not matter:',
    <Call name="find" url={`${baseUrl}/api/v1/contacts?external_id=crm-7`} />,
  ),
  part(
    'in-templates',
    'Contacts and hooks',
    'A payload of an [inbound hook](/docs/hooks) that has an `external_id` may use `{{company}}`, `{{job_title}}` and `{{years}}` of that contact in its template.',
  ),
  part(
    'limits-of-contacts',
    "What keys can't do",
    "Contacts can't be deleted, and people can't be put on the do-not-mail list, through the API: use the console. An address may lack parts, but each part that is sent must have the right form; whether mail arrives there is not checked, so its `status` is always `unverified`.",
  ),
];
