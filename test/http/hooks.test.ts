import { expect } from 'chai';
import fc from 'fast-check';
import { rounds } from '../support/runner/effort.js';
import { settableClock } from '../support/http/http.js';
import {
  startTestService,
  type Client,
  type Fields,
  type Reply,
  type RunningService,
  type Tenant,
  aCard,
} from '../support/http/service.js';

const recipient = { name: 'Ann Marie Lee', line1: '1 Main St', city: 'Austin', state: 'TX', zip: '78701' };
const hello = { ...recipient, message: 'Hello' };

const refusalOf = ({ status, code, param }: Reply) => [status, code, param];

interface TestHook {
  readonly id: string;
  readonly path: string;
  readonly token: string;
  readonly fire: (body: unknown) => Promise<Reply>;
  readonly described: () => Promise<Fields | undefined>;
  readonly calls: (query?: string) => Promise<Reply>;
}

describe('inbound hooks', () => {
  let service: RunningService;
  let tenant: Tenant;
  let office: string;
  let anybody: Client;

  const make = async (settings: object = {}): Promise<TestHook> => {
    const made = await service.operator(office, { body: settings });
    expect(made.status).to.equal(201);
    const { id } = made;
    const token = String(made.body['token']);
    const path = `/api/v1/hooks/${token}`;
    expect(made.body).to.deep.equal({ id, token, url: `${service.baseUrl}${path}` });
    return {
      id,
      token,
      path,
      fire: (body) => anybody(path, { method: 'POST', body }),
      described: async () => (await service.operator(office)).rows.find((row) => row['id'] === id),
      calls: (query = '') => service.operator(`${office}/${id}/calls${query}`),
    };
  };

  /** The card as the floor sees it, message and source included. */
  const cardOf = async ({ id }: Reply): Promise<Fields> =>
    (await service.operator(`/operator/v1/cards/${id}`)).body;
  const messageOf = async (reply: Reply): Promise<unknown> => (await cardOf(reply))['message'];

  before(async () => {
    service = await startTestService();
    anybody = service.anonymous;
  });
  after(() => service.stop());
  beforeEach(async () => {
    tenant = await service.tenant({ credits: 20 });
    office = `/operator/v1/organizations/${tenant.org}/hooks`;
  });

  describe('POST /api/v1/hooks/{token}', () => {
    it('sends one card for one credit without a key, and responds with 201', async () => {
      const { id: hookId, fire } = await make();
      const sent = await fire({ ...hello, reference: 'order-7' });
      expect(sent.status).to.equal(201);
      const { id, arrives_between: window, ...rest } = sent.body;
      expect(id).to.match(/^HC-[0-9A-HJKMNP-TV-Z]{7}$/);
      expect(Object.keys(window as object)).to.deep.equal(['earliest', 'latest']);
      expect([rest['object'], rest['status'], rest['held_reason'], rest['url']]).to.deep.equal([
        'card',
        'scheduled',
        null,
        `${service.baseUrl}/cards/${sent.id}`,
      ]);
      expect(await tenant.balance()).to.equal(19);
      const card = await cardOf(sent);
      expect([
        card['message'],
        card['reference'],
        card['source'],
        card['design_id'],
        card['organization'],
      ]).to.deep.equal(['Hello', 'order-7', 'hook', tenant.design, tenant.org]);
      const listed = await tenant.api('/api/v1/cards?reference=order-7');
      expect(listed.rows.map((row) => row['id'])).to.deep.equal([sent.id]);
      expect(hookId).to.not.equal('');
    });

    it('reads recipient fields in the object and at the top level, with their aliases', async () => {
      const { fire } = await make();
      const sent = await fire({
        message: 'Hello',
        name: 'Top',
        postal_code: '787011234',
        address1: 'not this',
        address2: 'Apt 2',
        state: 'tx',
        recipient: { name: 'Nested', address1: '1 Main St', city: 'Austin', line1: ' ' },
      });
      expect(sent.status).to.equal(201);
      expect((await cardOf(sent))['recipient']).to.deep.equal({
        name: 'Nested',
        line1: '1 Main St',
        line2: 'Apt 2',
        city: 'Austin',
        state: 'TX',
        zip: '78701-1234',
        country: 'US',
      });
    });

    it('joins first and last name, and requires both', async () => {
      const { fire } = await make();
      const { name: _, ...unnamed } = hello;
      const named = async (names: object) =>
        ((await cardOf(await fire({ ...unnamed, ...names })))['recipient'] as Fields)['name'];
      expect(await named({ first_name: 'Ann', last_name: 'Lee' })).to.equal('Ann Lee');
      expect(await named({ name: 'Bo', first_name: 'Ann', last_name: 'Lee' })).to.equal('Bo');
      for (const names of [
        { first_name: 'Ann' },
        { last_name: 'Lee' },
        { first_name: ' ', last_name: 'Lee' },
        {},
      ]) {
        expect(refusalOf(await fire({ ...unnamed, ...names }))).to.deep.equal([
          422,
          'invalid_recipient',
          'recipient.name',
        ]);
      }
    });

    it('refuses a recipient that lacks required fields or is not an object', async () => {
      const { fire } = await make();
      for (const field of ['line1', 'city', 'state', 'zip']) {
        expect(refusalOf(await fire({ ...hello, [field]: '' }))).to.deep.equal([
          422,
          'invalid_recipient',
          `recipient.${field}`,
        ]);
      }
      expect(refusalOf(await fire({ ...hello, zip: 78701 }))).to.deep.equal([
        422,
        'invalid_recipient',
        'recipient.zip',
      ]);
      expect(refusalOf(await fire({ ...hello, country: 'CA' }))).to.deep.equal([
        422,
        'invalid_recipient',
        'recipient.country',
      ]);
      for (const wrong of ['Ann', [recipient, recipient], 5, true]) {
        const reply = await fire({ ...hello, recipient: wrong });
        expect(refusalOf(reply)).to.deep.equal([422, 'invalid_recipient', 'recipient']);
        expect(reply.text).to.match(/one card per request/);
      }
      expect((await fire({ ...hello, recipient: null })).status).to.equal(201);
      expect(await tenant.balance()).to.equal(19);
    });

    it('accepts `id` in place of `reference`, and numbers', async () => {
      const { fire } = await make();
      const referenceOf = async (fields: object) =>
        (await cardOf(await fire({ ...hello, ...fields })))['reference'];
      expect(await referenceOf({ id: 17 })).to.equal('17');
      expect(await referenceOf({ reference: 'r', id: 'i' })).to.equal('r');
      expect(await referenceOf({ reference: '', id: 'i' })).to.equal('i');
      expect(await referenceOf({ reference: 'x'.repeat(50) })).to.equal('x'.repeat(40));
      expect(await referenceOf({})).to.equal(null);
    });

    it('treats blank fields as omitted', async () => {
      const { fire } = await make();
      expect(
        (await fire({ ...hello, handwriting: ' ', design_id: '', arrive_on: '', reference: '', line2: '' }))
          .status,
      ).to.equal(201);
      expect(refusalOf(await fire({ ...hello, arrive_on: 'soon' }))).to.deep.equal([
        422,
        'invalid_date',
        'arrive_on',
      ]);
      expect(refusalOf(await fire({ ...hello, handwriting: 'nobody' }))).to.deep.equal([
        422,
        'unknown_handwriting',
        'handwriting',
      ]);
      expect(refusalOf(await fire({ ...hello, design_id: 'nothing' }))).to.deep.equal([
        404,
        'design_not_found',
        'design_id',
      ]);
      const hand = await fire({ ...hello, handwriting: 'ELEGANT' });
      expect((await cardOf(hand))['handwriting']).to.equal('Elegant');
    });

    it('requires a valid message in the payload if the hook has no template', async () => {
      const { fire } = await make();
      for (const message of [undefined, null, '', ' \n', 5])
        expect(refusalOf(await fire({ ...recipient, message }))).to.deep.equal([
          422,
          'missing_message',
          'message',
        ]);
      expect(refusalOf(await fire({ ...recipient, message: 'x'.repeat(501) }))).to.deep.equal([
        422,
        'message_too_long',
        'message',
      ]);
      expect(refusalOf(await fire({ ...recipient, message: 'Hi {{name}}' }))).to.deep.equal([
        422,
        'broken_merge_field',
        'message',
      ]);
      expect((await fire({ ...recipient, message: 'x'.repeat(500) })).status).to.equal(201);
    });

    it('prefers the message of the payload to the template', async () => {
      const { fire } = await make({ template: 'From the template' });
      expect(await messageOf(await fire({ ...recipient, message: 'Mine' }))).to.equal('Mine');
      expect(await messageOf(await fire({ ...recipient, message: '  ' }))).to.equal('From the template');
    });

    it('refuses with 402 on an empty balance, and creates nothing', async () => {
      const poor = await service.tenant({ credits: 0 });
      const made = await service.operator(`/operator/v1/organizations/${poor.org}/hooks`, { body: {} });
      const reply = await anybody(`/api/v1/hooks/${String(made.body['token'])}`, { body: hello });
      expect(refusalOf(reply)).to.deep.equal([402, 'no_credits', null]);
      expect((await poor.api('/api/v1/cards')).rows).to.deep.equal([]);
    });

    it('holds a card that a person must check, and charges nothing', async () => {
      const { fire, described } = await make();
      const held = await fire({ ...hello, message: 'Hello 🎉' });
      expect([held.status, held.body['status']]).to.deep.equal([201, 'held']);
      expect(held.body['held_reason']).to.be.a('string');
      expect(await tenant.balance()).to.equal(20);
      expect((await described())?.['fire_count']).to.equal(1);
    });

    it('holds a card to an e-mail address on the do-not-mail list', async () => {
      const { fire } = await make();
      expect(
        (
          await service.operator(`/operator/v1/organizations/${tenant.org}/do-not-mail`, {
            body: { email: 'Ann@Example.com' },
          })
        ).status,
      ).to.equal(201);
      expect((await fire({ ...hello, email: ' ann@EXAMPLE.com ' })).body['status']).to.equal('held');
      expect(
        (await fire({ message: 'Hello', recipient: { ...recipient, email: 'ann@example.com' } })).body[
          'status'
        ],
      ).to.equal('held');
      for (const email of [[''], [null], ' ', 'n/a', ['none'], '-'])
        expect(
          (await fire({ message: 'Hello', recipient: { ...recipient, email }, email: 'ann@example.com' }))
            .body['status'],
        ).to.equal('held');
      for (const email of ['＜ann@example.com＞', '=ann@example.com', 'ann@example.com!', 'ａnn@example.com'])
        expect((await fire({ ...hello, email })).body['status'], email).to.equal('held');
      expect((await fire({ ...hello, email: 'bo@example.com' })).body['status']).to.equal('scheduled');
    });

    it('finds the contact that was saved with the same `external_id`, and no other', async () => {
      const { fire } = await make();
      await service.operator(`/operator/v1/organizations/${tenant.org}/do-not-mail`, {
        body: { email: 'ann@example.com' },
      });
      const statusFor = async (external_id: unknown) =>
        (await fire({ ...hello, external_id })).body['status'];
      for (const external_id of ['c-1\u200b', 'true', '7']) {
        await tenant.api('/api/v1/contacts', {
          body: { external_id, name: 'Ann', email: 'ann@example.com' },
        });
        expect(await statusFor(` ${external_id} `), external_id).to.equal('held');
      }
      expect(await statusFor(7)).to.equal('held');
      for (const email of [null, '', 'n/a', 'unknown'])
        expect((await fire({ ...hello, external_id: 7, email })).body['status'], String(email)).to.equal(
          'held',
        );
      for (const other of ['c-1', true, ['true'], '\u200b', 'x'.repeat(256)])
        expect(await statusFor(other), String(other)).to.equal('scheduled');
    });

    it('holds a card to an address on the list in either spelling of its host', async () => {
      const { fire } = await make();
      const spellings = ['@bücher.example', '@xn--bcher-kva.example'];
      for (const [name, listed] of spellings.entries()) {
        await service.operator(`/operator/v1/organizations/${tenant.org}/do-not-mail`, {
          body: { email: `${name}${listed}` },
        });
        for (const host of spellings)
          expect((await fire({ ...hello, email: `${name}${host}` })).body['status']).to.equal('held');
      }
      expect((await fire({ ...hello, email: `2${spellings[0]}` })).body['status']).to.equal('scheduled');
    });

    it('refuses anything but a JSON object', async () => {
      const { path, fire } = await make();
      expect(
        (
          await anybody(path, {
            method: 'POST',
            body: 'name=Ann',
            headers: { 'content-type': 'application/x-www-form-urlencoded' },
          })
        ).code,
      ).to.equal('unsupported_media_type');
      expect((await fire('{')).code).to.equal('invalid_json');
      expect((await fire('')).code).to.equal('invalid_json');
      expect((await fire([hello])).code).to.equal('invalid_body');
      expect((await fire({ ...hello, extra: 'x'.repeat(110 * 1024) })).code).to.equal('body_too_large');
    });

    it('checks the token before it reads the body', async () => {
      const { id, path } = await make();
      await service.operator(`${office}/${id}`, { method: 'PATCH', body: { paused: true } });
      const nonsense = { method: 'POST', body: '{', headers: { 'content-type': 'text/plain' } };
      expect(refusalOf(await anybody(path, nonsense))).to.deep.equal([403, 'hook_disabled', null]);
      expect(refusalOf(await anybody(`${path}x`, nonsense))).to.deep.equal([401, 'invalid_hook', null]);
      expect((await anybody('/api/v1/hooks/%E0%A4%A', nonsense)).code).to.equal('invalid_hook');
      expect((await anybody('/api/v1/hooks/', nonsense)).code).to.equal('not_found');
    });

    it('ignores API keys and Idempotency-Keys, and no rate limit of a key counts', async () => {
      const { path } = await make();
      const headers = { authorization: 'Bearer nonsense', 'idempotency-key': 'k' };
      const sent = [
        await anybody(path, { body: hello, headers }),
        await anybody(path, { body: hello, headers }),
      ];
      expect(sent.map(({ status }) => status)).to.deep.equal([201, 201]);
      expect(sent[0]?.id).to.not.equal(sent[1]?.id);
      const { headers: answered } = sent[1] ?? (await anybody(path));
      expect(answered.get('x-ratelimit-remaining')).to.equal(answered.get('x-ratelimit-limit'));
    });

    it('refuses a design of another organization with design_not_found', async () => {
      const other = await service.tenant();
      const { fire } = await make();
      expect(refusalOf(await fire({ ...hello, design_id: other.design }))).to.deep.equal([
        404,
        'design_not_found',
        'design_id',
      ]);
    });
  });

  describe('the message template', () => {
    it('fills in fields of the payload, with dots for nested ones, once and unescaped', async () => {
      const { fire } = await make({
        template: '{{ item }} {{order.size}} {{n}} {{yes}} {{no}} {{zero}}',
        signed_by: 'Bo',
      });
      const sent = await fire({
        ...recipient,
        item: ' <b>Hat & "co"</b> ',
        order: { size: 'L' },
        n: 1.5,
        yes: true,
        no: false,
        zero: 0,
      });
      expect(await messageOf(sent)).to.equal('<b>Hat & "co"</b> L 1.5 true false 0');
      expect(
        refusalOf(
          await fire({ ...recipient, item: '{{n}}', order: { size: 'L' }, n: 1, yes: 1, no: 1, zero: 1 }),
        ),
      ).to.deep.equal([422, 'broken_merge_field', 'message']);
    });

    it('fills in the derived variables, which no field overrides', async () => {
      const { fire } = await make({
        template: '{{full_name}}, {{first_name}}, {{sender_name}}',
        signed_by: ' Bo & Co ',
      });
      const overriding = { full_name: 'x', sender_name: 'x' };
      expect(await messageOf(await fire({ ...recipient, ...overriding, first_name: 'x' }))).to.equal(
        'Ann Marie Lee, Ann, Bo & Co',
      );
      const { name: _, ...unnamed } = recipient;
      expect(
        await messageOf(await fire({ ...unnamed, ...overriding, first_name: 'Ann Marie', last_name: 'Lee' })),
      ).to.equal('Ann Marie Lee, Ann Marie, Bo & Co');
      const unsigned = await make({ template: '{{sender_name}}' });
      expect(refusalOf(await unsigned.fire({ ...recipient, sender_name: 'x' }))).to.deep.equal([
        422,
        'template_incomplete',
        'sender_name',
      ]);
    });

    it('is refused with template_incomplete, naming every missing value', async () => {
      const { fire } = await make({
        template: '{{a}} {{b}} {{c}} {{d}} {{E}} {{constructor}} {{toString}} {{__proto__.x}} {{ok}}',
      });
      const reply = await fire({
        ...recipient,
        a: null,
        b: ' ',
        c: { x: 1 },
        d: ['x'],
        e: 'lower case',
        ok: 'ok',
      });
      expect(refusalOf(reply)).to.deep.equal([422, 'template_incomplete', 'a']);
      expect(reply.text).to.contain('a, b, c, d, E, constructor, toString, __proto__.x.');
      expect(reply.text).to.not.contain('ok,');
    });

    it('looks a name up as a key, then along its dots, then in the recipient, then in the contact', async () => {
      await tenant.api('/api/v1/contacts', {
        body: {
          external_id: 'c-1',
          name: 'Ann',
          company: 'Acme',
          job_title: 'CTO',
          work_anniversary: '2000-01-01',
        },
      });
      const { fire } = await make({ template: '{{a.b}}|{{zip}}|{{city}}|{{company}}|{{job_title}}' });
      const nested = {
        recipient: { ...recipient, zip: undefined, postal_code: '78701' },
        external_id: 'c-1',
        a: { b: 'deep' },
      };
      expect(await messageOf(await fire({ ...nested, 'a.b': 'flat' }))).to.equal(
        'flat|78701|Austin|Acme|CTO',
      );
      expect(await messageOf(await fire({ ...nested, company: 'Mine', job_title: null }))).to.equal(
        'deep|78701|Austin|Mine|CTO',
      );
      expect(refusalOf(await fire({ ...nested, external_id: 'c-2' }))).to.deep.equal([
        422,
        'template_incomplete',
        'company',
      ]);
    });

    it('counts whole years since the work anniversary', async () => {
      const { fire } = await make({ template: 'Year {{years}}' });
      const thisYear = new Date().getUTCFullYear();
      await tenant.api('/api/v1/contacts', {
        body: { external_id: 7, name: 'Ann', work_anniversary: `${thisYear - 6}-01-01` },
      });
      expect(await messageOf(await fire({ ...recipient, external_id: 7 }))).to.match(/^Year (5|6)$/);
      await tenant.api('/api/v1/contacts', { body: { external_id: 7, name: 'Ann' } });
      expect((await fire({ ...recipient, external_id: 7 })).code).to.equal('template_incomplete');
    });

    it('is checked for length and merge fields after it is filled in', async () => {
      const { fire } = await make({ template: '{{text}}' });
      expect((await fire({ ...recipient, text: 'x'.repeat(500) })).status).to.equal(201);
      expect((await fire({ ...recipient, text: 'x'.repeat(501) })).code).to.equal('message_too_long');
      expect((await fire({ ...recipient, text: '[[x]]' })).code).to.equal('broken_merge_field');
      const other = await make({ template: 'Dear [[name]]' });
      expect((await other.fire({ ...recipient })).code).to.equal('broken_merge_field');
    });
  });

  describe("a hook's design", () => {
    it('is checked when the hook is made', async () => {
      for (const design_id of ['nothing', 'card:nothing', 5, '00000000-0000-4000-8000-000000000000']) {
        expect(refusalOf(await service.operator(office, { body: { design_id } }))).to.deep.equal([
          404,
          'design_not_found',
          'design_id',
        ]);
      }
    });

    it('is checked again at every call, and never replaced by another design', async () => {
      const { fire } = await make({ design_id: tenant.design });
      const base = `/operator/v1/organizations/${tenant.org}/designs`;
      const newer = await service.operator(base, { body: { name: 'Newer' } });
      expect((await cardOf(await fire(hello)))['design_id']).to.equal(tenant.design);
      expect((await cardOf(await fire({ ...hello, design_id: newer.id })))['design_id']).to.equal(newer.id);
      await service.operator(`${base}/${tenant.design}`, { method: 'DELETE' });
      expect(refusalOf(await fire(hello))).to.deep.equal([404, 'design_not_found', 'design_id']);
      expect((await fire({ ...hello, design_id: newer.id })).status).to.equal(201);
    });

    it('defaults to the newest saved design, and may be a collection card', async () => {
      const plain = await make();
      expect((await cardOf(await plain.fire(hello)))['design_id']).to.equal(tenant.design);
      const { fire } = await make({ design_id: 'card:thank-you-classic' });
      const first = (await cardOf(await fire(hello)))['design_id'];
      expect(first).to.not.equal(tenant.design);
      expect((await cardOf(await fire(hello)))['design_id']).to.equal(first);
    });

    it('is refused with no_design_available if the organization has no design', async () => {
      const bare = await service.tenant({ designs: false });
      const made = await service.operator(`/operator/v1/organizations/${bare.org}/hooks`, { body: {} });
      expect((await anybody(`/api/v1/hooks/${String(made.body['token'])}`, { body: hello })).code).to.equal(
        'no_design_available',
      );
    });
  });

  describe('GET /api/v1/hooks/{token}', () => {
    it('responds to any token alike, sends nothing and spends nothing', async () => {
      const { path, calls, id } = await make();
      await service.operator(`${office}/${id}`, { method: 'PATCH', body: { paused: true } });
      const answers = [
        await anybody(path),
        await anybody('/api/v1/hooks/nonsense'),
        await anybody('/api/v1/hooks/%E0%A4%A'),
      ];
      for (const { status, body } of answers) {
        expect([
          status,
          body['object'],
          body['ready'],
          typeof body['message'],
          body['example'],
        ]).to.deep.equal([
          200,
          'inbound_hook',
          true,
          'string',
          {
            name: 'Ada Lovelace',
            line1: '12 Analytical Way',
            line2: 'Apt 4',
            city: 'Springfield',
            state: 'IL',
            zip: '62701',
            country: 'US',
          },
        ]);
      }
      expect(await tenant.balance()).to.equal(20);
      expect((await calls()).rows).to.deep.equal([]);
      expect((await anybody('/api/v1/hooks/')).code).to.equal('not_found');
      expect((await anybody(path, { method: 'PUT', body: {} })).code).to.equal('method_not_allowed');
    });
  });

  describe('in the operator API', () => {
    it('are listed newest first with the number and time of their calls, and without tokens', async () => {
      const first = await make({
        label: ' Shop ',
        design_id: tenant.design,
        template: 'Hi {{name}}',
        signed_by: 'Bo',
      });
      const second = await make();
      await first.fire(recipient);
      await first.fire({ ...recipient, zip: '' });
      const list = await service.operator(office);
      const { last_fired_at: lastFiredAt, ...row } = list.rows[1] ?? {};
      expect(list.rows[0]).to.deep.equal({
        id: second.id,
        label: null,
        design_id: null,
        template: null,
        signed_by: null,
        fire_count: 0,
        last_fired_at: null,
        paused: false,
      });
      expect(row).to.deep.equal({
        id: first.id,
        label: 'Shop',
        design_id: tenant.design,
        template: 'Hi {{name}}',
        signed_by: 'Bo',
        fire_count: 1,
        paused: false,
      });
      expect(lastFiredAt).to.match(/\+00:00$/);
      expect(list.text).to.not.contain(first.token).and.not.contain(second.token);
      const page = await service.operator(`${office}?limit=1`);
      expect([page.rows[0]?.['id'], page.body['has_more'], page.body['next_cursor']]).to.deep.equal([
        second.id,
        true,
        second.id,
      ]);
      expect(
        (await service.operator(`${office}?starting_after=${second.id}`)).rows.map((each) => each['id']),
      ).to.deep.equal([first.id]);
      expect((await service.operator(`${office}?starting_after=x`)).code).to.equal('invalid_cursor');
    });

    it('list every call with its result, newest first', async () => {
      const { id, fire, calls } = await make();
      const sent = await fire(hello);
      const refused = await fire({ ...hello, zip: '' });
      const array = await fire([]);
      await service.operator(`${office}/${id}`, { method: 'PATCH', body: { paused: true } });
      const paused = await fire(hello);
      const log = await calls();
      expect(
        log.rows.map((row) => [row['status'], row['code'], row['card'], row['request_id']]),
      ).to.deep.equal([
        [403, 'hook_disabled', null, paused.headers.get('x-request-id')],
        [400, 'invalid_body', null, array.headers.get('x-request-id')],
        [422, 'invalid_recipient', null, refused.headers.get('x-request-id')],
        [201, null, sent.id, sent.headers.get('x-request-id')],
      ]);
      for (const row of log.rows) {
        expect(Object.keys(row)).to.deep.equal(['id', 'at', 'status', 'code', 'card', 'request_id']);
        expect(row['at']).to.match(/\+00:00$/);
      }
      const page = await calls('?limit=3');
      expect([page.rows.length, page.body['has_more']]).to.deep.equal([3, true]);
      expect(
        (await calls(`?limit=3&starting_after=${String(page.body['next_cursor'])}`)).rows.map(
          (row) => row['status'],
        ),
      ).to.deep.equal([201]);
      expect((await calls('?starting_after=x')).code).to.equal('invalid_cursor');
    });

    it('can be changed: what is left out stays, and calls from then on go by it', async () => {
      const tenant = await service.tenant();
      const office = `/operator/v1/organizations/${tenant.org}/hooks`;
      const made = await service.operator(office, {
        body: { label: 'Shop', template: 'Dear {{first_name}}', signed_by: 'Ann' },
      });
      const patch = (body: unknown) => service.operator(`${office}/${made.id}`, { method: 'PATCH', body });
      for (let time = 0; time < 2; time++) {
        const changed = await patch({
          template: 'Hello {{first_name}}',
          design_id: tenant.design,
          label: null,
        });
        expect([changed.status, changed.body]).to.deep.equal([
          200,
          {
            id: made.id,
            label: 'Shop',
            design_id: tenant.design,
            template: 'Hello {{first_name}}',
            signed_by: 'Ann',
            fire_count: 0,
            last_fired_at: null,
            paused: false,
          },
        ]);
      }
      expect((await service.operator(office)).rows).to.deep.equal([(await patch({ label: 'Shop' })).body]);
      const cleared = await patch({ template: '', design_id: '', signed_by: '' });
      expect(cleared.body).to.include({ label: 'Shop', template: null, design_id: null, signed_by: null });
      await patch({ template: 'Hello {{first_name}}', design_id: tenant.design, signed_by: 'Ann' });
      const { recipient } = aCard() as { readonly recipient: object };
      const fired = await service.anonymous(`/api/v1/hooks/${String(made.body['token'])}`, {
        body: recipient,
      });
      const card = (await service.operator(`/operator/v1/cards/${fired.id}`)).body;
      expect([card['message'], card['design_id']]).to.deep.equal(['Hello Ada', tenant.design]);
      const unknown = await patch({ label: 'Other', design_id: 'card:none', paused: true });
      expect(refusalOf(unknown)).to.deep.equal([404, 'design_not_found', 'design_id']);
      expect((await service.operator(office)).rows[0]).to.include({ label: 'Shop', paused: false });
      expect((await patch({ label: 'Both', paused: true })).body).to.include({ label: 'Both', paused: true });
    });
    it('are paused, resumed and deleted forever', async () => {
      const { id, fire, described, calls } = await make();
      const patch = (paused: unknown) =>
        service.operator(`${office}/${id}`, { method: 'PATCH', body: { paused } });
      const first = await patch(true);
      expect([first.status, first.body['paused']]).to.deep.equal([200, true]);
      expect((await patch(true)).status).to.equal(200);
      expect((await described())?.['paused']).to.equal(true);
      expect(refusalOf(await fire(hello))).to.deep.equal([403, 'hook_disabled', null]);
      expect((await patch(false)).body['paused']).to.equal(false);
      expect((await fire(hello)).status).to.equal(201);
      for (const wrong of ['yes', 1])
        expect(refusalOf(await patch(wrong))).to.deep.equal([400, 'invalid_parameter', 'paused']);
      expect(refusalOf(await patch(undefined))).to.deep.equal([400, 'invalid_parameter', null]);
      expect((await service.operator(`${office}/${id}`, { method: 'DELETE' })).body).to.deep.equal({
        id,
        deleted: true,
      });
      expect((await service.operator(`${office}/${id}`, { method: 'DELETE' })).status).to.equal(200);
      expect(refusalOf(await fire(hello))).to.deep.equal([401, 'invalid_hook', null]);
      expect((await patch(false)).code).to.equal('not_found');
      expect(refusalOf(await fire(hello))).to.deep.equal([401, 'invalid_hook', null]);
      expect(await described()).to.equal(undefined);
      const log = await calls();
      expect([log.status, log.rows.map((row) => row['status'])]).to.deep.equal([200, [201, 403]]);
      const { text } = await service.anonymous('/metrics');
      expect(Number(/^unlogged_hook_calls_total\{reason="deleted"\} (\d+)$/m.exec(text)?.[1])).to.be.at.least(
        2,
      );
    });

    it('respond with 404 under another organization or an unknown one', async () => {
      const { id } = await make();
      const other = await service.tenant({ credits: 0 });
      for (const base of [
        `/operator/v1/organizations/${other.org}/hooks`,
        '/operator/v1/organizations/nobody/hooks',
      ]) {
        for (const each of [id, 'nonsense', '%20', '00000000-0000-4000-8000-000000000000']) {
          expect((await service.operator(`${base}/${each}/calls`)).code).to.equal('not_found');
          expect(
            (await service.operator(`${base}/${each}`, { method: 'PATCH', body: { paused: true } })).code,
          ).to.equal('not_found');
          expect((await service.operator(`${base}/${each}`, { method: 'DELETE' })).code).to.equal(
            'not_found',
          );
        }
      }
      expect((await service.operator('/operator/v1/organizations/%20/hooks')).code).to.equal('not_found');
      expect((await service.operator('/operator/v1/organizations/nobody/hooks', { body: {} })).code).to.equal(
        'not_found',
      );
      for (const settings of [{ label: 5 }, { template: {} }, { signed_by: [] }]) {
        expect((await service.operator(office, { body: settings })).code).to.equal('invalid_parameter');
      }
    });
  });
});

