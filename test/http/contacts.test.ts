import { expect } from 'chai';
import { rounds } from '../support/runner/effort.js';
import {
  startTestService,
  type Fields,
  type Reply,
  type RunningService,
  type Tenant,
} from '../support/http/service.js';

const path = '/api/v1/contacts';

const idsOf = ({ rows }: Reply): readonly unknown[] => rows.map((row) => row['id']);

const refusalOf = ({ status, code, param }: Reply) => [status, code, param];

describe('contacts', () => {
  let service: RunningService;
  let tenant: Tenant;
  let save: (body: unknown) => Promise<Reply>;
  let list: (query?: string) => Promise<Reply>;

  before(async () => {
    service = await startTestService();
  });
  after(() => service.stop());
  beforeEach(async () => {
    tenant = await service.tenant({ credits: 0, designs: false });
    save = (body) => tenant.api(path, { method: 'POST', body });
    list = (query = '') => tenant.api(`${path}${query}`);
  });

  describe('POST /api/v1/contacts', () => {
    it('creates a contact and returns the whole resource', async () => {
      const created = await save({
        external_id: 'crm-1',
        name: '  Ann  Marie Lee ',
        company: 'Acme',
        job_title: 'CTO',
        email: 'Ann Lee <Ann@Example.com>',
        phone: '555-0100',
        address: {
          line1: '1 Main St',
          line2: 'Apt 2',
          city: 'Austin',
          state: 'tx',
          zip: '787011234',
          country: 'usa',
        },
        birthday: '1987-02-03',
        work_anniversary: '2020-02-29',
        nobody_knows: [1],
      });
      const { id, created_at: createdAt, ...rest } = created.body;
      expect([created.status, typeof id]).to.deep.equal([201, 'string']);
      expect(id).to.match(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/);
      expect(createdAt).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00$/);
      expect(rest).to.deep.equal({
        object: 'contact',
        external_id: 'crm-1',
        name: 'Ann Marie Lee',
        first_name: 'Ann',
        last_name: 'Marie Lee',
        company: 'Acme',
        job_title: 'CTO',
        email: 'ann@example.com',
        phone: '555-0100',
        address: {
          line1: '1 Main St',
          line2: 'Apt 2',
          city: 'Austin',
          state: 'TX',
          zip: '78701-1234',
          country: 'US',
          status: 'unverified',
        },
        birthday: '02-03',
        work_anniversary: '2020-02-29',
        updated_at: createdAt,
      });
      expect((await list()).rows).to.deep.equal([created.body]);
    });

    it('returns null for every omitted field, and an address all the same', async () => {
      const { body } = await save({ name: 'Ann' });
      const { id: _, created_at: _created, updated_at: _updated, ...rest } = body;
      expect(rest).to.deep.equal({
        object: 'contact',
        external_id: null,
        name: 'Ann',
        first_name: 'Ann',
        last_name: null,
        company: null,
        job_title: null,
        email: null,
        phone: null,
        address: {
          line1: null,
          line2: null,
          city: null,
          state: null,
          zip: null,
          country: 'US',
          status: 'unverified',
        },
        birthday: null,
        work_anniversary: null,
      });
    });

    it('replaces every field of the contact with the same external_id', async () => {
      const full = {
        external_id: ' crm-1 ',
        first_name: 'Ann',
        last_name: 'Lee',
        phone: '1',
        email: 'a@x.de',
        company: 'Acme',
        address: { city: 'Austin' },
        birthday: '01-02',
      };
      const created = await save(full);
      const other = await save({ external_id: 'crm-2', name: 'Bo' });
      const updated = await save({ external_id: 'crm-1', name: 'Ann Fox' });
      expect([created.status, updated.status]).to.deep.equal([201, 200]);
      const changing = [
        'name',
        'last_name',
        'phone',
        'email',
        'company',
        'address',
        'birthday',
        'updated_at',
      ];
      const kept = (body: Fields) =>
        Object.fromEntries(Object.entries(body).filter(([field]) => !changing.includes(field)));
      expect(kept(updated.body)).to.deep.equal(kept(created.body));
      expect(changing.map((field) => updated.body[field]).slice(0, -1)).to.deep.equal([
        'Ann Fox',
        'Fox',
        null,
        null,
        null,
        { line1: null, line2: null, city: null, state: null, zip: null, country: 'US', status: 'unverified' },
        null,
      ]);
      expect(String(updated.body['updated_at']) > String(created.body['updated_at'])).to.equal(true);
      expect((await list()).rows).to.deep.equal([other.body, updated.body]);
    });

    it('creates a new contact on every call without an external_id, even for a known email', async () => {
      const made = [
        await save({ name: 'Ann', email: 'a@x.de' }),
        await save({ name: 'Ann', email: 'a@x.de', external_id: ' ' }),
        await save({ name: 'Ann', email: 'a@x.de', external_id: null }),
      ];
      expect(made.map(({ status }) => status)).to.deep.equal([201, 201, 201]);
      expect(new Set(made.map(({ id }) => id)).size).to.equal(3);
      expect((await list('?email=A@X.de')).rows.length).to.equal(3);
    });

    it('accepts external_ids of up to 255 characters, case-sensitively, and numbers as text', async () => {
      expect((await save({ name: 'Ann', external_id: 'a' })).status).to.equal(201);
      expect((await save({ name: 'Ann', external_id: 'A' })).status).to.equal(201);
      expect((await save({ name: 'Ann', external_id: 42 })).body['external_id']).to.equal('42');
      expect((await save({ name: 'Ann', external_id: '42' })).status).to.equal(200);
      expect((await save({ name: 'Ann', external_id: 'x'.repeat(255) })).status).to.equal(201);
      for (const external_id of ['x'.repeat(256), {}, [1], true]) {
        expect(refusalOf(await save({ name: 'Ann', external_id }))).to.deep.equal([
          400,
          'invalid_parameter',
          'external_id',
        ]);
      }
    });

    it('prefers first and last name to the name', async () => {
      const names = async (body: Fields) => {
        const { body: saved } = await save(body);
        return [saved['name'], saved['first_name'], saved['last_name']];
      };
      expect(await names({ name: 'Bo Fox', first_name: ' Ann ', last_name: 'Lee' })).to.deep.equal([
        'Ann Lee',
        'Ann',
        'Lee',
      ]);
      expect(await names({ first_name: 'Ann' })).to.deep.equal(['Ann', 'Ann', null]);
      expect(await names({ last_name: 'Lee' })).to.deep.equal(['Lee', null, 'Lee']);
      expect(await names({ name: 'Cher' })).to.deep.equal(['Cher', 'Cher', null]);
    });

    it('is refused with missing_name without a name', async () => {
      for (const body of [
        {},
        { name: ' ' },
        { name: null, first_name: '' },
        { name: 5 },
        { email: 'a@x.de' },
      ]) {
        expect(refusalOf(await save(body))).to.deep.equal([422, 'missing_name', 'name']);
      }
      expect(refusalOf(await save({ name: 'Ann', first_name: 5 }))).to.deep.equal([
        422,
        'missing_name',
        'first_name',
      ]);
      expect(
        refusalOf(await save({ first_name: 'A'.repeat(150), last_name: 'B'.repeat(150) })),
      ).to.deep.equal([400, 'invalid_parameter', 'first_name']);
    });

    it('accepts a birthday with or without a year, and stores no year', async () => {
      for (const [sent, kept] of [
        ['12-31', '12-31'],
        ['1987-12-31', '12-31'],
        ['02-29', '02-29'],
        ['1988-02-29', '02-29'],
      ]) {
        expect((await save({ name: 'Ann', birthday: sent })).body['birthday']).to.equal(kept);
      }
      for (const birthday of ['2023-02-29', '13-01', '00-10', '1987', '12/31', 5, {}, true]) {
        expect(refusalOf(await save({ name: 'Ann', birthday }))).to.deep.equal([
          422,
          'invalid_birthday',
          'birthday',
        ]);
      }
    });

    it('accepts only a real date as work anniversary', async () => {
      for (const work_anniversary of ['2023-02-29', '01-02', '2020-1-1', '2020-01-01T00:00:00Z', 5, {}]) {
        expect(refusalOf(await save({ name: 'Ann', work_anniversary }))).to.deep.equal([
          422,
          'invalid_date',
          'work_anniversary',
        ]);
      }
    });

    it('checks the shape of every part of an address that is sent', async () => {
      expect((await save({ name: 'Ann', address: { zip: '78701' } })).status).to.equal(201);
      for (const [field, value] of Object.entries({
        line1: 'a\nb',
        line2: 'x'.repeat(201),
        city: 5,
        state: 'Texas',
        zip: '7870',
        country: 'CA',
      })) {
        expect(refusalOf(await save({ name: 'Ann', address: { [field]: value } }))).to.deep.equal([
          422,
          'invalid_recipient',
          `address.${field}`,
        ]);
      }
      for (const address of ['1 Main St', [], 5, true]) {
        expect(refusalOf(await save({ name: 'Ann', address }))).to.deep.equal([
          422,
          'invalid_recipient',
          'address',
        ]);
      }
    });

    it('refuses a company, job title, email or phone that is not a text', async () => {
      for (const field of ['company', 'job_title', 'email', 'phone']) {
        for (const value of [5, true, {}, []])
          expect(refusalOf(await save({ name: 'Ann', [field]: value }))).to.deep.equal([
            400,
            'invalid_parameter',
            field,
          ]);
      }
      expect((await save({ name: 'Ann', email: 'no address at all' })).status).to.equal(201);
    });

    it('creates no contact if it refuses the request', async () => {
      await save({ external_id: 'x', name: 'Ann', birthday: 'never' });
      await save({ external_id: 'x' });
      expect((await list()).rows).to.deep.equal([]);
    });

    const races = rounds({ usually: 12, thoroughly: 50 });
    it('creates one contact if two requests with one external_id come at once, many times', async () => {
      for (let round = 0; round < races; round += 1) {
        const saved = await Promise.all(
          ['Ann', 'Bo'].map((name) => save({ external_id: `race-${round}`, name })),
        );
        expect(saved.map(({ status }) => status).sort((a, b) => a - b)).to.deep.equal([200, 201]);
        expect(new Set(saved.map(({ id }) => id)).size).to.equal(1);
        const found = await list(`?external_id=race-${round}`);
        expect(idsOf(found)).to.deep.equal([saved[0]?.id]);
      }
    });

    it('requires JSON, an object and the scope contacts:write', async () => {
      expect(
        (
          await tenant.api(path, {
            method: 'POST',
            body: '{',
            headers: { 'content-type': 'application/json' },
          })
        ).code,
      ).to.equal('invalid_json');
      expect((await save([])).code).to.equal('invalid_body');
      expect(
        (await tenant.api(path, { method: 'POST', body: '{}', headers: { 'content-type': 'text/plain' } }))
          .status,
      ).to.equal(415);
      const reader = await tenant.withScopes('contacts:read');
      expect(refusalOf(await reader(path, { body: { name: 'Ann' } }))).to.deep.equal([
        403,
        'missing_scope',
        null,
      ]);
      expect((await service.anonymous(path, { body: { name: 'Ann' } })).code).to.equal('missing_key');
    });

    it('ignores an Idempotency-Key', async () => {
      const headers = { 'idempotency-key': 'k' };
      const made = [
        await tenant.api(path, { body: { name: 'Ann' }, headers }),
        await tenant.api(path, { body: { name: 'Ann' }, headers }),
      ];
      expect(made.map(({ status }) => status)).to.deep.equal([201, 201]);
      expect(made[1]?.headers.get('idempotent-replay')).to.equal(null);
    });
  });

  describe('GET /api/v1/contacts', () => {
    it('filters by email in any case and by external_id exactly, both together with AND', async () => {
      const ann = await save({ name: 'Ann', email: 'Ann@X.de', external_id: 'a' });
      const bo = await save({ name: 'Bo', email: 'ann@x.de', external_id: 'A' });
      expect(idsOf(await list('?email=%20ANN%40x.DE%20'))).to.deep.equal([bo.id, ann.id]);
      expect(idsOf(await list('?external_id=a'))).to.deep.equal([ann.id]);
      expect(idsOf(await list('?external_id=%20A%20&email=ann@x.de'))).to.deep.equal([bo.id]);
      expect(idsOf(await list('?external_id=a&email=bo@x.de'))).to.deep.equal([]);
      expect(idsOf(await list('?external_id=&email='))).to.deep.equal([bo.id, ann.id]);
    });

    it('follows a contact whose email changes', async () => {
      const { id } = await save({ name: 'Ann', email: 'old@x.de', external_id: 'a' });
      await save({ name: 'Ann', email: 'new@x.de', external_id: 'a' });
      expect(idsOf(await list('?email=old@x.de'))).to.deep.equal([]);
      expect(idsOf(await list('?email=new@x.de'))).to.deep.equal([id]);
    });

    it('pages in creation order, newest first, with a cursor', async () => {
      const ids: string[] = [];
      for (let number = 0; number < 5; number += 1)
        ids.unshift((await save({ name: `N${number}`, external_id: number, email: 'a@x.de' })).id);
      await save({ name: 'again', external_id: 0, email: 'a@x.de' });
      const first = await list('?limit=2');
      expect([
        idsOf(first),
        first.body['has_more'],
        first.body['next_cursor'],
        first.body['object'],
      ]).to.deep.equal([ids.slice(0, 2), true, ids[1], 'list']);
      const second = await list(`?limit=2&email=a@x.de&starting_after=${ids[1]}`);
      expect([idsOf(second), second.body['has_more']]).to.deep.equal([ids.slice(2, 4), true]);
      const last = await list(`?limit=2&starting_after=${ids[3]}`);
      expect([idsOf(last), last.body['has_more'], last.body['next_cursor']]).to.deep.equal([
        [ids[4]],
        false,
        null,
      ]);
      const full = await list('?limit=5');
      expect([idsOf(full), full.body['has_more'], full.body['next_cursor']]).to.deep.equal([
        ids,
        true,
        ids[4],
      ]);
      expect(idsOf(await list(`?starting_after=${ids[4]}`))).to.deep.equal([]);
      expect(idsOf(await list('?starting_after=&limit=0'))).to.deep.equal(ids);
    });

    it('refuses a cursor that is not a contact of the organization', async () => {
      const foreign = await (await service.tenant({ credits: 0 })).api(path, { body: { name: 'Eve' } });
      for (const cursor of ['nonsense', foreign.id, '00000000-0000-4000-8000-000000000000']) {
        expect(refusalOf(await list(`?starting_after=${cursor}`))).to.deep.equal([
          400,
          'invalid_cursor',
          'starting_after',
        ]);
      }
    });

    it('refuses a limit that is not a whole number, and parameters that are given twice', async () => {
      for (const limit of ['-1', '1.5', 'ten'])
        expect(refusalOf(await list(`?limit=${limit}`))).to.deep.equal([400, 'invalid_parameter', 'limit']);
      expect((await list('?limit=5000')).status).to.equal(200);
      expect(refusalOf(await list('?email=a&email=a'))).to.deep.equal([400, 'invalid_parameter', 'email']);
      expect(refusalOf(await list('?other=a&other=b'))).to.deep.equal([400, 'invalid_parameter', 'other']);
    });

    it('requires the scope contacts:read, and shows nothing of other organizations', async () => {
      const writer = await tenant.withScopes('contacts:write');
      expect(refusalOf(await writer(path))).to.deep.equal([403, 'missing_scope', null]);
      await save({ name: 'Ann', external_id: 'shared', email: 'a@x.de' });
      const other = await service.tenant({ credits: 0 });
      for (const query of ['', '?external_id=shared', '?email=a@x.de'])
        expect((await other.api(`${path}${query}`)).rows).to.deep.equal([]);
      expect((await other.api(path, { body: { name: 'Eve', external_id: 'shared' } })).status).to.equal(201);
    });
  });

  it('can be neither deleted nor fetched by id', async () => {
    const { id } = await save({ name: 'Ann' });
    expect((await tenant.api(path, { method: 'DELETE' })).status).to.equal(405);
    expect((await tenant.api(`${path}/${id}`)).status).to.equal(404);
    expect((await tenant.api(`${path}/`)).status).to.equal(404);
  });

  describe('for the back office', () => {
    it('saves and lists them by the same rules, without a rate limit, and only for an existing organization', async () => {
      const office = `/operator/v1/organizations/${tenant.org}/contacts`;
      const saved = await service.operator(office, { body: { name: 'Ann', external_id: 'a' } });
      expect(saved.status).to.equal(201);
      expect((await service.operator(office, { body: { name: 'Ann', external_id: 'a' } })).status).to.equal(
        200,
      );
      expect((await service.operator(office, { body: { name: '' } })).code).to.equal('missing_name');
      expect(idsOf(await service.operator(`${office}?external_id=a`))).to.deep.equal([saved.id]);
      expect(idsOf(await list())).to.deep.equal([saved.id]);
      for (const body of [undefined, { name: 'Ann' }]) {
        expect(
          (await service.operator('/operator/v1/organizations/nobody/contacts', { body })).code,
        ).to.equal('not_found');
      }
      expect((await tenant.api(office)).code).to.equal('invalid_key');
    });
  });
});
