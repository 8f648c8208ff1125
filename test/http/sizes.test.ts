import { expect } from 'chai';
import {
  aCard,
  startTestService,
  type Client,
  type Fields,
  type Reply,
  type RunningService,
  type Tenant,
} from '../support/http/service.js';

describe('sizes', () => {
  let service: RunningService;
  let operator: Client;
  let tenant: Tenant;
  let office: string;

  before(async () => {
    service = await startTestService();
    ({ operator } = service);
  });
  after(() => service.stop());
  beforeEach(async () => {
    tenant = await service.tenant({ credits: 1 });
    office = `/operator/v1/organizations/${tenant.org}`;
  });

  const outcome = ({ status, code, param }: Reply) => [status, code, param];

  interface Limited {
    readonly field: string;
    readonly most: number;
    readonly accepted: number;
    readonly send: (value: string) => Promise<Reply>;
  }
  const contact = (field: string, most: number): Limited => ({
    field,
    most,
    accepted: 201,
    send: (value) => tenant.api('/api/v1/contacts', { body: { name: 'Ann', [field]: value } }),
  });
  const back = (field: string, most: number, method: string, path: () => string, body: object): Limited => ({
    field,
    most,
    accepted: method === 'PUT' ? 200 : 201,
    send: (value) => operator(path(), { method, body: { ...body, [field]: value } }),
  });
  const limits: Readonly<Record<string, Limited>> = {
    'the name of a contact': contact('name', 200),
    'the first name of a contact': contact('first_name', 200),
    'the last name of a contact': contact('last_name', 200),
    'the company of a contact': contact('company', 200),
    'the job title of a contact': contact('job_title', 200),
    'the email of a contact': contact('email', 320),
    'the phone of a contact': contact('phone', 40),
    'the description of an endpoint': {
      field: 'description',
      most: 255,
      accepted: 201,
      send: (value) =>
        tenant.api('/api/v1/webhooks', {
          body: { url: `https://example.com/${value.length}`, description: value },
        }),
    },
    'the label of a key': back('label', 100, 'POST', () => `${office}/keys`, { scopes: ['cards:read'] }),
    'the label of a hook': back('label', 100, 'POST', () => `${office}/hooks`, {}),
    'the title of a collection card': back('title', 100, 'PUT', () => '/operator/v1/collection/long-title', {
      active: false,
    }),
    'the reason of a purchase': back('reason', 500, 'POST', () => `${office}/credits`, { amount: 1 }),
  };
  for (const [what, { field, most, accepted, send }] of Object.entries(limits))
    it(`refuses ${what} over ${most} characters with 400 invalid_parameter`, async () => {
      expect((await send('é'.repeat(most))).status).to.equal(accepted);
      expect(outcome(await send('é'.repeat(most + 1)))).to.deep.equal([400, 'invalid_parameter', field]);
    });

  it('refuses the reason of a hold over 500 characters with 400 invalid_parameter', async () => {
    const { id } = await tenant.api('/api/v1/cards', { body: aCard() });
    const hold = (reason: string) => operator(`/operator/v1/cards/${id}/hold`, { body: { reason } });
    expect(outcome(await hold('é'.repeat(501)))).to.deep.equal([400, 'invalid_parameter', 'reason']);
    expect((await hold('é'.repeat(500))).status).to.equal(200);
  });

  it('refuses a first and a last name that are over 200 characters together', async () => {
    const save = (first: number, last: number) =>
      tenant.api('/api/v1/contacts', {
        body: { first_name: 'a'.repeat(first), last_name: 'b'.repeat(last) },
      });
    expect((await save(100, 99)).status).to.equal(201);
    expect(outcome(await save(100, 100))).to.deep.equal([400, 'invalid_parameter', 'first_name']);
  });

  it('keeps a page of a list within 2 MiB whatever its limit says, and loses no row', async () => {
    const made: string[] = [];
    for (let n = 0; n < 24; n++)
      made.unshift((await operator(`${office}/hooks`, { body: { template: 'x'.repeat(99_000) } })).id);
    const seen: Fields[] = [];
    const sizes: number[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const { text, rows, body } = await operator(`${office}/hooks?limit=200&starting_after=${cursor}`);
      sizes.push(Buffer.byteLength(text));
      seen.push(...rows);
      const next: unknown = body['next_cursor'];
      cursor = typeof next === 'string' ? next : null;
      expect(body['has_more']).to.equal(next !== null);
    }
    expect(seen.map(({ id }) => id)).to.deep.equal(made);
    expect(sizes).to.have.length(2);
    expect(Math.max(...sizes)).to.be.within(1_900_000, 2 * 1024 * 1024);
  });
});