describe('a random payload to a hook', () => {
  const odd = fc.oneof(
    fc.constantFrom<unknown>(
      '',
      ' ',
      null,
      0,
      78701,
      true,
      [],
      ['a'],
      {},
      { text: 'a' },
      '{{x}}',
      'TX',
      'Texas',
      '78701',
      'x'.repeat(600),
      '2026-02-30',
    ),
    fc.string({ unit: 'grapheme', maxLength: 12 }),
    fc.jsonValue({ maxDepth: 1 }),
  );
  const mutated = (sound: Fields): fc.Arbitrary<Fields> =>
    fc
      .record(
        Object.fromEntries(
          Object.entries(sound).map(([name, value]) => [
            name,
            fc.oneof({ weight: 12, arbitrary: fc.constant(value) }, odd),
          ]),
        ),
      )
      .chain((fields) =>
        fc
          .subarray(Object.keys(fields), { minLength: Object.keys(fields).length - 1 })
          .map((kept) => kept.map((name) => [name, fields[name]])),
      )
      .map((kept) => Object.fromEntries(kept));
  const more = fc.dictionary(
    fc.constantFrom(
      'first_name',
      'last_name',
      'email',
      'reference',
      'id',
      'external_id',
      'arrive_on',
      'handwriting',
      'nick',
    ),
    odd,
    {
      maxKeys: 2,
    },
  );

  it('becomes a card for one credit, or is refused with an error that says what is wrong', async () => {
    const service = await startTestService();
    try {
      const { org, balance } = await service.tenant({ credits: 1_000 });
      const made = await service.operator(`/operator/v1/organizations/${org}/hooks`, {
        body: { template: 'Hi {{nick}}', signed_by: 'Bo' },
      });
      const statuses = new Set<string>();
      let spent = 0;
      await fc.assert(
        fc.asyncProperty(
          mutated(hello),
          mutated(recipient),
          more,
          fc.boolean(),
          async (top, inner, rest, nested) => {
            const body = JSON.stringify({ ...rest, ...top, ...(nested && { recipient: inner }) });
            const reply = await service.anonymous(`/api/v1/hooks/${String(made.body['token'])}`, { body });
            if (reply.status === 201) {
              statuses.add(String(reply.body['status']));
              if (reply.body['status'] === 'scheduled') spent += 1;
            } else {
              statuses.add(String(reply.code));
              expect(reply.status, reply.text).to.be.within(400, 422);
              if (reply.code === 'template_incomplete' || reply.code === 'invalid_recipient')
                expect(reply.param, reply.text).to.be.a('string');
            }
          },
        ),
        { numRuns: rounds({ usually: 50, thoroughly: 200 }) },
      );
      expect(await balance()).to.equal(1_000 - spent);
      expect([...statuses]).to.include.members(['scheduled', 'invalid_recipient']);
    } finally {
      await service.stop();
    }
  });
});

