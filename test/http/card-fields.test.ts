import { expect } from 'chai';
import { newCard } from '../../adapters/http/api/card-fields.js';
import { settableClock } from '../support/http/http.js';
import {
  aCard,
  startTestService,
  type Fields,
  type RunningService,
  type Tenant,
} from '../support/http/service.js';

const ada = {
  name: 'Ada Lovelace',
  line1: '12 Analytical Way',
  city: 'Springfield',
  state: 'IL',
  zip: '62701',
};

/** [what, change to the body, code, param]. */
type Refused = readonly [string, object, string, string];

const to = (changes: object): object => ({ recipient: { ...ada, ...changes } });

const refusedRecipients: readonly Refused[] = [
  ['a recipient that is missing', { recipient: undefined }, 'invalid_recipient', 'recipient'],
  ['a recipient that is null', { recipient: null }, 'invalid_recipient', 'recipient'],
  [
    'a recipient that is a string',
    { recipient: 'Ada Lovelace, 12 Analytical Way' },
    'invalid_recipient',
    'recipient',
  ],
  ['a list of recipients', { recipient: [ada] }, 'invalid_recipient', 'recipient'],
  ['a recipient that is a number', { recipient: 5 }, 'invalid_recipient', 'recipient'],
  ['an empty recipient', { recipient: {} }, 'invalid_recipient', 'recipient.name'],
  ...['name', 'line1', 'city', 'state', 'zip'].flatMap((field): Refused[] =>
    [undefined, null, '', '   ', '\u200b\u2060', 5, true, ['x'], { a: 1 }].map((value) => [
      `${field} as ${JSON.stringify(value) ?? 'nothing'}`,
      to({ [field]: value }),
      'invalid_recipient',
      `recipient.${field}`,
    ]),
  ),
  ...['line2', 'country'].flatMap((field): Refused[] =>
    [5, false, ['x'], {}].map((value) => [
      `${field} as ${JSON.stringify(value)}`,
      to({ [field]: value }),
      'invalid_recipient',
      `recipient.${field}`,
    ]),
  ),
  ...['name', 'line1', 'line2', 'city'].flatMap((field): Refused[] => [
    [
      `${field} over 200 characters`,
      to({ [field]: 'x'.repeat(201) }),
      'invalid_recipient',
      `recipient.${field}`,
    ],
    [`${field} on two lines`, to({ [field]: 'one\ntwo' }), 'invalid_recipient', `recipient.${field}`],
    [`${field} with a tab`, to({ [field]: 'one\ttwo' }), 'invalid_recipient', `recipient.${field}`],
    [
      `${field} with a null character`,
      to({ [field]: 'one\u0000two' }),
      'invalid_recipient',
      `recipient.${field}`,
    ],
    [
      `${field} with a C1 control`,
      to({ [field]: 'one\u0085two' }),
      'invalid_recipient',
      `recipient.${field}`,
    ],
  ]),
  ...['XX', 'Illinois', 'I', 'ILL', 'I1', 'ZZ', '12'].map((state): Refused => [
    `state ${state}`,
    to({ state }),
    'invalid_recipient',
    'recipient.state',
  ]),
  ...[
    '6270',
    '627011',
    '62701-',
    '62701-12',
    '62701-12345',
    '62701 1234',
    'ABCDE',
    '6270a',
    '٦٢٧٠١',
    '627-01',
    '-62701',
  ].map((zip): Refused => [`zip ${zip}`, to({ zip }), 'invalid_recipient', 'recipient.zip']),
  ['zip as a number', to({ zip: 62701 }), 'invalid_recipient', 'recipient.zip'],
  ...['CA', 'Canada', 'GB', 'U.S.', 'UnitedStates', 'America'].map((country): Refused => [
    `country ${country}`,
    to({ country }),
    'invalid_recipient',
    'recipient.country',
  ]),
];

