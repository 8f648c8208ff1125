import { expect } from 'chai';
import {
  aCard,
  startTestService,
  type Fields,
  type RunningService,
  type Tenant,
} from '../support/http/service.js';
import { uploadPicture } from '../support/artwork/upload.js';
import { memberOf } from '../support/http/visitor.js';
import { eventually } from '../support/time/eventually.js';

const nobody = { name: null, line1: null, line2: null, city: null, state: null, zip: null, country: null };

describe('erasing personal data', function () {
  this.timeout(60_000);
  let service: RunningService;
  let tenant: Tenant;
  before(async () => {
    service = await startTestService();
    tenant = await service.tenant();
  });
  after(() => service.stop());

  const office = (): string => `/operator/v1/organizations/${tenant.org}`;
  const send = async (reference: string, key = reference): Promise<string> =>
    (await tenant.api('/api/v1/cards', { body: aCard({ reference }), headers: { 'idempotency-key': key } }))
      .id;
  const cancelled = async (reference: string): Promise<string> => {
    const code = await send(reference);
    await tenant.api(`/api/v1/cards/${code}`, { method: 'DELETE' });
    return code;
  };
  const erase = (body: object) => service.operator(`${office()}/erasures`, { body });

  it('of a card leaves its code, dates, steps and status, in lookups, lists, history and replays', async () => {
    const code = await cancelled('order 1');
    const other = await cancelled('order 2');
    const { status, body } = await erase({ cards: [code], reason: 'a request' });
    expect([status, body]).to.deep.equal([202, { cards: [code], contacts: [], designs: [] }]);
    const looked = (await tenant.api(`/api/v1/cards/${code}`)).body;
    expect(looked['recipient']).to.deep.equal(nobody);
    expect([looked['reference'], looked['status'], typeof looked['erased_at']]).to.deep.equal([
      null,
      'cancelled',
      'string',
    ]);
    const { rows } = await tenant.api('/api/v1/cards');
    const row = (id: string): Fields | undefined => rows.find((each) => each['id'] === id);
    expect(row(code)).to.deep.include({
      recipient: { name: null, city: null, state: null },
      reference: null,
    });
    expect(row(other)).to.deep.include({ reference: 'order 2' });
    expect((await tenant.api('/api/v1/cards?reference=order+1')).rows).to.deep.equal([]);
    const replay = await tenant.api('/api/v1/cards', {
      body: aCard({ reference: 'order 1' }),
      headers: { 'idempotency-key': 'order 1' },
    });
    expect([replay.status, replay.id, replay.body['recipient'], replay.body['reference']]).to.deep.equal([
      201,
      code,
      { name: null },
      null,
    ]);
    const forOperator = await service.operator(`/operator/v1/cards/${code}`);
    expect([forOperator.status, forOperator.body['message']]).to.deep.equal([200, null]);
    const history = () => service.operator(`/operator/v1/cards/${code}/history`);
    await eventually(async () => !(await history()).text.includes('Ada'));
    expect((await history()).status).to.equal(200);
    const again = await erase({ cards: [code], reason: 'a request' });
    expect(again.status).to.equal(202);
  });

  it('of a contact leaves its id and dates, until it is saved again', async () => {
    const { id } = await tenant.api('/api/v1/contacts', {
      body: { external_id: 'c-1', name: 'Ada Lovelace', email: 'ada@example.com' },
    });
    expect((await erase({ contacts: [id], reason: 'a request' })).body).to.deep.equal({
      cards: [],
      contacts: [id],
      designs: [],
    });
    const [row] = (await tenant.api('/api/v1/contacts')).rows;
    expect(row).to.include({ id, name: null, email: null, external_id: null });
    expect(row).to.have.property('erased_at').that.is.a('string');
    expect((await tenant.api('/api/v1/contacts?email=ada@example.com')).rows).to.deep.equal([]);
    const saved = await tenant.api('/api/v1/contacts', { body: { external_id: 'c-1', name: 'Ada King' } });
    expect([saved.status, saved.id, saved.body['name'], 'erased_at' in saved.body]).to.deep.equal([
      200,
      id,
      'Ada King',
      false,
    ]);
  });

  it('of a card takes the picture of a design with it, if that is asked for and no other card has it', async () => {
    const owner = await memberOf(service, tenant.org, 'owner');
    await owner.submit(await uploadPicture(owner, tenant.org, 'Us two'), 'save', { fit: 'fill' });
    const [design] = (await tenant.api('/api/v1/designs')).rows;
    expect(design).to.include({ name: 'Us two' });
    const [one, two, three] = [await cancelled('one'), await cancelled('two'), await cancelled('three')];
    const copy = await tenant.api('/api/v1/cards', { body: aCard({ design_id: 'card:welcome-home' }) });
    await tenant.api(`/api/v1/cards/${copy.id}`, { method: 'DELETE' });
    const erased = async (cards: readonly unknown[], withDesigns: boolean) => {
      const { body } = await erase({ cards, with_designs: withDesigns, reason: 'a request' });
      const { rows } = await tenant.api('/api/v1/designs');
      return [body['designs'], rows.some(({ id }) => id === design?.['id'])];
    };
    expect(await erased([one], true)).to.deep.equal([[], true]);
    expect(await erased([one, two, three], false)).to.deep.equal([[], true]);
    // Cards that were erased before have no need of it.
    expect(await erased([one, copy.id], true)).to.deep.equal([[design?.['id']], false]);
    const names = (await tenant.api('/api/v1/designs')).rows.map(({ name }) => name);
    expect(names).to.include('Welcome Home');
    expect(await erased([one, two, three], true)).to.deep.equal([[design?.['id']], false]);
  });

  it('is refused as a whole for cards that the floor still needs, and for what is not there', async () => {
    const open = await send('order 3');
    const over = await cancelled('order 4');
    const stranger = await service.tenant();
    const refused = async (body: object) => {
      const { status, code } = await erase({ reason: 'a request', ...body });
      return [status, code];
    };
    expect(await refused({ cards: [over, open] })).to.deep.equal([409, 'invalid_transition']);
    expect(await refused({ cards: [over, 'HC-0000000'] })).to.deep.equal([404, 'card_not_found']);
    expect(await refused({ cards: [over], contacts: ['nobody'] })).to.deep.equal([404, 'not_found']);
    const elsewhere = await service.operator(`/operator/v1/organizations/${stranger.org}/erasures`, {
      body: { cards: [over], reason: 'a request' },
    });
    expect([elsewhere.status, elsewhere.code]).to.deep.equal([404, 'card_not_found']);
    expect((await tenant.api(`/api/v1/cards/${over}`)).body['recipient']).to.include({
      name: 'Ada Lovelace',
    });
  });

  it('is prepared by a search for cards and contacts of a person', async () => {
    const mine = await service.tenant();
    const card = await mine.api('/api/v1/cards', { body: aCard() });
    const contact = await mine.api('/api/v1/contacts', {
      body: { name: 'Ada Lovelace', email: 'ada@example.com' },
    });
    await mine.api('/api/v1/contacts', { body: { name: 'Grace Hopper' } });
    const found = async (query: string) => {
      const { body } = await service.operator(`/operator/v1/organizations/${mine.org}/subjects?${query}`);
      const ids = (rows: unknown) => (rows as readonly Fields[]).map(({ id }) => id);
      return [ids(body['cards']), ids(body['contacts'])];
    };
    expect(await found('name=lovelace')).to.deep.equal([[card.id], [contact.id]]);
    expect(await found('name=lovelace&zip=627')).to.deep.equal([[card.id], []]);
    expect(await found('email=ADA@')).to.deep.equal([[], [contact.id]]);
    expect(await found('name=nobody')).to.deep.equal([[], []]);
  });
});
