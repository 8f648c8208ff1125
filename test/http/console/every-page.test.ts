import { expect } from 'chai';
import { call } from '../../support/http/http.js';
import {
  aCard,
  clientsOf,
  startTestService,
  type RunningService,
  type Tenant,
} from '../../support/http/service.js';
import { receiverSettings } from '../../support/http/receiver.js';
import { makeUndelivered, type Undelivered } from '../../support/http/undelivered.js';
import { operatorOf, Visitor } from '../../support/http/visitor.js';

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
];

describe('every page of the console', () => {
  let service: RunningService;
  let tenant: Tenant;
  let operator: Visitor;
  let card: string;
  let hook: string;
  let undelivered: Undelivered;
  const canary = `"><img/src=x/onerror=alert(1)></script>`;

  before(async () => {
    service = await startTestService(receiverSettings);
    tenant = await service.tenant();
    undelivered = await makeUndelivered(tenant);
    operator = await operatorOf(service);
    const body = aCard({ reference: canary.slice(0, 40), message: `Dear ${canary}` });
    card = (await tenant.api('/api/v1/cards', { body })).id;
    const office = `/operator/v1/organizations/${tenant.org}`;
    const texts = { label: canary, template: `${canary} {{name}}`, signed_by: canary };
    hook = (await service.operator(`${office}/hooks`, { body: texts })).id;
    await service.operator(`${office}/keys`, { body: { label: canary, scopes: ['cards:read'] } });
    await service.operator(office, {
      method: 'PATCH',
      body: { name: canary },
    });
  });
  after(() => service.stop());

  const paths = (): readonly string[] => [
    '/console/sign-in',
    '/console/choose',
    '/console/me',
    `/console/${tenant.org}`,
    `/console/${tenant.org}/cards?q=${encodeURIComponent(canary)}&status=pending`,
    `/console/${tenant.org}/keys`,
    `/console/${tenant.org}/hooks`,
    `/console/${tenant.org}/hooks/${hook}`,
    `/console/${tenant.org}/webhooks`,
    `/console/${tenant.org}/webhooks/${undelivered.endpoint}`,
    `/console/${tenant.org}/deliveries`,
    `/console/${tenant.org}/deliveries/${undelivered.delivery}`,
    `/cards/${card}`,
    '/console/enter/nothing',
  ];

  it('forbids the browser what it does not need, and is kept by nobody', async () => {
    for (const path of paths()) {
      const { headers } = await operator.get(path);
      const sent = (headers.get('content-security-policy') ?? '').split('; ');
      for (const rule of policy) expect(sent, path).to.include(rule);
      expect(Object.fromEntries(headers), path).to.include({
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'same-origin',
        'cross-origin-opener-policy': 'same-origin',
        'cross-origin-resource-policy': 'same-origin',
      });
    }
  });

  it('shows what customers wrote as text, and has no script, style or handler of its own', async () => {
    for (const path of paths()) {
      const { text } = await operator.get(path);
      expect(text, path).not.to.match(
        /<img|<script(?! type="module" src="\/assets\/)|<style|\son\w+=|\sstyle=/,
      );
      expect(text)
        .to.include('<main id="content"')
        .and.to.match(/<h1[ >]/);
      expect(text.replaceAll(/<pre[^]*?<\/pre>/g, '')).not.to.include('undefined');
    }
    expect((await operator.get(`/cards/${card}`)).text).to.include('>&lt;img/src=x');
  });

  it('is served for the address that clients see, and for no other name', async () => {
    const path = '/console/sign-in';
    const { port } = new URL(service.baseUrl);
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`])
      expect((await call(service, { path, headers: { host } })).status, host).to.equal(200);
    for (const host of [
      'evil.example',
      `evil.example:${port}`,
      '127.0.0.1:1',
      `localhost.evil.example:${port}`,
    ])
      expect((await call(service, { path, headers: { host } })).status, host).to.equal(421);
  });

  it('changes nothing when it is looked at', async () => {
    const head = async () => (await service.operator('/operator/v1/anchor')).body['position'];
    const before = await head();
    for (const path of paths()) await operator.get(path);
    expect(await head()).to.equal(before);
  });
});

describe('the cookie of the console', () => {
  const enter = async (environment: Readonly<Record<string, string>>) => {
    const service = await startTestService(environment);
    try {
      const { operator } = clientsOf({ ...service, baseUrl: service.address });
      const { body } = await operator('/operator/v1/console-links', { method: 'POST' });
      const { pathname, host, origin } = new URL(String(body['url']));
      const page = await call(service, {
        method: 'POST',
        path: pathname,
        headers: { host, origin, 'content-type': 'application/x-www-form-urlencoded' },
        body: 'do=enter&form=1',
      });
      return { status: page.status, cookie: page.headers['set-cookie']?.[0] ?? '', headers: page.headers };
    } finally {
      await service.stop();
    }
  };

  it('is kept to https, this host and requests where the base URL is https', async () => {
    const { status, cookie } = await enter({ BASE_URL: 'https://cards.example' });
    expect(status).to.equal(303);
    expect(cookie).to.match(
      /^__Host-session=[\w-]{43}; Max-Age=1209600; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
    );
  });

  it('is without Secure on this machine, where Safari would refuse it', async () => {
    expect((await enter({})).cookie).to.match(
      /^session=[\w-]{43}; Max-Age=1209600; Path=\/; HttpOnly; SameSite=Lax$/,
    );
  });

  it('is not given out over http to other machines', async () => {
    const { status, cookie } = await enter({ BASE_URL: 'http://cards.example' });
    expect([status >= 400, cookie]).to.deep.equal([true, '']);
  });
});

describe('a service with CONSOLE=off', () => {
  it('has the API and its documentation, but no page, no account and no link', async () => {
    const service = await startTestService({ CONSOLE: 'off' });
    try {
      const visitor = new Visitor(service);
      expect((await visitor.get('/')).location).to.equal('/docs');
      for (const path of ['/console', '/console/sign-in', '/cards/HC-7K3M9QX'])
        expect((await visitor.get(path)).status, path).to.equal(404);
      expect((await visitor.get('/docs/errors/revoked_key')).text).not.to.include('/console');
      const made = await service.operator('/operator/v1/console-links', { method: 'POST' });
      expect([made.status, await service.makeLink()]).to.deep.equal([404, null]);
    } finally {
      await service.stop();
    }
  });
});