const refusedMessages: readonly Refused[] = [
  ...[undefined, null, '', '  ', '\n\r\n', '\u200b\u202a', 5, true, ['Hello'], { text: 'Hello' }].map(
    (message): Refused => [
      `a message that is ${JSON.stringify(message) ?? 'nothing'}`,
      { message },
      'missing_message',
      'message',
    ],
  ),
  ['501 characters', { message: 'x'.repeat(501) }, 'message_too_long', 'message'],
  ['501 characters outside the basic plane', { message: '😀'.repeat(501) }, 'message_too_long', 'message'],
  ['a long text full of merge fields', { message: '{{x}}'.repeat(101) }, 'message_too_long', 'message'],
  ...['{{name}}', '{{ first name }}', '{{}}', '{{\n}}', 'a {{b}} c', '{{{x}}}', '[[name]]', '[[first name]]', '[[]]', '*|NAME|*', '*||*', '<<name>>', '<<>>', '«name»', '«»', '${name}', '${}', '{\u200b{name}}'].map(
    (message): Refused => [`a message with ${message.trim()}`, { message: `Hello ${message}!` }, 'broken_merge_field', 'message'],
  ), // prettier-ignore
];

const refusedOthers: readonly Refused[] = [
  ...[
    '',
    '  ',
    'soon',
    '2026-02-30',
    '2026-13-01',
    '2026-3-9',
    '03/09/2026',
    '20260309',
    '2026-03-09T00:00:00Z',
    '2026-03-09Z',
    '9999-99-99',
  ].map((arrive_on): Refused => [`arrive_on "${arrive_on}"`, { arrive_on }, 'invalid_date', 'arrive_on']),
  ...[5, 20_260_309, true, ['2030-01-01'], {}].map((arrive_on): Refused => [
    `arrive_on as ${JSON.stringify(arrive_on)}`,
    { arrive_on },
    'invalid_date',
    'arrive_on',
  ]),
  ['arrive_on in the past', { arrive_on: '2026-03-01' }, 'invalid_date', 'arrive_on'],
  ['arrive_on today', { arrive_on: '2026-03-02' }, 'invalid_date', 'arrive_on'],
  ['arrive_on a day too soon', { arrive_on: '2026-03-08' }, 'invalid_date', 'arrive_on'],
  ...['', ' ', 'Comic Sans', 'Everyday\u0000', 'Everyday\u0000x', 'x'.repeat(5000), 5, ['Everyday'], {}].map(
    (handwriting): Refused => [
      `handwriting ${JSON.stringify(handwriting).slice(0, 20)}`,
      { handwriting },
      'unknown_handwriting',
      'handwriting',
    ],
  ),
  ...['', ' ', 'nothing', 'card:', 'card:unknown-slug', 'card:welcome-home\u0000', 'card:welcome-home\u0000x', 'card:Thank-You-Botanical', 'CARD:thank-you-botanical', '00000000-0000-4000-8000-000000000000', 'x'.repeat(5000), 5, ['card:welcome-home'], {}].map(
    (design_id): Refused => [`design_id ${JSON.stringify(design_id).slice(0, 40)}`, { design_id }, 'design_not_found', 'design_id'],
  ), // prettier-ignore
  ...[true, ['order'], { id: 1 }].map((reference): Refused => [
    `reference ${JSON.stringify(reference)}`,
    { reference },
    'invalid_parameter',
    'reference',
  ]),
];

const statusOf: Readonly<Record<string, number>> = { design_not_found: 404, invalid_parameter: 400 };

