import { expect } from 'chai';
import { statusOf } from '../../adapters/http/server/errors.js';
import { errorCodes, type ErrorCode } from '../../domain/errors.js';
import { call, codeOf, type Call, type Reply } from '../support/http/http.js';
import { aCard, startTestService, type RunningService, type Tenant } from '../support/http/service.js';

/** Why a message names no value: nothing was sent there, or it must not be repeated. */
const none = Symbol('none');
const secret = Symbol('secret');
const personal = Symbol('personal');

/**
 * A refusal: its code; the request; the offending value as the message names it; the place, which is the
 * field in `param`, or what the message calls it; and what the message says to do.
 */
type Case = readonly [
  code: ErrorCode,
  request: Call,
  names: string | symbol,
  at: { readonly param: string } | { readonly says: string },
  next: string,
];

const json = { 'content-type': 'application/json' };
const recipient = { name: 'Ann Lee', line1: '1 Main St', city: 'Austin', state: 'TX', zip: '78701' };
const inField = (param: string) => ({ param });
const saying = (says: string) => ({ says });

/** Refusals of what an organization or the service is: refusals.test.ts has them. */
const ofStates: readonly ErrorCode[] = [
  'no_credits',
  'no_design_available',
  'suspended',
  'hook_disabled',
  'rate_limited',
  'request_in_progress',
  'too_late_to_cancel',
  'idempotency_key_reused',
  'invalid_transition',
  'too_many_endpoints',
  'too_many_designs',
  'invalid_request',
];