describe('the rate limit of a hook', () => {
  it('refuses further calls within the clock minute, of which the log has the first', async () => {
    const clock = settableClock('2026-03-02T15:00:10.000Z');
    const service = await startTestService({ HOOK_RATE_LIMIT_PER_MINUTE: '2' }, clock);
    try {
      const { org } = await service.tenant();
      const office = `/operator/v1/organizations/${org}/hooks`;
      const make = async () => (await service.operator(office, { body: {} })).body;
      const [busy, other] = [await make(), await make()];
      const fire = (hook: Fields, body: unknown = hello) =>
        service.anonymous(`/api/v1/hooks/${String(hook['token'])}`, { body });
      expect((await fire(busy)).status).to.equal(201);
      expect((await fire(busy, [])).code).to.equal('invalid_body');
      const refused = await fire(busy);
      expect([refused.status, refused.code, refused.headers.get('retry-after')]).to.deep.equal([
        429,
        'rate_limited',
        '50',
      ]);
      expect((await fire(busy)).status).to.equal(429);
      expect((await fire(other)).status).to.equal(201);
      const log = await service.operator(`${office}/${String(busy['id'])}/calls`);
      expect(log.rows.map((row) => [row['status'], row['code']])).to.deep.equal([
        [429, 'rate_limited'],
        [400, 'invalid_body'],
        [201, null],
      ]);
      const { text } = await service.anonymous('/metrics');
      expect(text).to.match(/^unlogged_hook_calls_total\{reason="limited"\} 1$/m);
      clock.set('2026-03-02T15:01:00.000Z');
      expect((await fire(busy)).status).to.equal(201);
    } finally {
      await service.stop();
    }
  });
});

describe('wrong hook tokens', () => {
  it('are throttled after 300 in a clock minute, while a right token still works', async () => {
    const clock = settableClock('2026-03-02T15:00:10.000Z');
    const service = await startTestService({}, clock);
    try {
      const { org } = await service.tenant();
      const made = await service.operator(`/operator/v1/organizations/${org}/hooks`, { body: {} });
      const wrong = () => service.anonymous('/api/v1/hooks/wrong', { body: hello });
      const codes: (string | null)[] = [];
      for (let attempt = 0; attempt < 300; attempt += 20)
        codes.push(...(await Promise.all(Array.from({ length: 20 }, wrong))).map(({ code }) => code));
      expect(new Set(codes)).to.deep.equal(new Set(['invalid_hook']));
      const throttled = await wrong();
      expect([throttled.status, throttled.code, throttled.headers.get('retry-after')]).to.deep.equal([
        429,
        'rate_limited',
        '50',
      ]);
      const right = await service.anonymous(`/api/v1/hooks/${String(made.body['token'])}`, { body: hello });
      expect(right.status).to.equal(201);
      clock.set('2026-03-02T15:01:00.000Z');
      expect((await wrong()).code).to.equal('invalid_hook');
    } finally {
      await service.stop();
    }
  });
});
