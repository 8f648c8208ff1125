import type { CardStatus, steps } from '../../../../domain/card.js';
import { firstRequest } from '../../document/first-card.js';
import { Call, Code } from '../code.js';
import type { Guide } from '../page.js';
import { grid, note, rowsAbout } from '../text.js';

const statusMeanings: Readonly<Record<CardStatus, readonly [means: string, cancel: string]>> = {
  pending: ['Accepted and paid for; production begins later.', 'Yes, the credit comes back.'],
  queued: ['Production begins as soon as there is room.', 'Yes, the credit comes back.'],
  in_production: ['On the machines.', 'No.'],
  written: ['The pen has finished card and envelope.', 'No.'],
  packed: ['In its envelope, with a stamp.', 'No.'],
  posted: ['Handed to the carrier. The last status of a card that was mailed.', 'No.'],
  blocked: ['A person has to look at it; `held_reason` says why.', 'Yes, nothing was charged.'],
  cancelled: ['Stopped before it was made.', 'It is.'],
  failed: ['Spoiled in production; its credit came back.', 'There is nothing to cancel.'],
};

const stepMeanings: Readonly<Record<(typeof steps)[number], string>> = {
  card_stock_prepared: 'The printed card is laid out.',
  card_written: 'The pen writes the message.',
  envelope_addressed: 'The pen writes the address.',
  packed: 'The card goes into its envelope.',
  stamped: 'The stamp goes on.',
  posted: 'The carrier takes it; `mailed_at` is set.',
};

export const cards: Guide = ({ baseUrl }) => ({
  arrival: [
    'When a card arrives',
    '`arrives_between` is a window of four or five days that ends on the arrive-by date: the `arrive_on` that you sent, or the earliest possible date. It is a window and never a promise.',
    'Making a card takes business days, mailing it calendar days; the earliest possible date is never a Sunday or a postal holiday. A date that is too soon is refused with [`invalid_date`](/docs/errors/invalid_date), and the message gives the earliest possible one.',
  ],
  states: [
    'States',
    '`status` of a card that you look up. On the response to a send, `pending` is called `scheduled` and `blocked` is called `held`; both words also work as filters.',
    grid('States of a card', ['Status', 'Means', 'Can be cancelled'], rowsAbout(statusMeanings)),
    <Call name="list" url={`${baseUrl}/api/v1/cards?status=pending`} />,
  ],
  steps: [
    'Steps',
    'A card that you look up has six `steps`, always in this order. Each is `pending`, `in_progress`, `completed` or `failed`; a failed step is tried again.',
    grid('Steps of production', ['Step', 'What is done'], rowsAbout(stepMeanings)),
  ],
  'held-cards': [
    'Cards that wait for a person',
    "Some valid requests need a person before the card is written: the pen can't write some of the characters, a line does not fit on the envelope, a part of the address was not filled in, the message does not fit on the card, or the recipient is on your do-not-mail list. The response is still a 201. Its status is `held`, `held_reason` says why in plain words, and nothing is charged.",
    'When the card is released, one credit is spent; when you cancel it, there is nothing to refund. `POST /api/v1/previews` shows beforehand whether a message fits, and what the card will look like.',
  ],
  cancelling: [
    'Cancelling',
    'Until it reaches a machine. A repeat is answered with 200, too, and gives back nothing: its `credits_refunded` is 0.',
    <Call name="cancel" method="DELETE" url={`${baseUrl}/api/v1/cards/$CARD`} />,
    'Afterwards it is a 409, [`too_late_to_cancel`](/docs/errors/too_late_to_cancel), and the message says where the card is. A later `arrive_on` leaves more time.',
  ],
});

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

export const contacts: Guide = ({ baseUrl }) => ({
  saving: [
    'Create or replace',
    '`external_id` is your id of the person. The first call with it creates the contact (201), every later one replaces it (200).',
    <Call name="save" url={`${baseUrl}/api/v1/contacts`} body={contact} />,
    '- **Send the whole record each time:** a field that you leave out becomes null. `id` and `created_at` stay.',
    '- Without `external_id` every call creates a new contact. Nothing is matched by e-mail.',
    '- One of `name`, `first_name` and `last_name` is enough. The year of a birthday is not kept; that of a work anniversary is, since templates can count the `{{years}}`.',
  ],
  finding: [
    'Find one again',
    'By your id, or by e-mail whose case does not matter:',
    <Call name="find" url={`${baseUrl}/api/v1/contacts?external_id=crm-7`} />,
  ],
  'in-templates': [
    'Contacts and hooks',
    'A payload of an [inbound hook](/docs/hooks) that has an `external_id` may use `{{company}}`, `{{job_title}}` and `{{years}}` of that contact in its template.',
  ],
  'limits-of-contacts': [
    "What keys can't do",
    "Contacts can't be deleted, and people can't be put on the do-not-mail list, through the API: use the console. An address may lack parts, but each part that is sent must have the right form; whether mail arrives there is not checked, so its `status` is always `unverified`.",
  ],
});

const payload = { recipient: firstRequest.recipient, order: { number: 42 }, id: 'A-1001' };

const template = 'Dear {{first_name}},\nthank you for your order {{order.number}}.\n{{sender_name}}';

const variables: readonly (readonly string[])[] = [
  ['`{{full_name}}`', 'The name of the recipient.'],
  ['`{{first_name}}`', 'The first name that was sent, else the first word of the name.'],
  ['`{{sender_name}}`', 'The setting Signed by of the hook.'],
  ['`{{order.number}}`', 'Any field of the payload, nested ones with dots; names are compared exactly.'],
  ['`{{company}}`, `{{job_title}}`, `{{years}}`', 'Of the contact with the `external_id` of the payload.'],
];

export const hooks: Guide = ({ hasConsole }) => ({
  'inbound-hooks': [
    'A URL that sends cards',
    'An inbound hook is a secret URL: a form tool or a shop posts JSON to it, and a card is sent. One POST is one card and one credit.',
    <Call name="fire" url="$HOOK_URL" credential={null} body={payload} />,
    note('The token in the URL is its only credential. Treat the URL like a password.'),
    `A hook has a design, a message template and a name for the signature. ${hasConsole ? 'You make, change, pause and delete hooks in the console, under Integrations, where you also see every call with its result.' : 'The people who run the service make, change, pause and delete hooks for you.'}`,
  ],
  payload: [
    'What the payload looks like',
    'The recipient stands at the top level or inside `recipient`, whichever the tool likes. `address1`, `address2` and `postal_code` are understood, `first_name` and `last_name` are joined, and `id` becomes the reference. [The reference](/docs/reference/hooks) lists every field.',
  ],
  templates: [
    'Templates',
    <Code language="text" title="A template" source={template} />,
    grid('Variables of templates', ['Variable', 'Stands for'], variables),
    'If a value is missing or blank, nothing is sent: 422 [`template_incomplete`](/docs/errors/template_incomplete) names every missing one. A `message` in the payload wins over the template.',
  ],
  verifying: [
    'Tools that check a URL first',
    'Some tools fetch a URL before they save it. A GET answers that the hook is ready, and sends nothing. It does not check the token: only a POST does.',
    <Call name="verify" url="$HOOK_URL" credential={null} />,
  ],
});