describe('the fields of POST /api/v1/cards', () => {
  let service: RunningService;
  let tenant: Tenant;
  before(async () => {
    service = await startTestService({}, settableClock('2026-03-02T15:00:00Z'));
    tenant = await service.tenant({ credits: 1_000 });
  });
  after(() => service.stop());

  const post = (changes: object = {}) => tenant.api('/api/v1/cards', { body: aCard(changes) });
  const accepted = async (changes: object): Promise<Fields> => {
    const sent = await post(changes);
    expect(sent.status, sent.text).to.equal(201);
    return sent.body;
  };
  const lookUp = async ({ id }: Fields): Promise<Fields> =>
    (await tenant.api(`/api/v1/cards/${String(id)}`)).body;
  const asFloor = async ({ id }: Fields): Promise<Fields> =>
    (await service.operator(`/operator/v1/cards/${String(id)}`)).body;
  const recipientOf = async (changes: object): Promise<unknown> =>
    (await lookUp(await accepted(changes)))['recipient'];

  describe('refuses, creates nothing and charges nothing:', () => {
    let cards: unknown;
    let balance: number;
    before(async () => {
      balance = await tenant.balance();
      cards = (await tenant.api('/api/v1/cards')).body;
    });
    for (const [what, changes, code, param] of [...refusedRecipients, ...refusedMessages, ...refusedOthers])
      it(what, async () => {
        const reply = await post(changes);
        expect([reply.status, reply.code, reply.param]).to.deep.equal([statusOf[code] ?? 422, code, param]);
      });
    after(async () => {
      expect(await tenant.balance()).to.equal(balance);
      expect((await tenant.api('/api/v1/cards')).body).to.deep.equal(cards);
    });
  });

  describe('recipient', () => {
    it('is trimmed and stripped of invisible characters; its state is upper-cased, its ZIP hyphenated', async () => {
      const wild = {
        name: ' \u200bAda\u202e Lovelace ',
        line1: '\ufeff12 Analytical Way\n',
        line2: ' ',
        city: ' Springfield ',
        state: ' il ',
        zip: ' 627011234 ',
        country: ' usa ',
      };
      expect(await recipientOf({ recipient: wild })).to.deep.equal({
        ...ada,
        line2: null,
        zip: '62701-1234',
        country: 'US',
      });
    });
    it('keeps line2 if it is given', async () => {
      expect(await recipientOf(to({ line2: 'Apt 5' }))).to.deep.equal({
        ...ada,
        line2: 'Apt 5',
        country: 'US',
      });
    });
    for (const country of ['US', 'us', 'USA', 'Usa', 'United States', 'UNITED STATES', '', null])
      it(`takes ${JSON.stringify(country)} for the US`, async () => {
        expect(await recipientOf(to({ country }))).to.deep.include({ country: 'US' });
      });
    for (const territory of ['PR', 'gu', ' VI ', 'as', 'MP'])
      it(`takes the country ${territory} for the US with that state`, async () => {
        const state = territory.trim().toUpperCase();
        expect(await recipientOf(to({ state, country: territory }))).to.deep.include({
          state,
          country: 'US',
        });
        expect(await post(to({ state: 'IL', country: territory }))).to.deep.include({
          code: 'invalid_recipient',
          param: 'recipient.state',
        });
        expect(await post(to({ state: null, country: territory }))).to.deep.include({
          code: 'invalid_recipient',
        });
      });
    it('takes every state, territory and military post office, in any case', async () => {
      const states =
        'AL AK AZ AR CA CO CT DE FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY NC ND OH OK OR PA RI SC SD TN TX UT VT VA WA WV WI WY DC AS GU MH FM MP PW PR VI AA AE AP';
      const statuses = await Promise.all(
        states.split(' ').map(async (state) => (await post(to({ state: state.toLowerCase() }))).status),
      );
      expect(new Set(statuses)).to.deep.equal(new Set([201]));
    });
    it('checks only the shape of a ZIP', async () => {
      expect(await recipientOf(to({ state: 'AK', zip: '10001-0000' }))).to.deep.include({
        state: 'AK',
        zip: '10001-0000',
      });
    });
    it('is refused with the hint "one card per request" if it is a list or a text', async () => {
      for (const recipient of [[ada], 'Ada'])
        expect((await post({ recipient })).body)
          .to.have.nested.property('error.message')
          .that.matches(/one card per request/);
    });
    it('fits the envelope with 40 characters in the name and 50 in a line; a longer one holds the card', async () => {
      const fits = await accepted(
        to({ name: 'é'.repeat(40), line1: 'x'.repeat(50), line2: 'y'.repeat(50), city: 'z'.repeat(41) }),
      );
      expect([fits['status'], fits['held_reason']]).to.deep.equal(['scheduled', null]);
      for (const [field, length] of [['name', 41], ['line1', 51], ['line2', 51], ['city', 42], ['line1', 200]] as const) {
        const held = await accepted(to({ [field]: 'x'.repeat(length) }));
        expect([held['status'], held['held_reason']]).to.satisfy(
          ([status, reason]: unknown[]) => status === 'held' && /does not fit the envelope/.test(String(reason)),
        );
      } // prettier-ignore
    });
  });

  it('holds a card, and charges nothing, if a program did not fill the address in', async () => {
    const { status, held_reason } = await accepted(to({ city: '{{city}}' }));
    expect([status, held_reason]).to.deep.equal(['held', "The recipient's city was not filled in: {{city}}"]);
  });

  describe('message', () => {
    const written = async (message: string): Promise<unknown> =>
      (await asFloor(await accepted({ message })))['message'];
    const kept: readonly (readonly [string, string, string])[] = [
      ['line breaks', 'one\r\ntwo\rthree\nfour\n\nfive', 'one\ntwo\nthree\nfour\n\nfive'],
      ['white space inside the text, but not around it', '  \n a  b \n ', 'a  b'],
      ['no invisible characters', 'a\u200bb\u202ec\ufeffd\u2066e', 'abcde'],
      ['the text in Unicode form NFC', 'Cafe\u0301', 'Café'],
      ['single braces and brackets', 'a {b} [c] <d> $e *f| }} {{ ', 'a {b} [c] <d> $e *f| }} {{'],
      ['a text of 500 characters', 'x'.repeat(500), 'x'.repeat(500)],
    ];
    for (const [what, sent, stored] of kept)
      it(`stores ${what}`, async () => expect(await written(sent)).to.equal(stored));
    it('is measured after it is trimmed, stripped and composed', async () => {
      expect(await written(` ${'e\u0301'.repeat(498)}\u200b\r\n!  `)).to.equal(`${'é'.repeat(498)}\n!`);
      expect((await post({ message: `${'e\u0301'.repeat(499)}\r\n!` })).code).to.equal('message_too_long');
    });

    const held: readonly (readonly [string, object, RegExp])[] = [
      ['emoji', { message: 'Well done 🎉' }, /🎉/],
      ['Cyrillic', { message: 'Спасибо' }, /С.*п.*а.*с.*и.*б.*о/],
      ['a tab', { message: 'a\tb' }, /U\+0009/],
      ['a control character', { message: 'a\u0007b' }, /U\+0007/],
      ['a lone surrogate', { message: 'a\ud800b' }, /U\+D800/],
      ['the first letter after the repertoire', { message: 'a\u0250b' }, /ɐ/],
      ["a name that the pen can't write", to({ name: '李小龍' }), /李.*小.*龍/],
      ["a street that the pen can't write", to({ line1: '12 Ω Street' }), /Ω/],
      ["a city that the pen can't write", to({ city: 'Łódź ☂' }), /☂/],
    ];
    for (const [what, changes, reason] of held)
      it(`holds the card because of ${what}, and names the characters`, async () => {
        const before = await tenant.balance();
        const sent = await accepted(changes);
        expect(sent['status']).to.equal('held');
        expect(sent['held_reason']).to.match(reason);
        expect(await tenant.balance()).to.equal(before);
        expect(await lookUp(sent)).to.deep.include({ status: 'blocked', held_reason: sent['held_reason'] });
      });
    it('holds a card whose message takes more lines than there is room for, charges nothing, and says what to do', async () => {
      const lines = (count: number) => Array.from({ length: count }, (_, n) => `Line ${n}`).join('\n');
      const before = await tenant.balance();
      const sent = await accepted({ message: lines(31) });
      expect(sent['status']).to.equal('held');
      expect(sent['held_reason']).to.equal(
        'The message takes 31 lines in this handwriting; the card has room for 24. Cancel the card and send it again with a shorter message, or wait for a person',
      );
      expect(sent['note']).to.include('Cancel it and send it again corrected, or wait for a person.');
      expect(await tenant.balance()).to.equal(before);
      expect((await accepted({ message: lines(24) }))['status']).to.equal('scheduled');
      const narrow = { message: 'W'.repeat(500) };
      expect((await accepted(narrow))['status']).to.equal('scheduled');
      expect((await accepted({ ...narrow, handwriting: 'Signature' }))['status']).to.equal('held');
    });
    it('schedules a card whose text uses every part of the repertoire', async () => {
      const sent = await accepted({
        message: 'Aa~ ¡ÿ Āɏ – — ‘’ “” • … €\nend',
        ...to({ name: 'Zoë Ångström–Ñandú' }),
      });
      expect([sent['status'], sent['held_reason']]).to.deep.equal(['scheduled', null]);
    });
  });

  describe('arrive_on', () => {
    it('ends the arrival window; without it, the window is the earliest possible', async () => {
      expect((await accepted({}))['arrives_between']).to.deep.equal({
        earliest: '2026-03-05',
        latest: '2026-03-09',
      });
      expect((await accepted({ arrive_on: null }))['arrives_between']).to.deep.equal({
        earliest: '2026-03-05',
        latest: '2026-03-09',
      });
    });
    const windows: readonly (readonly [string, string, string])[] = [
      ['the earliest possible day', '2026-03-09', '2026-03-05'],
      ['a Thursday, four days after a Sunday', '2026-03-12', '2026-03-07'],
      ['a Sunday, which a client may choose', '2026-03-15', '2026-03-11'],
      ['four days after a holiday', '2026-05-29', '2026-05-24'],
      ['a holiday, which a client may choose', '2026-12-25', '2026-12-21'],
      ['the far future', '2099-02-28', '2099-02-24'],
      ['a leap day', '2028-02-29', '2028-02-25'],
      [' with spaces around ', ' 2026-06-10 ', '2026-06-06'],
    ];
    for (const [what, arrive_on, earliest] of windows)
      it(`accepts ${what.trim()}`, async () => {
        const latest = arrive_on.trim();
        const sent = await accepted({ arrive_on });
        expect(sent['arrives_between']).to.deep.equal({ earliest, latest });
        expect((await lookUp(sent))['arrives_between']).to.deep.equal({ earliest, latest });
      });
    it('is refused with the earliest possible date in the message if it is too soon', async () => {
      expect((await post({ arrive_on: '2026-03-08' })).body)
        .to.have.nested.property('error.message')
        .that.includes('2026-03-09');
    });
  });

  describe('handwriting', () => {
    const hand = async (changes: object): Promise<unknown> =>
      (await lookUp(await accepted(changes)))['handwriting'];
    it('defaults to the house hand', async () =>
      expect([await hand({}), await hand({ handwriting: null })]).to.deep.equal(['Everyday', 'Everyday']));
    it('is matched in any case and returned as it is spelled in the list', async () =>
      expect(await hand({ handwriting: '  eLEGANT ' })).to.equal('Elegant'));
  });

  describe('design_id', () => {
    const design = async (changes: object): Promise<unknown> =>
      (await asFloor(await accepted(changes)))['design_id'];
    const save = async (name: string): Promise<string> =>
      (await service.operator(`/operator/v1/organizations/${tenant.org}/designs`, { body: { name } })).id;
    const archive = (id: string) =>
      service.operator(`/operator/v1/organizations/${tenant.org}/designs/${id}`, { method: 'DELETE' });

    it('defaults to the newest saved design that is not archived', async () => {
      expect(await design({})).to.equal(tenant.design);
      const newer = await save('Newer');
      expect(await design({ design_id: null })).to.equal(newer);
      expect(await design({ design_id: tenant.design })).to.equal(tenant.design);
      expect(await design({ design_id: ` ${newer.toUpperCase()} ` })).to.equal(newer);
      await archive(newer);
      expect(await design({})).to.equal(tenant.design);
      expect((await post({ design_id: newer })).code).to.equal('design_not_found');
    });
    it("is refused with design_not_found if the design is another organization's", async () => {
      const { design: foreign } = await service.tenant();
      expect((await post({ design_id: foreign })).code).to.equal('design_not_found');
    });
    it('copies a collection card once, even for a held card, and the copy is then the newest design', async () => {
      const copied = await design({ design_id: ' card:welcome-home ', message: 'Привет' });
      expect(copied).not.to.equal(tenant.design);
      expect(await design({ design_id: 'card:welcome-home' })).to.equal(copied);
      expect(await design({})).to.equal(copied);
      const { rows } = await tenant.api('/api/v1/designs');
      expect(rows.map((row) => [row['id'], row['name'], row['collection_slug']])).to.deep.equal([
        [copied, 'Welcome Home', 'welcome-home'],
        [tenant.design, 'Thanks', null],
      ]);
      await archive(String(copied));
      const again = await design({ design_id: 'card:welcome-home' });
      expect(again).not.to.be.oneOf([copied, tenant.design]);
      await archive(String(again));
    });
    it('is refused once the collection card is withdrawn, while its copy stays usable', async () => {
      const put = (active: boolean) =>
        service.operator('/operator/v1/collection/seasonal', {
          method: 'PUT',
          body: { title: 'Seasonal', active },
        });
      await put(true);
      const copied = await design({ design_id: 'card:seasonal' });
      await put(false);
      expect((await post({ design_id: 'card:seasonal' })).code).to.equal('design_not_found');
      expect([await design({ design_id: copied }), await design({})]).to.deep.equal([copied, copied]);
      await archive(String(copied));
    });
    it('is required if the organization has no saved design', async () => {
      const { api, balance } = await service.tenant({ credits: 1, designs: false });
      const refused = await api('/api/v1/cards', { body: aCard() });
      expect([refused.status, refused.code, await balance()]).to.deep.equal([422, 'no_design_available', 1]);
      expect(
        (await api('/api/v1/cards', { body: aCard({ design_id: 'card:with-sympathy' }) })).status,
      ).to.equal(201);
    });
  });

  describe('reference', () => {
    const forty = 'r'.repeat(39);
    const references: readonly (readonly [string, unknown, unknown])[] = [
      ['null if it is omitted', undefined, null],
      ['null if it is blank', '  ', null],
      ['the trimmed text', ' Order 7 ', 'Order 7'],
      ['the text of a number', 1007, '1007'],
      ['the text of a fraction', -1.5, '-1.5'],
      ['the text of zero', 0, '0'],
      ['its first 40 characters', `${forty}ABC`, `${forty}A`],
      ['its first 40 code points', `${forty}😀😀`, `${forty}😀`],
      ['anything else as it is', '<b>&"{{x}}"\u00e9', '<b>&"{{x}}"é'],
    ];
    for (const [what, reference, stored] of references)
      it(`is stored as ${what}`, async () => {
        const sent = await accepted({ reference });
        const found = await lookUp(sent);
        const row = (await tenant.api('/api/v1/cards?limit=1')).rows[0];
        expect([sent['reference'], found['reference'], row?.['reference']]).to.deep.equal([
          stored,
          stored,
          stored,
        ]);
      });
    it('does not deduplicate: two cards may have the same one', async () => {
      const [one, two] = [await accepted({ reference: 'same' }), await accepted({ reference: 'same' })];
      expect(one['id']).not.to.equal(two['id']);
    });
  });

  describe('of several errors', () => {
    const wrong = {
      recipient: { ...ada, zip: 5 },
      message: '',
      arrive_on: 'x',
      handwriting: 'x',
      reference: {},
      design_id: 'x',
    };
    const order: readonly (readonly [string, object])[] = [
      ['invalid_recipient', {}],
      ['missing_message', { recipient: ada }],
      ['message_too_long', { message: '{{x}}'.repeat(200) }],
      ['broken_merge_field', { message: '{{x}}' }],
      ['invalid_date', { message: 'Hello' }],
      ['unknown_handwriting', { arrive_on: undefined }],
      ['invalid_parameter', { handwriting: undefined }],
      ['design_not_found', { reference: undefined }],
    ];
    it('reports the first, in the documented order', async () => {
      const codes: unknown[] = [];
      let body: object = wrong;
      for (const [, change] of order) {
        body = { ...body, ...change };
        codes.push((await post(body)).code);
      }
      expect(codes).to.deep.equal(order.map(([code]) => code));
    });
    it('reports the first that is declared, if it and all after it are wrong', async () => {
      const names = Object.keys(newCard.shape);
      const reported: unknown[] = [];
      for (const at of names.keys()) {
        const wrongFields = Object.fromEntries(names.slice(at).map((name) => [name, [{}]]));
        reported.push((await post(wrongFields)).param);
      }
      expect(reported).to.deep.equal(names);
    });
    it('reports fields before holds and holds before an empty balance', async () => {
      const { api } = await service.tenant({ credits: 0 });
      const code = async (changes: object) => {
        const { status, code: refused } = await api('/api/v1/cards', { body: aCard(changes) });
        return [status, refused];
      };
      expect(await code({ message: '🎉', design_id: 'x' })).to.deep.equal([404, 'design_not_found']);
      expect(await code({ message: '🎉' })).to.deep.equal([201, null]);
      expect(await code({ message: '{{x}}' })).to.deep.equal([422, 'broken_merge_field']);
      expect(await code({})).to.deep.equal([402, 'no_credits']);
    });
  });

  it('ignores unknown fields and names that could reach a prototype', async () => {
    const text = JSON.stringify(aCard({ extra: { deep: [1] } })).replace(
      '{',
      '{"__proto__":{"message":"x"},"constructor":{"prototype":{}},"toString":1,',
    );
    const sent = await tenant.api('/api/v1/cards', { body: text });
    expect(sent.status).to.equal(201);
    expect((await tenant.api('/api/v1/cards', { body: '{"__proto__":{"message":"x"}}' })).code).to.equal(
      'invalid_recipient',
    );
  });
});
