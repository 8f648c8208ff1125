import { operatorScopes, scopes } from '../../domain/api-key.js';
import { cardStatuses, reportedStatuses, steps } from '../../domain/card.js';
import { house as houseId } from '../../domain/members.js';
import { memberRoles, staffRoles } from '../../domain/permissions.js';
import { allProjections } from '../../projections/all.js';
import { anyOrg, house, option, org, required, verb, type Option } from './verb.js';

const paging = [
  option('limit', 'maximum number of rows', 'number'),
  option('starting-after', 'the cursor that the page before ended with'),
];
/** The moment of a response about the past. */
const at = option('at', 'as it was then: a position of the log or an ISO 8601 time');
const active = required('active', 'true or false', 'flag');
const amount = required('amount', 'how many credits', 'number');
const reason = required('reason', 'why');
const from = required('from', 'a position in the log, or an ISO 8601 time');

const hookSettings = [
  option('label', 'what it is for'),
  option('design-id', 'id of a saved design, or card:<slug>'),
  option('template', 'message template for payloads without a message'),
  option('signed-by', 'value of {{sender_name}} in the template'),
];

const addressOptions = [
  option('line1', 'street line'),
  option('line2', 'apartment, suite, floor, unit'),
  option('city', 'city'),
  option('state', 'two-letter code'),
  option('zip', 'five digits, optionally +4'),
  option('country', 'US'),
].map((of): Option => ({ ...of, within: 'address' }));
const contactOptions = [
  option('external-id', 'your own identifier; the contact that has it is replaced'),
  option('name', 'full name'),
  option('first-name', 'first name'),
  option('last-name', 'last name'),
  option('company', 'company'),
  option('job-title', 'job title'),
  option('email', 'e-mail address'),
  option('phone', 'phone number'),
  option('birthday', 'MM-DD or YYYY-MM-DD'),
  option('work-anniversary', 'YYYY-MM-DD'),
];

const memberOrg: Option = {
  ...org,
  description: `${org.description}; ${houseId} for the service's own people`,
};
const role = required('role', `${memberRoles.join(', ')}; of the house ${staffRoles.join(', ')}`);

/** Its body is always the same. */
const sending = (body: object) => ({ body: () => body });

const whyErased = required('reason', 'why; without names of people');

/**
 * Verbs that are one call each. More are in the files beside this one. (docs/operations.md#the-command-line)
 */
