import { expect } from 'chai';
import { uploadCollectionPicture } from '../../support/artwork/upload.js';
import { house } from '../../../domain/members.js';
import { aCard, startTestService, type RunningService, type Tenant } from '../../support/http/service.js';
import { eventually } from '../../support/time/eventually.js';
import { memberOf, operatorOf, password, pathOf, Visitor } from '../../support/http/visitor.js';

describe('the pages of those who run the service', () => {
  let service: RunningService;
  let tenant: Tenant;
  let operator: Visitor;
  let floor: Visitor;

  before(async function () {
    this.timeout(60_000);
    service = await startTestService();
    tenant = await service.tenant({ credits: 10 });
    operator = await operatorOf(service);
    floor = await memberOf(service, house, 'floor');
  });
  after(() => service.stop());

  const statusOf = async (code: string) => (await tenant.api(`/api/v1/cards/${code}`)).body['status'];
  const send = async (more = {}): Promise<string> =>
    (await tenant.api('/api/v1/cards', { body: aCard({ arrive_on: '2030-06-14', ...more }) })).id;

  it('make an organization and invite its first owner', async () => {
    const fields = { name: 'Bolts', house_hand: 'casual', owner: 'Ada Byron', email: 'ada@bolts.example' };
    const { text } = await operator.submit('/console/house', 'make', fields);
    const link = /<code>(http[^<]*\/console\/join\/[^<]*)<\/code>/.exec(text)?.[1] ?? '';
    const owner = new Visitor(service);
    await owner.submit(new URL(link).pathname, 'join', { name: 'Ada Byron', password });
    const org = new URL(link).pathname.split('/')[3] ?? '';
    expect((await owner.get(`/console/${org}/settings/members`)).text).to.include('ada@bolts.example');
    const { body } = await service.operator(`/operator/v1/organizations/${org}`);
    expect([body['name'], body['house_hand']]).to.deep.equal(['Bolts', 'Casual']);
    expect((await operator.get('/console/house?q=bol')).text)
      .to.include('Bolts')
      .and.not.include('Acme');
  });

  it('make no organization if its owner can’t be invited', async () => {
    const fields = { name: 'Nuts', owner: 'Ada Byron', email: 'nobody' };
    expect((await operator.submit('/console/house', 'make', fields)).status).to.equal(422);
    const { rows } = await service.operator('/operator/v1/organizations?name=Nuts');
    expect(rows).to.deep.equal([]);
  });

  it('list what is held, release it for a credit, and cancel it', async () => {
    const [one, two] = [await send({ message: 'Bravo 🎉' }), await send({ message: 'Bravo 🎈' })];
    const { text } = await operator.get('/console/house/held');
    expect(text).to.include(one).and.include(two).and.include("can't write");
    expect(text.indexOf(one), 'the oldest first').to.be.below(text.indexOf(two));
    expect((await operator.get(`/console/house/held?from=${one}`)).text)
      .to.include(two)
      .and.not.include(one);
    const before = await tenant.balance();
    await operator.submit('/console/house/held', 'release', { card: one });
    expect([await statusOf(one), await tenant.balance()]).to.deep.equal(['pending', before - 1]);
    await operator.submit('/console/house/held', 'cancel', { card: two });
    expect([await statusOf(two), await tenant.balance()]).to.deep.equal(['cancelled', before - 1]);
  });

  it('show the floor the front of a card, also of a design that was archived', async () => {
    const [slug, design_id] = ['welcome-home', 'card:welcome-home'];
    const { id } = await tenant.api('/api/v1/cards', { body: aCard({ design_id }) });
    const { rows } = await tenant.api('/api/v1/designs');
    const copy = rows.find((row) => row['collection_slug'] === slug);
    const [, picture = 'none'] = /(\/pictures\/\w+\/)/.exec(String(copy?.['preview_url'])) ?? [];
    const shown = async () => (await floor.get(`/console/house/floor/${id}`)).text;
    expect(await shown()).to.include(`${picture}thumbnail.webp" alt="Welcome Home: its picture"`);
    await service.operator(`/operator/v1/organizations/${tenant.org}/designs/${String(copy?.['id'])}`, {
      method: 'DELETE',
    });
    expect((await tenant.api('/api/v1/designs')).rows).to.have.length(rows.length - 1);
    expect(await shown()).to.include(`${picture}thumbnail.webp`);
    await service.operator(`/operator/v1/cards/${id}/queue`, { method: 'POST' });
    const list = async () => (await floor.get('/console/house/floor')).text;
    await eventually(async () => (await list()).includes(`${picture}thumbnail.webp`));
  });

  it('lead a card through its six steps, one large button at a time', async () => {
    const code = await send();
    const scanned = await floor.get(
      `/console/house/floor?code=${service.baseUrl}/cards/${code.toLowerCase()}`,
    );
    expect(scanned.location).to.equal(`/console/house/floor/${code}`);
    const page = `/console/house/floor/${code}`;
    const buttonOf = (text: string) => /name="do" value="(\w+)" class="huge">([^<]*)</.exec(text) ?? [];
    const pressed: string[] = [];
    for (let { text } = await floor.get(page); ;) {
      const [, action = '', words = ''] = buttonOf(text);
      if (action === '') break;
      pressed.push(words);
      const step = /name="step" value="(\w+)"/.exec(text)?.[1] ?? '';
      const form = /name="form" value="([^"]+)"/.exec(text)?.[1] ?? '';
      const { location } = await floor.post(page, { do: action, form, step, machine: 'P3' });
      ({ text } = await floor.get(location ?? ''));
      if (action === 'start') expect(text).to.include('name="machine" value="P3"');
    }
    const steps = ['Stock', 'Written', 'Envelope', 'Packed', 'Stamped', 'Posted'];
    const each = steps.flatMap((step) => [`Start: ${step}`, `Done: ${step}`]);
    expect(pressed).to.deep.equal(['Take it to the floor', ...each]);
    expect(await statusOf(code)).to.equal('posted');
    const { body } = await service.operator(`/operator/v1/cards/${code}/history`);
    expect(JSON.stringify(body)).to.include('"machine":"P3"').and.include('"kind":"member"');
  });

  it('don’t report the next step with a form of the step before', async () => {
    const code = await send();
    const page = `/console/house/floor/${code}`;
    await floor.post(page, { do: 'queue', form: `${code} queue` });
    const report = (name: string, step: string) =>
      floor.post(page, { do: name, form: `${code} ${name} ${step}`, step, machine: '' });
    await report('start', 'card_stock_prepared');
    await report('done', 'card_stock_prepared');
    const late = await floor.post(page, {
      do: 'start',
      form: 'another',
      step: 'card_stock_prepared',
      machine: '',
    });
    expect(late.status).to.equal(409);
    expect((await floor.get(page)).text).to.include('Start: Written');
    const failed = await floor.post(page, { do: 'fail', form: `${code} fail`, reason: 'torn' });
    expect([failed.status, await statusOf(code)]).to.deep.equal([303, 'failed']);
  });

  it('say what is no code, and show nobody on the floor other pages', async () => {
    expect((await floor.get('/console/house/floor?code=HC-1')).text).to.include('This is no code of a card');
    expect((await floor.get('/console/house/floor/HC-0000000')).status).to.equal(404);
    expect((await floor.get('/console')).location).to.equal('/console/house/floor');
    expect((await floor.get('/console/house/held')).status).to.equal(403);
  });

  it('publish cards of the collection and offer handwritings, and withdraw them', async () => {
    const catalogue = '/console/house/catalogue';
    const upload = async (fit: string) => {
      const page = await uploadCollectionPicture(operator);
      expect((await floor.get(page)).status).to.equal(403);
      const { location } = await operator.submit(page, 'save', { fit });
      expect(location).to.equal(`${catalogue}?done=catalogueChanged`);
      const shown = await new Visitor(service).get('/collection/moving-day');
      const [pictures = ''] = /\/pictures\/\w+\//.exec(shown.text) ?? [];
      const { status, headers } = await fetch(`${service.baseUrl}${pictures}preview.webp`);
      expect([status, headers.get('content-type')]).to.deep.equal([200, 'image/webp']);
      return pictures;
    };
    const first = await upload('fill');
    await tenant.api('/api/v1/cards', { body: aCard({ design_id: 'card:moving-day' }) });
    expect(await upload('fit')).not.to.equal(first);
    expect((await operator.get(`${catalogue}/new?slug=moving-day`)).text).to.include('value="moving-day"');
    expect((await operator.get(`/console/${tenant.org}/designs`)).text, 'the copy').to.include(first);
    await operator.submit('/console/house/catalogue', 'withdraw', {
      slug: 'moving-day',
      title: 'Moving Day',
    });
    expect((await new Visitor(service).get('/collection/moving-day')).status).to.equal(404);
    await operator.submit('/console/house/catalogue', 'offerHand', { name: 'Wobbly' });
    const names = async () => (await tenant.api('/api/v1/handwriting')).rows.map(({ name }) => name);
    expect(await names()).to.include('Wobbly');
    await operator.submit('/console/house/catalogue', 'withdrawHand', { name: 'Wobbly' });
    expect(await names()).not.to.include('Wobbly');
  });

  it('let the holder of the operator token alone change who runs the service', async () => {
    const fields = { email: 'eve@house.example', name: 'Eve', role: 'auditor' };
    const made = await operator.submit('/console/house/staff', 'invite', fields);
    expect(made.text).to.include('/console/join/');
    const colleague = await memberOf(service, house, 'operator');
    const refused = await colleague.submit('/console/house/staff', 'invite', fields);
    expect([refused.status, refused.text.includes('The staff are managed by')]).to.deep.equal([403, true]);
  });

  it('offer one of the staff each organization once, in the own role where there is one', async () => {
    const email = 'both@example.com';
    const both = await memberOf(service, tenant.org, 'owner', email);
    const invited = { email, name: 'Both', role: 'operator' };
    const members = `/operator/v1/organizations/${house}/members`;
    const { body } = await service.operator(members, { body: invited });
    await both.submit(pathOf(body['url']), 'joinWith', { current: password });
    const { text } = await both.get('/console/choose');
    const roles = [...text.matchAll(/href="\/console\/([^"]+)">[^<]*<\/a><span class="quiet end">(\w+)/g)]
      .filter(([, org]) => org === tenant.org)
      .map(([, , role]) => role);
    expect(roles).to.deep.equal(['owner']);
    expect(text).to.include('Run the service');
  });
});
