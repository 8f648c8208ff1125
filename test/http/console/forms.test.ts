import { expect } from 'chai';
import { call } from '../../support/http/http.js';
import { aCard, startTestService, type RunningService, type Tenant } from '../../support/http/service.js';
import { memberOf, operatorOf, password, Visitor } from '../../support/http/visitor.js';

describe('the forms of the console', () => {
  let service: RunningService;
  let tenant: Tenant;
  let owner: Visitor;
  const email = 'ada@example.com';

  before(async () => {
    service = await startTestService();
    tenant = await service.tenant();
    owner = await memberOf(service, tenant.org, 'owner', email);
  });
  after(() => service.stop());

  const aCardPage = async (): Promise<string> =>
    `/cards/${(await tenant.api('/api/v1/cards', { body: aCard({ arrive_on: '2099-01-01' }) })).id}`;
  const head = async () => (await service.operator('/operator/v1/anchor')).body['position'];

  it('cancel a card once, however often they are sent, and return its credit', async () => {
    const page = await aCardPage();
    const balance = await tenant.balance();
    const form = await owner.form(page, 'cancel');
    const answers = [await owner.post(page, form), await owner.post(page, form)];
    expect(answers.map(({ status, location }) => [status, location])).to.deep.equal([
      [303, page],
      [303, page],
    ]);
    const shown = await owner.get(page);
    expect(shown.text).to.include('Cancelled, 1 credit returned');
    expect((await (await operatorOf(service)).get(page)).text).to.include('A owner');
    expect(shown.text).not.to.include('name="do" value="cancel"');
    expect(await tenant.balance()).to.equal(balance + 1);
    const history = await service.operator(`/operator/v1${page}/history`);
    const cancelled = history.rows.filter(({ type }) => type === 'CardCancelled');
    expect(cancelled).to.have.length(1);
    expect(cancelled[0]?.['actor']).to.have.property('kind', 'member');
  });

  it('are refused with the reason, and show the page again', async () => {
    const page = await aCardPage();
    const form = await owner.form(page, 'cancel');
    const operate = (path: string, body?: object) =>
      service.operator(`/operator/v1${page}/${path}`, { method: 'POST', ...(body && { body }) });
    await operate('queue');
    await operate('steps/card_stock_prepared', { status: 'in_progress' });
    const refused = await owner.post(page, form);
    expect([refused.status, refused.text.includes('can no longer be cancelled')]).to.deep.equal([409, true]);
  });

  it('can be sent again by a visitor whose role was too small', async () => {
    const page = await aCardPage();
    const viewer = await memberOf(service, tenant.org, 'viewer');
    const cancel = { do: 'cancel', form: 'too small a role' };
    expect((await viewer.post(page, cancel)).status).to.equal(403);
    const members = `/operator/v1/organizations/${tenant.org}/members`;
    const me = (await service.operator(members)).rows.find(({ role }) => role === 'viewer');
    const body = { role: 'developer' };
    await service.operator(`${members}/${String(me?.['id'])}`, { method: 'PATCH', body });
    expect((await viewer.post(page, cancel)).status).to.equal(303);
    expect((await viewer.get(page)).text).to.include('Cancelled, 1 credit returned');
  });

  it('do nothing with other content once they were sent, and come back as new forms', async () => {
    const list = `/console/${tenant.org}/settings/do-not-mail`;
    const form = await owner.form(list, 'add');
    const add = (email: string, more = {}) => owner.post(list, { ...form, email, ...more });
    for (const { status } of [await add('one@example.com'), await add('one@example.com')])
      expect(status).to.equal(303);
    const { status, text } = await add('two@example.com');
    expect(status).to.equal(409);
    expect(text).to.include('Nothing was done this time').and.include('value="two@example.com"');
    expect((await owner.get(list)).text).not.to.include('two@example.com');
    const [, fresh = ''] =
      /value="add"\/?><input type="hidden" name="form" value="([\w-]{43})"/.exec(text) ?? [];
    expect((await add('two@example.com', { form: fresh })).status).to.equal(303);
    expect((await owner.get(list)).text).to.include('two@example.com');
  });

  it('say at the field why they were refused, and lead to it and to what the refusal means', async () => {
    const { body: endpoint } = await tenant.api('/api/v1/webhooks', {
      body: { url: 'https://example.com/' },
    });
    const members = `/operator/v1/organizations/${tenant.org}/members`;
    const invited = { email: 'eve@example.com', name: 'Eve', role: 'viewer' };
    const invitation = await service.operator(members, { body: invited });
    const { rows } = await service.operator(members);
    const me = rows.find((member) => member['email'] === email);
    const reset = await service.operator(`${members}/${String(me?.['id'])}/reset`, { method: 'POST' });
    const [join, anew] = [invitation, reset].map(({ body }) => new URL(String(body['url'])).pathname);
    const here = `/console/${tenant.org}`;
    const one = `${here}/webhooks/${String(endpoint['id'])}`;
    const long = 'x'.repeat(600);
    const refused: readonly (readonly [string, string, string, Readonly<Record<string, string>>])[] = [
      [`${here}/webhooks`, 'register', 'url', { url: 'http://example.com/' }],
      [`${here}/webhooks`, 'register', 'description', { url: 'https://example.com/b', description: long }],
      [one, 'change', 'description', { description: long }],
      [one, 'replay', 'since', { since: 'yesterday' }],
      [`${here}/deliveries`, 'redrive', 'since', { since: 'yesterday', to: String(endpoint['id']) }],
      [`${here}/keys`, 'make', 'scopes', {}],
      [`${here}/hooks`, 'make', 'label', { label: long }],
      ['/console/me', 'changePassword', 'password', { password: 'wrong', next: 'another pelican staircase' }],
      ['/console/me', 'changePassword', 'next', { password, next: 'short' }],
      ['/console/sign-in', 'signIn', 'password', { email, password: 'wrong' }],
      [join ?? '', 'join', 'password', { name: 'Eve', password: 'short' }],
      [anew ?? '', 'reset', 'password', { password: 'short' }],
    ];
    for (const [path, action, field, fields] of refused) {
      const { status, text } = await owner.submit(path, action, fields);
      const what = `${path} ${action} ${field}`;
      expect(status, what).to.equal(422);
      const summary = /<p class="alert".*?<\/p>/s.exec(text)?.[0] ?? '';
      expect(summary, what).to.include(`<a href="#field-${field}">`).and.not.include('`');
      expect((await owner.get(/\/docs\/errors\/\w+/.exec(summary)?.[0] ?? '')).status, what).to.equal(200);
      expect(text.split(`id="field-${field}"`), what).to.have.length(2);
      expect(text.split(`id="field-${field}-error"`), what).to.have.length(2);
      expect(text, what).to.match(new RegExp(`aria-describedby="[^"]*field-${field}-error"`));
    }
    const { text } = await owner.submit(`${here}/deliveries`, 'redrive', {
      since: 'yesterday',
      to: String(endpoint['id']),
    });
    const kept = text.split('<details')[1] ?? '';
    expect(kept)
      .to.match(/^[^>]*open/)
      .and.to.include(`<option value="${String(endpoint['id'])}" selected>`);
  });

  it('are taken only from pages of this service', async () => {
    const page = await aCardPage();
    const form = await owner.form(page, 'cancel');
    const before = await head();
    const { origin } = new URL(service.baseUrl);
    const refused: readonly Readonly<Record<string, string>>[] = [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'cross-site', origin },
      { origin: 'https://evil.example' },
      { origin: 'null' },
      {},
    ];
    for (const headers of refused)
      expect((await owner.post(page, form, headers)).status, JSON.stringify(headers)).to.equal(403);
    expect(await head()).to.equal(before);
    expect((await owner.post(page, form, { origin })).status).to.equal(303);
  });

  it('have ids that pages gave them: any other is refused', async () => {
    const { form = '' } = await owner.form(`/console/${tenant.org}/designs`, 'copy');
    for (const wrong of ['', `${form} `.repeat(2), form.slice(1)]) {
      const body = new URLSearchParams({ do: 'copy', form: wrong, slug: 'welcome-home' }).toString();
      const response = await fetch(`${service.baseUrl}/console/${tenant.org}/designs`, {
        method: 'POST',
        headers: {
          'content-type': 'application/x-www-form-urlencoded',
          'sec-fetch-site': 'same-origin',
          cookie: owner.cookie ?? '',
        },
        body,
      });
      expect([response.status, (await response.text()).includes('no id of its own')]).to.deep.equal([
        422,
        true,
      ]);
    }
  });

  it('are forms: neither JSON, nor too many fields, nor one twice', async () => {
    const path = '/console/sign-in';
    const headers = { 'sec-fetch-site': 'same-origin' };
    const json = { ...headers, 'content-type': 'application/json' };
    expect((await owner.post(path, { do: 'signIn' }, json)).status).to.equal(415);
    const form = { ...headers, 'content-type': 'application/x-www-form-urlencoded' };
    const many = Array.from({ length: 201 }, (_, at) => `field${at}=`).join('&');
    for (const body of [many, 'do=signIn&do=signIn', 'do=%ff'])
      expect(
        (await call(service, { method: 'POST', path, headers: form, body })).status,
        body.slice(0, 20),
      ).to.equal(body === 'do=%ff' ? 422 : 400);
  });

  it('say the same of an unknown address, a wrong password and an account without a password', async () => {
    const visitor = new Visitor(service);
    const texts = [];
    for (const wrong of [
      { email: 'nobody@example.com', password },
      { email, password: 'wrong' },
      { email: 'owner@demo.invalid', password: '' },
    ]) {
      const refused = await visitor.submit('/console/sign-in', 'signIn', wrong);
      expect([refused.status, visitor.cookie]).to.deep.equal([422, null]);
      texts.push(
        refused.text.replaceAll(/req_[\w-]+|name="form" value="[\w-]+"/g, '').replaceAll(wrong.email, ''),
      );
    }
    expect(new Set(texts).size).to.equal(1);
  });

  it('enter by a link once, and looking at the link leaves it', async () => {
    const { body } = await service.operator('/operator/v1/console-links', { method: 'POST' });
    const { pathname } = new URL(String(body['url']));
    const [first, second] = [new Visitor(service), new Visitor(service)];
    const forms = [await first.form(pathname, 'enter'), await second.form(pathname, 'enter')];
    const entered = await Promise.all([
      first.post(pathname, forms[0] ?? {}),
      second.post(pathname, forms[1] ?? {}),
    ]);
    expect(entered.map(({ status }) => status)).to.have.members([303, 404]);
    expect((await first.get(pathname)).status).to.equal(404);
  });

  it('sign out at once, and give every sign-in a session of its own', async () => {
    const visitor = await operatorOf(service);
    const { cookie } = visitor;
    expect((await visitor.submit('/console/me', 'signOut')).location).to.equal('/console/sign-in');
    expect(visitor.cookie).to.equal(null);
    visitor.cookie = cookie;
    expect((await visitor.get('/console/me')).status).to.equal(303);
    expect((await operatorOf(service)).cookie).not.to.equal(cookie);
  });

  it('change a password for one that nobody would guess, and end the other sessions', async () => {
    const mine = await memberOf(service, tenant.org, 'viewer', 'bo@example.com');
    const other = new Visitor(service);
    await other.submit('/console/sign-in', 'signIn', { email: 'bo@example.com', password });
    const change = (next: string) => mine.submit('/console/me', 'changePassword', { password, next });
    for (const weak of ['short', 'password1234', 'bo@example.com'])
      expect((await change(weak)).status, weak).to.equal(422);
    expect((await change('another pelican staircase')).status).to.equal(303);
    expect([(await mine.get('/console/me')).status, (await other.get('/console/me')).status]).to.deep.equal([
      200, 303,
    ]);
  });
});