export const verbs = [
  verb('org create', 'Create an organization', 'POST /organizations', [
    required('name', 'its name'),
    option('house-hand', 'handwriting of cards that name none'),
  ]),
  verb('org list', 'List organizations', 'GET /organizations', [
    option('name', 'how its name begins, in any case'),
    ...paging,
  ]),
  verb('org show', 'Show an organization and its balance', 'GET /organizations/{org}'),
  verb(
    'org update',
    'Rename an organization, or choose the handwriting of cards that name none',
    'PATCH /organizations/{org}',
    [option('name', 'its new name'), option('house-hand', 'a handwriting that is offered')],
  ),
  verb(
    'org suspend',
    'Refuse its keys and hooks, and let its webhooks wait',
    'PATCH /organizations/{org}',
    [],
    sending({ suspended: true }),
  ),
  verb('org reinstate', 'End a suspension', 'PATCH /organizations/{org}', [], sending({ suspended: false })),

  verb('credits add', 'Add credits to an organization', 'POST credits', [
    amount,
    option('reason', 'why'),
    option('reference', 'such as an invoice number; a reference buys once'),
  ]),
  verb('credits show', 'Show the balance, now or at an earlier time', 'GET credits', [at]),
  verb(
    'credits movements',
    'List the movements of the credits, newest first',
    'GET credits/movements',
    paging,
  ),
  verb('credits reconcile', 'Add up the credits, and find what is wrong', 'GET reconciliation', [
    option('from', 'where the period begins: a position or an ISO 8601 time'),
    option('to', 'where it ends'),
  ]),
  verb('credits withdraw', 'Take credits back', 'POST credits/withdraw', [amount, reason]),

  verb('key create', 'Create an API key; it is shown only once', 'POST keys', [
    house,
    required(
      'scopes',
      `scopes, separated by commas: ${scopes.join(', ')}; with --house ${operatorScopes.join(', ')}`,
      'list',
    ),
    option('label', 'what it is for'),
    option('requests-per-minute', 'a rate limit of its own, instead of RATE_LIMIT_PER_MINUTE', 'number'),
    option('expires-at', 'an ISO 8601 time; with --house'),
  ]),
  verb('key list', 'List API keys', 'GET keys', [house, at, ...paging]),
  verb('key revoke <id>', 'Revoke an API key', 'DELETE keys/{id}', [{ ...org, required: false }, house], {
    question: 'Revoke this key for good?',
  }),

  verb('design list', 'List saved designs', 'GET designs', [at]),
  verb('design save', 'Save a design', 'POST designs', [
    required('name', 'its name'),
    option('collection-slug', 'slug of the collection card that it is a copy of'),
  ]),
  verb('design archive <id>', 'Archive a design', 'DELETE designs/{id}', [], {
    question: 'Archive this design for good?',
  }),
  verb(
    'design withdraw <id>',
    'Withdraw a design, and hold its cards that are not in production',
    'POST designs/{id}/withdraw',
    [reason],
  ),
  verb(
    'design reinstate <id>',
    'Put a withdrawn design back into use; its cards stay held',
    'POST designs/{id}/reinstate',
  ),

  verb('do-not-mail list', 'List the e-mail addresses that must not be mailed', 'GET do-not-mail', paging),
  verb('do-not-mail add <email>', 'Add an e-mail address to the do-not-mail list', 'POST do-not-mail', [], {
    body: ({ argument: email }) => ({ email }),
  }),
  verb(
    'do-not-mail remove <email>',
    'Remove an e-mail address from the do-not-mail list',
    'DELETE do-not-mail/{email}',
  ),

  verb('card list', 'List cards of all organizations, those that need a person first', 'GET /cards', [
    option('status', cardStatuses.join(', ')),
    anyOrg,
    option('reference', 'only cards with exactly this reference'),
    ...paging,
  ]),
  verb('card show <code>', 'Show a card', 'GET /cards/{code}', [at]),
  verb('card history <code>', 'List every event of a card', 'GET /cards/{code}/history', [at]),
  verb('card hold <code>', 'Hold a card until a person releases it', 'POST /cards/{code}/hold', [reason]),
  verb('card release <code>', 'Release a held card', 'POST /cards/{code}/release'),
  verb('card queue <code>', 'Queue a card for production', 'POST /cards/{code}/queue'),
  verb('card fail <code>', 'Mark a card in production as failed', 'POST /cards/{code}/fail', [reason], {
    question: 'Give this card up for good?',
  }),
  verb('card cancel <code>', 'Cancel a card without sending a webhook', 'POST /cards/{code}/cancel', [], {
    question: 'Cancel this card for good?',
  }),
  verb('card step <code>', 'Report the status of a production step', 'POST /cards/{code}/steps/{step}', [
    required('step', steps.join(', ')),
    required('status', reportedStatuses.join(', ')),
    option('machine', 'name of the machine'),
  ]),

  verb('collection list', 'List collection cards, withdrawn ones too', 'GET /collection', paging),
  verb('collection put <slug>', 'Publish or withdraw a collection card', 'PUT /collection/{slug}', [
    required('title', 'its title'),
    active,
  ]),
  verb('handwriting list', 'List handwritings, withdrawn ones too', 'GET /handwriting', paging),
  verb('handwriting put <name>', 'Offer or withdraw a handwriting', 'PUT /handwriting/{name}', [active]),

  verb('anchor show', 'Show position and hash of the newest event, to keep on another system', 'GET /anchor'),
  verb(
    'request list',
    'List requests about a card, a contact, an account or an organization',
    'GET /requests',
    [required('subject', 'the code of a card, or an id'), ...paging],
  ),
  verb('request show <id>', 'Show a request, and the events that it wrote', 'GET /requests/{id}'),
  verb(
    'projection rebuild <name>',
    `Rebuild a projection: ${allProjections.map(({ name }) => name).join(', ')}`,
    'POST /projections/{name}/rebuild',
  ),

  verb('hook create', 'Create an inbound hook; its token is shown only once', 'POST hooks', hookSettings),
  verb('hook list', 'List inbound hooks', 'GET hooks', [at, ...paging]),
  verb(
    'hook update <id>',
    'Change settings of a hook; what is left out stays',
    'PATCH hooks/{id}',
    hookSettings,
  ),
  verb('hook pause <id>', 'Pause a hook', 'PATCH hooks/{id}', [], sending({ paused: true })),
  verb('hook resume <id>', 'Resume a paused hook', 'PATCH hooks/{id}', [], sending({ paused: false })),
  verb('hook delete <id>', 'Delete a hook forever', 'DELETE hooks/{id}', [], {
    question: 'Delete this hook forever?',
  }),
  verb(
    'hook calls <id>',
    'List the calls of a hook with their results, newest first',
    'GET hooks/{id}/calls',
    paging,
  ),

  verb(
    'contact save',
    'Create a contact, or replace all fields of the one with the same external id',
    'POST contacts',
    [...contactOptions, ...addressOptions],
  ),
  verb('contact list', 'List contacts', 'GET contacts', [
    option('email', 'only contacts with this e-mail address'),
    option('external-id', 'only contacts with this identifier'),
    ...paging,
    at,
  ]),

  verb(
    'erase card <code>',
    'Erase the personal data of a posted, cancelled or failed card for good',
    'POST erasures',
    [option('with-designs', 'true: also the picture of a design that no other card has', 'flag'), whyErased],
    {
      question: 'Erase the personal data of this card for good?',
      body: ({ argument }) => ({ cards: [argument] }),
    },
  ),
  verb('erase contact <id>', 'Erase the details of a contact for good', 'POST erasures', [whyErased], {
    question: 'Erase the details of this contact for good?',
    body: ({ argument }) => ({ contacts: [argument] }),
  }),
  verb('erase find', 'Find the cards and contacts of a person', 'GET subjects', [
    option('name', 'part of the name'),
    option('zip', 'beginning of the ZIP code'),
    option('email', 'part of the e-mail address'),
  ]),

  verb(
    'delivery list',
    'List deliveries, or dead letters of all organizations, newest first',
    'GET deliveries',
    [
      anyOrg,
      ...paging,
      option('endpoint', 'only deliveries to this endpoint'),
      option('status', 'pending, delivered, exhausted or dropped'),
      option('type', 'only events of this type'),
      option('card', 'only events of this card'),
    ],
  ),
  verb('delivery show <id>', 'Show a delivery, with every attempt', 'GET deliveries/{id}'),
  verb('delivery retry <id>', 'Retry a delivery now', 'POST deliveries/{id}/retry'),
  verb(
    'delivery redrive',
    'Redrive dead letters: send deliveries again that ran out of attempts',
    'POST deliveries/redrive',
    [
      from,
      option('to', 'a position in the log, or an ISO 8601 time; the end of the log if absent'),
      option('endpoint', 'only dead letters of this endpoint'),
    ],
  ),
  verb('webhook list', 'List webhook endpoints', 'GET webhooks', [
    anyOrg,
    at,
    ...paging,
    option('active', 'false: only endpoints that nothing is sent to, of all organizations'),
  ]),
  verb('webhook test <id>', 'Send a test event', 'POST webhooks/{id}/test?type', [
    option('type', 'the type of the event; card.created if it is left out'),
  ]),
  verb('webhook enable <id>', 'Enable a disabled endpoint', 'POST webhooks/{id}/enable'),
  verb(
    'webhook rotate <id>',
    'Rotate the signing secret of an endpoint; the new one is shown only once',
    'POST webhooks/{id}/rotate',
    [],
    { question: 'Rotate the secret? The old one signs for 24 hours more, and then never again.' },
  ),
  verb(
    'webhook replay <id>',
    'Replay the events since then that the endpoint has not answered with a 2xx',
    'POST webhooks/{id}/replay',
    [from],
  ),

  verb('log status', 'Show how far the log has come and how far it is signed', 'GET /anchor'),

  verb(
    'member invite',
    'Invite a person, or renew an invitation; prints the link to pass on',
    'POST members',
    [memberOrg, required('email', 'their e-mail address'), required('name', 'their name'), role],
  ),
  verb('member list', 'List the members of an organization, invited ones too', 'GET members', [
    memberOrg,
    at,
  ]),
  verb('member role <id>', 'Give a member another role', 'PATCH members/{id}', [memberOrg, role]),
  verb('member remove <id>', 'Remove a member, or withdraw an invitation', 'DELETE members/{id}', [
    memberOrg,
  ]),
  verb('member reset <id>', 'Print a link for choosing a new password', 'POST members/{id}/reset', [
    memberOrg,
  ]),
];
