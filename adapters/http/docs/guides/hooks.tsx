import { firstRequest } from '../../document/first-card.js';
import { Call, Code } from '../code.js';
import { grid, note, part } from '../text.js';
import type { Guide } from '../page.js';

const payload = { recipient: firstRequest.recipient, order: { number: 42 }, id: 'A-1001' };

const template = 'Dear {{first_name}},\nthank you for your order {{order.number}}.\n{{sender_name}}';

const variables: readonly (readonly string[])[] = [
  ['`{{full_name}}`', 'The name of the recipient.'],
  ['`{{first_name}}`', 'The first name that was sent, else the first word of the name.'],
  ['`{{sender_name}}`', 'The setting Signed by of the hook.'],
  ['`{{order.number}}`', 'Any field of the payload, nested ones with dots; names are compared exactly.'],
  ['`{{company}}`, `{{job_title}}`, `{{years}}`', 'Of the contact with the `external_id` of the payload.'],
];

export const hooks: Guide = ({ hasConsole }) => [
  part(
    'inbound-hooks',
    'A URL that sends cards',
    'An inbound hook is a secret URL: a form tool or a shop posts JSON to it, and a card is sent. One POST is one card and one credit.',
    <Call name="fire" url="$HOOK_URL" credential={null} body={payload} />,
    note('The token in the URL is its only credential. Treat the URL like a password.'),
    `A hook has a design, a message template and a name for the signature. ${hasConsole ? 'You make, change, pause and delete hooks in the console, under Integrations, where you also see every call with its result.' : 'The people who run the service make, change, pause and delete hooks for you.'}`,
  ),
  part(
    'payload',
    'What the payload looks like',
    'The recipient stands at the top level or inside `recipient`, whichever the tool likes. `address1`, `address2` and `postal_code` are understood, `first_name` and `last_name` are joined, and `id` becomes the reference. [The reference](/docs/reference/hooks) lists every field.',
  ),
  part(
    'templates',
    'Templates',
    <Code language="text" title="A template" source={template} />,
    grid('Variables of templates', ['Variable', 'Stands for'], variables),
    'If a value is missing or blank, nothing is sent: 422 [`template_incomplete`](/docs/errors/template_incomplete) names every missing one. A `message` in the payload wins over the template.',
  ),
  part(
    'verifying',
    'Tools that check a URL first',
    'Some tools fetch a URL before they save it. A GET answers that the hook is ready, and sends nothing. It does not check the token: only a POST does.',
    <Call name="verify" url="$HOOK_URL" credential={null} />,
  ),
];
