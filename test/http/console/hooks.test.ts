import { expect } from 'chai';
import { clientOf, startTestService, type RunningService, type Tenant } from '../../support/http/service.js';
import { memberOf, type Visitor } from '../../support/http/visitor.js';

/** Not due for long: the service itself writes events of cards that are. */
const ada = {
  name: 'Ada Lovelace',
  line1: '12 Analytical Way',
  city: 'Springfield',
  state: 'IL',
  zip: '62701',
  arrive_on: '2099-01-01',
};

const addressIn = (text: string): string => /\/api\/v1\/hooks\/[\w-]{43}/.exec(text)?.[0] ?? 'none';
const pathIn = (text: string): string => /\/console\/[\w-]+\/hooks\/[\w-]+/.exec(text)?.[0] ?? 'none';

describe('the pages of inbound hooks', () => {
  let service: RunningService;
  let tenant: Tenant;
  let owner: Visitor;
  let list: string;

  before(async () => {
    service = await startTestService();
    tenant = await service.tenant();
    owner = await memberOf(service, tenant.org, 'owner', 'ada@example.com');
    list = `/console/${tenant.org}/hooks`;
  });
  after(() => service.stop());

  const call = (path: string, body: object) => clientOf(service.baseUrl, null)(path, { body });
  const rows = async () => (await service.operator(`/operator/v1/organizations/${tenant.org}/hooks`)).rows;
  const row = async (page: string) => (await rows()).find(({ id }) => page.endsWith(String(id)));
  const head = async () => (await service.operator('/operator/v1/anchor')).body['position'];

  /** A new hook: where it is called, and its page. */
  const made = async (label = 'Shop') => {
    const { text } = await owner.submit(list, 'make', { label });
    return { address: addressIn(text), page: pathIn(text) };
  };
  const save = (page: string, fields: Readonly<Record<string, string>>) =>
    owner.submit(page, 'save', { do: 'save', ...fields });
  const preview = (page: string, template: string, payload: object | string, visitor = owner) =>
    visitor.post(page, {
      do: 'preview',
      template,
      signed_by: 'Grace',
      payload: typeof payload === 'string' ? payload : JSON.stringify(payload),
    });

  it('make a hook whose URL is shown once and sends cards', async () => {
    const form = { ...(await owner.form(list, 'make')), label: 'Form tool' };
    const [first, second] = [await owner.post(list, form), await owner.post(list, form)];
    const address = addressIn(first.text);
    expect(first.text).to.include(`curl ${service.baseUrl}${address}`);
    expect([first.status, second.status, second.location]).to.deep.equal([200, 303, `${list}?done=hookMade`]);
    expect((await rows()).length).to.equal(1);
    expect((await call(address, { ...ada, message: 'Hi' })).status).to.equal(201);
    for (const path of [`${list}?done=hookMade`, pathIn(first.text)])
      expect(addressIn((await owner.get(path)).text), path).to.equal('none');
    expect((await owner.get(`${list}?done=hookMade`)).text)
      .to.include('This form was sent before')
      .and.to.include('1 ×');
  });

  it('change the message, the signature and the design for calls from then on', async () => {
    const { address, page } = await made();
    const template = 'Dear {{first_name}},\r\nyour {{order.item}} is on its way. {{sender_name}}';
    const fields = { template, signed_by: 'Grace', design_id: tenant.design, label: 'Shop 2' };
    expect((await save(page, fields)).location).to.equal(`${page}?done=hookSaved`);
    const { id: _, ...settings } = (await row(page)) ?? {};
    expect(settings).to.deep.include({
      label: 'Shop 2',
      template: template.replace('\r\n', '\n'),
      signed_by: 'Grace',
      design_id: tenant.design,
    });
    const sent = await call(address, { ...ada, order: { item: 'hat' } });
    const card = await owner.get(`/cards/${sent.id}`);
    expect(card.text).to.include(': Dear Ada, your hat is on its way. Grace"');
    const before = await head();
    expect((await save(page, fields)).location).to.equal(`${page}?done=hookSaved`);
    expect(await head(), 'what is as it was records nothing').to.equal(before);
    await save(page, {});
    expect(await row(page)).to.deep.include({ template: null, signed_by: null, design_id: null });
  });

  it('refuse a design that there is not and a label that is too long, with the editor as it was sent', async () => {
    const { page } = await made();
    const wrong = await save(page, { template: 'Typed', design_id: 'card:nothing' });
    expect([
      wrong.status,
      wrong.text.includes('Typed'),
      wrong.text.includes('aria-invalid="true"'),
    ]).to.deep.equal([422, true, true]);
    expect((await save(page, { label: 'x'.repeat(101) })).status).to.equal(422);
    expect((await row(page))?.['template']).to.equal(null);
  });

  it('keep a design that was archived while something else is changed', async () => {
    const { page } = await made();
    const designs = `/operator/v1/organizations/${tenant.org}/designs`;
    const { id } = await service.operator(designs, { body: { name: 'For a while' } });
    await save(page, { design_id: id });
    await service.operator(`${designs}/${id}`, { method: 'DELETE' });
    expect((await owner.get(page)).text).to.include('A design that was archived');
    expect((await save(page, { design_id: id, template: 'New' })).status).to.equal(303);
    expect(await row(page)).to.deep.include({ design_id: id, template: 'New' });
  });

  it('preview what a call would send, by the same rules, and change nothing', async () => {
    const { address, page } = await made();
    const template = 'Dear {{first_name}}, {{years}} years at {{company}}! {{gift}} {{sender_name}}';
    const contact = { name: 'Ada', external_id: 'crm-7', company: 'Engines', work_anniversary: '2019-05-01' };
    await tenant.api('/api/v1/contacts', { body: contact });
    const before = await head();
    const missing = await preview(page, template, ada);
    for (const shown of ['template_incomplete', '/docs/errors/template_incomplete', 'years, company, gift'])
      expect(missing.text).to.include(shown);
    expect(missing.text).to.include('Dear Ada, <mark>{{years}}</mark> years at <mark>{{company}}</mark>!');
    expect(missing.text)
      .to.include('<mark>{{gift}}</mark>')
      .and.not.to.include('<mark>{{first_name}}</mark>');
    const payload = { ...ada, external_id: 'crm-7', gift: 'Tea' };
    const complete = await preview(page, template, payload);
    const [message = ''] = /Dear Ada, \d+ years at Engines! Tea Grace/.exec(complete.text) ?? [];
    expect(complete.text)
      .to.include('Would send a card')
      .and.to.include(`${message.length} of 500 characters`);
    expect((await preview(page, template, { ...payload, message: 'Mine' })).text)
      .to.include('4 of 500')
      .and.to.include('wins over the template');
    const many = await preview(page, `${'{{long}}'.repeat(2_000)}{{lost}}`, {
      ...ada,
      long: 'x'.repeat(10_000),
    });
    expect(many.text).to.include('Without a value: lost');
    expect(many.text.length).to.be.below(100_000);
    expect((await preview(page, 'Hi 🎉', ada)).text)
      .to.include('Would be held')
      .and.to.include('🎉');
    expect((await preview(page, 'Hi', { ...ada, zip: '1' })).text).to.include('invalid_recipient');
    expect(await head()).to.equal(before);
    await save(page, { template, signed_by: 'Grace' });
    const sent = await call(address, payload);
    expect((await owner.get(`/cards/${sent.id}`)).text).to.include(message);
    expect((await call(address, ada)).code).to.equal('template_incomplete');
  });

  it('preview only JSON, and say where it is not', async () => {
    const { page } = await made();
    const refused = await preview(page, 'Hi {{name}}', '{"a":');
    expect(refused.status).to.equal(422);
    expect(refused.text).to.include('The sample payload is not valid JSON').and.to.include('Hi {{name}}');
    expect((await preview(page, 'Hi', '[1]')).text).to.include('must be a JSON object');
  });

  it('pause, resume and delete a hook, each once however often it is asked to', async () => {
    const { address, page } = await made();
    const twice = async (action: string) => {
      const form = await owner.form(page, action);
      const answers = [await owner.post(page, form), await owner.post(page, form)];
      return answers.map(({ location }) => location);
    };
    expect(await twice('pause')).to.deep.equal([`${page}?done=hookPaused`, `${page}?done=hookPaused`]);
    expect((await call(address, { ...ada, message: 'Hi' })).code).to.equal('hook_disabled');
    expect(await twice('resume')).to.deep.equal([`${page}?done=hookResumed`, `${page}?done=hookResumed`]);
    expect((await call(address, { ...ada, message: 'Hi' })).status).to.equal(201);
    expect(await twice('delete')).to.deep.equal([`${list}?done=hookDeleted`, `${list}?done=hookDeleted`]);
    expect((await call(address, { ...ada, message: 'Hi' })).code).to.equal('invalid_hook');
    const left = await owner.get(page);
    expect(left.text).to.include('Deleted').and.to.include('hook_disabled').and.not.to.include('<form');
  });

  it('log calls with links to their errors and their cards, page by page', async () => {
    const { address, page } = await made();
    const sent = await call(address, { ...ada, message: 'The first' });
    for (let at = 0; at < 50; at += 1) await call(address, ada);
    const newest = await owner.get(page);
    expect(newest.text).to.include('href="/docs/errors/missing_message"').and.not.to.include(sent.id);
    const older = /href="([^"]+)"[^>]*>\s*Older/.exec(newest.text)?.[1] ?? '';
    expect((await owner.get(older)).text).to.include(`href="/cards/${sent.id}"`);
  });

  it('answer for a hook of others as for one that is none', async () => {
    const { page } = await made();
    const other = await service.tenant();
    const stranger = await memberOf(service, other.org, 'owner', 'eve@example.com');
    const [id = ''] = page.split('/').slice(-1);
    const paths = [id, '6c0f6a3e-0000-4000-8000-00000000dead'].map(
      (of) => `/console/${other.org}/hooks/${of}`,
    );
    const before = await head();
    const texts = [];
    for (const path of paths) {
      const answers = [await stranger.get(path), await preview(path, 'Hi', ada, stranger)];
      for (const action of ['save', 'pause', 'resume', 'delete'])
        answers.push(await stranger.post(path, { do: action, form: `${action} ${path}` }));
      expect(answers.map(({ status }) => status)).to.deep.equal([404, 404, 404, 404, 404, 404]);
      texts.push(answers.map(({ text }) => text.replaceAll(/req_[\w-]+/g, '')));
    }
    expect(texts[0]).to.deep.equal(texts[1]);
    expect(await head()).to.equal(before);
  });

  it('are read-only for viewers, who may preview', async () => {
    const { page } = await made();
    const viewer = await memberOf(service, tenant.org, 'viewer', 'bo@example.com');
    const { text } = await viewer.get(page);
    expect(text).to.include('value="preview"');
    for (const action of ['save', 'pause', 'delete']) expect(text).not.to.include(`value="${action}"`);
    expect((await preview(page, 'Hi', ada, viewer)).status).to.equal(200);
    expect((await viewer.get(list)).text).not.to.include('value="make"');
  });
});