describe('the message of a refusal', () => {
  let service: RunningService;
  let tenant: Tenant;
  let hook: string;
  let templated: string;
  let reader: string;
  let revoked: string;
  before(async () => {
    service = await startTestService();
    tenant = await service.tenant();
    const office = `/operator/v1/organizations/${tenant.org}`;
    const make = async (path: string, body: object) =>
      (await service.operator(`${office}/${path}`, { body })).body;
    hook = String((await make('hooks', {}))['token']);
    templated = String((await make('hooks', { template: 'Hi {{nick}}' }))['token']);
    reader = String((await make('keys', { scopes: ['cards:read'] }))['key']);
    const gone = await make('keys', { scopes: ['cards:read'] });
    revoked = String(gone['key']);
    await service.operator(`${office}/keys/${String(gone['id'])}`, { method: 'DELETE' });
  });
  after(() => service.stop());

  const asked = (path: string, more: Partial<Call> = {}): Call => ({ path, key: tenant.key, ...more });
  const posted = (path: string, body: object | string, headers: Call['headers'] = {}): Call =>
    asked(path, { method: 'POST', body, headers: { ...json, ...headers } });
  const card = (changes: object, headers: Call['headers'] = {}): Call =>
    posted('/api/v1/cards', aCard(changes), headers);
  const to = (changes: object): Call => card({ recipient: { ...recipient, ...changes } });
  const contact = (fields: object): Call => posted('/api/v1/contacts', fields);
  const endpoint = (fields: object): Call =>
    posted('/api/v1/webhooks', { url: 'https://93.184.215.14/', ...fields });
  const fired = (token: string, fields: object): Call => ({
    method: 'POST',
    path: `/api/v1/hooks/${token}`,
    headers: json,
    body: { ...recipient, message: 'Hello', ...fields },
  });
  const withoutKey = (path: string, headers: Call['headers'] = {}): Call => ({ path, headers });
  const as = (key: string, request: Call): Call => ({ ...request, key });
  const messageOf = ({ text }: Reply) =>
    (JSON.parse(text) as { readonly error: { readonly message: string; readonly param?: string } }).error;

  // prettier-ignore
  const cases = (): readonly Case[] => [
    // The request
    ['invalid_json', posted('/api/v1/cards', '{'), 'character 2', saying('The body'), 'valid JSON'],
    ['invalid_body', posted('/api/v1/cards', '[]'), 'an array', saying('The body'), 'must be a JSON object'],
    ['body_too_large', posted('/api/v1/cards', ' '.repeat(102_401)), none, saying('The body'), 'one card'],
    ['unsupported_media_type', card({}, { 'content-type': 'text/plain' }), 'text/plain', saying('Content-Type'), 'Send JSON'],
    ['method_not_allowed', { ...card({}), method: 'PUT' }, 'PUT', saying('This path'), 'allows POST, GET'],
    ['not_found', asked('/api/v1/card'), 'GET /api/v1/card.', saying('path'), 'Did you mean /api/v1/cards?'],
    ['not_found', asked('/v1/cards/HC-7K3M9QX'), '/v1/cards/HC-7K3M9QX', saying('path'), 'mean /api/v1/cards/HC-7K3M9QX?'],
    ['not_found', asked('/api/v1/Contacts/'), '/api/v1/Contacts/', saying('path'), 'Did you mean /api/v1/contacts?'],
    ['not_found', asked('/api/v1/webhook/x/test'), '/api/v1/webhook/x/test', saying('path'), 'mean /api/v1/webhooks/x/test?'],
    ['not_found', asked('/api/v1/users'), 'GET /api/v1/users', saying('path'), '/docs'],
    ['not_found', asked(`/api/v1/hook/${hook}`), secret, saying('GET /api/v1/hook/…'), 'mean /api/v1/hooks/…?'],
    ['not_found', asked('/api/v1/hooks/'), 'GET /api/v1/hooks/.', saying('path'), 'Did you mean /api/v1/hooks/{token}?'],
    ['missing_id', asked('/api/v1/cards/'), none, inField('card_code'), 'the code of a card, in the path'],
    ['card_not_found', asked('/api/v1/cards/HC-0000000'), 'HC-0000000', saying('card'), 'from the list'],
    ['card_not_found', asked('/api/v1/cards/hello'), 'hello', saying('card'), 'looks like HC-7K3M9QX'],
    ['not_found', asked('/api/v1/webhooks/x'), '`x`', saying('webhook endpoint'), 'from the list'],
    ['not_found', asked('/api/v1/deliveries/dlv_x'), '`dlv_x`', saying('delivery'), 'from the list'],
    ['not_found', asked('/api/v1/events/evt_x'), '`evt_x`', saying('event'), 'from the list'],
    ['invalid_cursor', asked('/api/v1/cards?starting_after=HC-X'), '`HC-X`', inField('starting_after'), 'Use the `next_cursor`'],
    ['invalid_parameter', asked('/api/v1/cards?limit=ten'), '`ten`', inField('limit'), 'a whole number from 0'],
    ['invalid_parameter', asked('/api/v1/cards?limit=1&limit=2'), 'more than once', inField('limit'), 'Send it once'],
    ['invalid_parameter', asked('/api/v1/cards?status=sent'), '`sent`', inField('status'), 'one of pending, queued'],
    ['invalid_parameter', asked('/api/v1/events?type=card.mail'), '`card.mail`', inField('type'), 'Did you mean `card.mailed`?'],
    ['invalid_parameter', card({ colour: 1 }, { prefer: 'handling=strict' }), '`colour`', inField('colour'), 'Leave it out'],
    // Keys
    ['missing_key', withoutKey('/api/v1/cards'), none, saying('Authorization'), 'Bearer <API_KEY>'],
    ['missing_key', withoutKey('/api/v1/cards', { authorization: 'Basic Og==' }), '`Basic` is not read', saying('Authorization'), 'Bearer <API_KEY>'],
    ['missing_key', withoutKey('/api/v1/cards', { 'x-api-key': tenant.key }), '`x-api-key` is not read', saying('Authorization'), 'Bearer <API_KEY>'],
    ['missing_key', withoutKey(`/api/v1/cards?api_key=${tenant.key}`), '`api_key` is not read', saying('Authorization'), 'Bearer <API_KEY>'],
    ['malformed_key', as('sk_live_1', asked('/api/v1/cards')), secret, saying('key'), '`hck_` followed by 43 characters'],
    ['invalid_key', as(`hck_${'x'.repeat(43)}`, asked('/api/v1/cards')), secret, saying('API key'), 'Check that you copied all'],
    ['invalid_key', asked('/operator/v1/organizations'), secret, saying('This path'), 'API keys work below /api/v1'],
    ['invalid_key', as('a-wrong-token', asked('/operator/v1/organizations')), secret, saying('operator token'), 'customers send an API key'],
    ['revoked_key', as(revoked, asked('/api/v1/cards')), secret, saying('API key'), 'Use another one'],
    ['missing_scope', as(reader, card({})), '`cards:send`', saying('key'), 'Use a key that has it'],
    ['invalid_hook', fired('x'.repeat(43), {}), secret, saying('hook URL'), 'Check it'],
    // Keys of repeats
    ['invalid_idempotency_key', card({}, { 'idempotency-key': ' ' }), 'is empty', saying('Idempotency-Key'), 'leave the header out'],
    ['invalid_idempotency_key', card({}, { 'idempotency-key': 'k'.repeat(256) }), '256 characters; at most 255', saying('Idempotency-Key'), 'Send a UUID'],
    ['invalid_idempotency_key', card({}, { 'idempotency-key': 'café' }), '`é`', saying('Idempotency-Key'), 'printable ASCII'],
    ['invalid_idempotency_key', card({}, { 'idempotency-key': ['a', 'b'] }), 'came 2 times', saying('Idempotency-Key'), 'Send it once'],
    // Cards
    ['invalid_recipient', card({ recipient: null }), none, inField('recipient'), 'is required: one address as an object'],
    ['invalid_recipient', card({ recipient: [] }), 'not a list', inField('recipient'), 'one card per request'],
    ['invalid_recipient', to({ city: undefined }), none, inField('recipient.city'), 'is required'],
    ['invalid_recipient', to({ state: 'Illinois' }), '`Illinois`', inField('recipient.state'), 'Did you mean `IL`?'],
    ['invalid_recipient', to({ state: 'Tex.' }), '`Tex.`', inField('recipient.state'), 'Did you mean `TX`?'],
    ['invalid_recipient', to({ state: 'Washington, D.C.' }), '`Washington, D.C.`', inField('recipient.state'), 'Did you mean `DC`?'],
    ['invalid_recipient', to({ state: 'XX' }), '`XX`', inField('recipient.state'), 'the two-letter code of a US state'],
    ['invalid_recipient', to({ state: 'TX', country: 'PR' }), 'The state TX is not in PR', inField('recipient.state'), 'send the state PR'],
    ['invalid_recipient', to({ zip: 78701 }), 'not a number', inField('recipient.zip'), 'a string such as "62701"'],
    ['invalid_recipient', to({ zip: '7870' }), personal, inField('recipient.zip'), 'must be five digits'],
    ['invalid_recipient', to({ country: 'Canada' }), '`Canada`', inField('recipient.country'), 'must be US'],
    ['invalid_recipient', to({ line1: 'x'.repeat(201) }), 'not 201', inField('recipient.line1'), 'at most 200 characters'],
    ['missing_message', card({ message: ' ' }), 'is empty', inField('message'), 'fill it in'],
    ['missing_message', card({ message: 7 }), 'not a number', inField('message'), 'must be a string'],
    ['message_too_long', card({ message: 'x'.repeat(501) }), '501 characters', inField('message'), 'Shorten it by 1'],
    ['broken_merge_field', card({ message: 'Hi {{name}}' }), '{{name}}', inField('message'), 'Send the finished text'],
    ['invalid_date', card({ arrive_on: '2030-02-30' }), '`2030-02-30`', inField('arrive_on'), 'written YYYY-MM-DD'],
    ['invalid_date', card({ arrive_on: '2020-01-02' }), '2020-01-02 is in the past', inField('arrive_on'), 'earliest possible'],
    ['unknown_handwriting', card({ handwriting: 'Elegnat' }), '`Elegnat`', inField('handwriting'), 'Did you mean `Elegant`? On offer: '],
    ['unknown_handwriting', card({ handwriting: 'Comic Sans' }), '`Comic Sans`', inField('handwriting'), 'Schoolhouse'],
    ['design_not_found', card({ design_id: 'card:x' }), '`card:x`', inField('design_id'), 'Use the id of a saved design'],
    ['invalid_parameter', card({ reference: {} }), 'not an object', inField('reference'), 'a string or a number'],
    // Contacts
    ['missing_name', contact({ email: 'a@example.com' }), none, inField('name'), 'at least one of `name`, `first_name` and `last_name`'],
    ['invalid_birthday', contact({ name: 'Ann', birthday: '13-01' }), personal, inField('birthday'), 'written MM-DD'],
    ['invalid_date', contact({ name: 'Ann', work_anniversary: 'May' }), personal, inField('work_anniversary'), 'written YYYY-MM-DD'],
    ['invalid_parameter', contact({ name: 'Ann', company: 'x'.repeat(201) }), 'not 201', inField('company'), 'at most 200 characters'],
    ['invalid_parameter', contact({ name: 'x'.repeat(201) }), 'not 201', inField('name'), 'at most 200 characters'],
    ['invalid_parameter', contact({ name: 'Ann', external_id: 'x'.repeat(256) }), 'not 256', inField('external_id'), 'at most 255 characters'],
    ['invalid_parameter', contact({ name: 'Ann', email: 'x'.repeat(321) }), 'not 321', inField('email'), 'at most 320 characters'],
    ['invalid_parameter', contact({ name: 'Ann', email: {} }), 'not an object', inField('email'), 'must be a string'],
    ['invalid_recipient', contact({ name: 'Ann', address: { state: 'Oregon' } }), '`Oregon`', inField('address.state'), 'Did you mean `OR`?'],
    // Webhooks
    ['invalid_url', endpoint({ url: 'example' }), '`example`', inField('url'), 'such as https://'],
    ['invalid_url', endpoint({ url: 'http://a.example/' }), 'not http://', inField('url'), 'must begin with https://'],
    ['invalid_url', endpoint({ url: 'https://u:p@a.example/' }), secret, inField('url'), 'Verify the signature'],
    ['invalid_url', endpoint({ url: `https://a.example/${'x'.repeat(2048)}` }), 'not 2066', inField('url'), 'at most 2048 characters'],
    ['invalid_url', endpoint({ url: 'https://localhost/' }), '`localhost`', inField('url'), 'webhook listen'],
    ['invalid_url', endpoint({ url: 'https://10.0.0.1/' }), '10.0.0.1', inField('url'), 'Use a public address'],
    ['invalid_url', endpoint({ url: 'https://a..example/' }), 'a..example', inField('url'), 'Take out a dot'],
    ['invalid_url', endpoint({ url: 'https://a.example:444/' }), 'Port 444', inField('url'), 'These are: 443'],
    ['invalid_events', endpoint({ events: ['card.created', 'card.lost'] }), '`events[1]`', inField('events'), 'one of card.created'],
    ['invalid_events', endpoint({ events: ['card.hold'] }), '`card.hold`', inField('events'), 'Did you mean `card.held`?'],
    ['invalid_events', endpoint({ events: ['*'] }), '`*`', inField('events'), 'leave `events` out for all'],
    ['invalid_events', endpoint({ events: 'card.held' }), 'not a string', inField('events'), 'must be a list'],
    ['invalid_parameter', posted('/api/v1/webhooks/x/replay', { from: 'monday' }), '`monday`', inField('from'), 'ISO 8601'],
    // Hooks
    ['template_incomplete', fired(templated, { message: '' }), 'nick', inField('nick'), 'nick'],
    ['invalid_recipient', fired(hook, { state: 'Texas' }), '`Texas`', inField('recipient.state'), 'Did you mean `TX`?'],
    ['unknown_handwriting', fired(hook, { handwriting: 'Elegnat' }), '`Elegnat`', inField('handwriting'), 'Did you mean `Elegant`?'],
  ];

  it('names the offending value unless it is secret or personal, the place, and the next step', async () => {
    const all = cases();
    expect(new Set(all.map(([code]) => code))).to.deep.equal(
      new Set(errorCodes.filter((code) => statusOf(code) < 500 && !ofStates.includes(code))),
    );
    for (const [code, request, names, at, next] of all) {
      const reply = await call(service, request);
      expect(codeOf(reply), reply.text).to.equal(code);
      const { message, param } = messageOf(reply);
      if (typeof names === 'string') expect(message).to.include(names);
      else if (names !== none) for (const sent of sentIn(request)) expect(message).not.to.include(sent);
      if ('param' in at) expect([param, message]).to.deep.equal([at.param, message]);
      else expect(message).to.include(at.says);
      expect(message).to.include(next);
    }
  });

  /** The values of a request that are long enough to be recognized, wherever they are. */
  const sentIn = ({ path, key = '', body = '' }: Call): readonly string[] =>
    [
      ...new URLSearchParams(path.split('?')[1]).values(),
      path.split('/').at(-1) ?? '',
      key,
      ...valuesOf(body),
    ].filter((value) => value.length > 3 && value !== 'organizations' && value !== 'cards');

  const valuesOf = (value: unknown): readonly string[] =>
    typeof value === 'object' && value !== null
      ? Object.values(value).flatMap((inside) => valuesOf(inside))
      : typeof value === 'string'
        ? [value]
        : [];

  it('of a reference that was cut comes with the card, in a header', async () => {
    const cut = async (reference: unknown) =>
      (await tenant.api('/api/v1/cards', { body: aCard({ reference }) })).headers.get('x-truncated-fields');
    expect(await cut('r'.repeat(41))).to.equal('reference');
    for (const whole of ['r'.repeat(40), ` ${'r'.repeat(40)} `, '🎈'.repeat(40), 7, null])
      expect(await cut(whole)).to.equal(null);
    const body = aCard({ reference: 'r'.repeat(50) });
    const headers = { 'idempotency-key': 'long' };
    const [first, again] = [
      await tenant.api('/api/v1/cards', { body, headers }),
      await tenant.api('/api/v1/cards', { body, headers }),
    ];
    for (const { headers: told } of [first, again])
      expect(told.get('x-truncated-fields')).to.equal('reference');
    expect(again.headers.get('idempotent-replay')).to.equal('true');
  });
});
