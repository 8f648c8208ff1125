import { expect } from 'chai';
import { DatabaseSync } from '@photostructure/sqlite';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { call } from '../../support/http/http.js';
import { redAndBlue } from '../../support/artwork/upload.js';
import {
  formsIn,
  mayLook,
  pageAt,
  placesOf,
  type Place,
  type ShownForm,
} from '../../support/http/console-pages.js';
import { startLively, type Lively } from '../../support/http/lively.js';
import { aCard, clientsOf, startTestService, type RunningService } from '../../support/http/service.js';
import { memberOf, operatorOf, password, Visitor } from '../../support/http/visitor.js';

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
  'trusted-types console',
];

/** What customers can type: none of it may become markup, and none may leave its place. */
const canaries = [
  '"><img src=x onerror=alert(1)>',
  '</script><script>alert(1)</script>',
  'javascript:alert(1)',
  '\u202Eright to left',
  'x'.repeat(200),
];

/** A canary that fits into a field with a limit. */
const within = (limit: number, at: number): string => (canaries[at % canaries.length] ?? '').slice(0, limit);

/** A page as somebody sees it. */
interface View extends Place {
  readonly who: string;
  readonly visitor: Visitor;
  readonly response: Awaited<ReturnType<Visitor['get']>>;
}

describe('every page of the console', () => {
  let lively: Lively;
  let service: RunningService;
  let operator: Visitor;
  let places: readonly Place[];

  before(async function () {
    this.timeout(120_000);
    lively = await startLively();
    ({ service } = lively);
    operator = await operatorOf(service);
    places = await placesOf(lively);
  });
  after(() => lively.stop());

  const head = async () => (await service.operator('/operator/v1/anchor')).body['position'];

  /** Who wrote events since, by request. What the service does by itself belongs to none. */
  const writersSince = async (position: unknown): Promise<ReadonlyMap<string, string>> => {
    const { text } = await service.operator(`/operator/v1/events?from=${String(position)}&until=head`, {
      headers: { accept: 'application/jsonl' },
    });
    const events = text.split('\n').filter((line) => line !== '');
    const actor = z.object({ kind: z.string() });
    const writer = z.object({ metadata: z.object({ requestId: z.string().nullable(), actor }) });
    const all = events.map((line) => writer.parse(JSON.parse(line)).metadata);
    return new Map(
      all.flatMap(({ requestId, actor: { kind } }) => (requestId === null ? [] : [[requestId, kind]])),
    );
  };

  /** Each page as its organization's owner and as the operator see it, if they may. */
  const views = async (): Promise<readonly View[]> => {
    const seen: View[] = [];
    for (const place of places.filter(({ page }) => page.file === undefined))
      for (const [who, visitor] of [
        ['owner', lively.owner],
        ['operator', operator],
      ] as const)
        if (mayLook(who, place))
          seen.push({ ...place, who, visitor, response: await visitor.get(place.address) });
    return seen;
  };

  it('is seen by its owner, by the operator, or leads to one that is', async () => {
    for (const { address, who, response } of await views())
      expect(response.status, `${who} ${address}`).to.equal(address === '/console' ? 303 : 200);
  });

  it('forbids the browser what it does not need, and is kept by nobody', async () => {
    const addresses = [
      ...places.filter(({ page }) => page.file === undefined).map(({ address }) => address),
      '/cards/HC-0000000',
      '/console/enter/nothing',
    ];
    for (const path of addresses.filter((address) => address !== '/console')) {
      const { headers } = await operator.get(path);
      expect(headers.get('content-security-policy'), path).to.equal(policy.join('; '));
      expect(Object.fromEntries(headers), path).to.include({
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'same-origin',
        'cross-origin-opener-policy': 'same-origin',
        'cross-origin-resource-policy': 'same-origin',
        'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
      });
      expect(headers.has('strict-transport-security'), path).to.equal(false);
    }
  });

  it('has one heading, one main part, and no script, style or handler of its own', async () => {
    for (const { address, response } of await views()) {
      if (response.status !== 200) continue;
      const { text } = response;
      expect(text, address).not.to.match(
        /<img(?! class="cover" src="\/pictures\/\w+\/(?:thumbnail|preview)\.webp")|<script(?! type="module" src="\/assets\/pages\.[0-9a-f]{12}\.js")|<style|<iframe|\son\w+=|\sstyle=/,
      );
      expect(text.match(/<main id="content"/g), address).to.have.length(1);
      expect(text.match(/<h1[ >]/g), address).to.have.length(1);
      // Samples of code may speak of it, and a form's token may hold it.
      expect(text.replaceAll(/<pre.*?<\/pre>/gs, ''), address).not.to.match(
        /undefined|(?<![\w-])NaN(?![\w-])|\[object /,
      );
      for (const [, to = ''] of text.matchAll(/(?:href|action|src)="([^"]*)"/g))
        expect(to, address).to.match(/^(\/(?!\/)|#|\?|data:image\/svg\+xml,)/);
    }
  });

  it('weighs little: HTML, style and script of a first view, in three requests', async () => {
    const weigh = async (path: string) => (await (await fetch(`${service.baseUrl}${path}`)).text()).length;
    for (const { address, response } of await views()) {
      if (response.status !== 200) continue;
      expect(Buffer.byteLength(response.text), address).to.be.below(60 * 1024);
      const loaded = [...response.text.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)].map(
        ([, path]) => path ?? '',
      );
      expect(loaded, address).to.have.length(2);
      const [style = '', script = ''] = loaded;
      expect([await weigh(style), 16 * 1024], address).to.satisfy(isAscending);
      expect([await weigh(script), 8 * 1024], address).to.satisfy(isAscending);
    }
  });

  it('changes nothing when it is looked at, by GET or by HEAD', async () => {
    const signIns = (): unknown => recordsOf(service);
    const [events, records] = [await head(), signIns()];
    for (const place of places) {
      const { address } = place;
      for (const visitor of [lively.owner, operator, new Visitor(service)]) await visitor.get(address);
      const { cookie } = mayLook('operator', place) ? operator : lively.owner;
      const looked = await call(service, {
        method: 'HEAD',
        path: address,
        headers: { cookie: cookie ?? '' },
      });
      expect([looked.status < 400, looked.text], address).to.deep.equal([true, '']);
    }
    expect([[...(await writersSince(events)).keys()], signIns()]).to.deep.equal([[], records]);
  });

  it('takes its forms from pages of this service alone, whatever they ask for', async () => {
    const { origin } = new URL(service.baseUrl);
    const strangers: readonly Readonly<Record<string, string>>[] = [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'cross-site', origin },
      { origin: 'https://evil.example' },
      { origin: 'null' },
      {},
    ];
    const before = await head();
    const records = recordsOf(service);
    for (const { page, address } of places)
      for (const action of [...Object.keys(page.actions), 'nothing'])
        for (const headers of strangers) {
          const refused = await lively.owner.post(address, { do: action, form: 'form' }, headers);
          expect(refused.status, `${address} ${action} ${JSON.stringify(headers)}`).to.equal(403);
        }
    expect([[...(await writersSince(before)).keys()], recordsOf(service)]).to.deep.equal([[], records]);
  });

  it('is served for the address that clients see, and for no other name', async () => {
    const { port } = new URL(service.baseUrl);
    const status = async (path: string, host: string, method = 'GET') =>
      (await call(service, { method, path, headers: { host, 'sec-fetch-site': 'same-origin' } })).status;
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`])
      expect(await status('/console/sign-in', host), host).to.equal(200);
    for (const { address } of places)
      for (const host of [
        'evil.example',
        `evil.example:${port}`,
        '127.0.0.1:1',
        `localhost.evil.example:${port}`,
      ])
        for (const method of ['GET', 'POST'])
          expect(await status(address, host, method), `${method} ${address} ${host}`).to.equal(421);
    const { text } = await call(service, { path: '/console', headers: { host: 'evil.example' } });
    expect(text).to.include(`<a href="${service.baseUrl}/console">To the start of the console</a>`);
  });

  it('shows what customers wrote as text', async () => {
    const { tenant } = lively;
    const office = `/operator/v1/organizations/${tenant.org}`;
    const recipient = {
      name: within(60, 0),
      line1: within(60, 1),
      city: 'Springfield',
      state: 'IL',
      zip: '62701',
    };
    const sent = await tenant.api('/api/v1/cards', {
      body: aCard({ recipient, message: canaries.join('\n'), reference: within(40, 0) }),
    });
    expect(sent.status, sent.text).to.equal(201);
    for (const [at] of canaries.entries()) {
      await service.operator(`${office}/keys`, { body: { label: within(60, at), scopes: ['cards:read'] } });
      await service.operator(`${office}/hooks`, {
        body: { label: within(60, at), signed_by: within(40, at), template: within(200, at) },
      });
      await service.operator(`${office}/designs`, { body: { name: within(60, at) } });
      await tenant.api('/api/v1/webhooks', {
        body: {
          url: `${lively.receiver}?${encodeURIComponent(within(100, at))}`,
          description: within(60, at),
        },
      });
    }
    await service.operator(office, { method: 'PATCH', body: { name: canaries[0] } });
    await memberOf(service, tenant.org, 'viewer', 'eve@example.com');
    const more = [`/cards/${sent.id}`, `/console/${tenant.org}/cards?q=${encodeURIComponent(within(40, 0))}`];
    for (const address of [...places.map((place) => place.address), ...more]) {
      const seen = await Promise.all([lively.owner.get(address), operator.get(address)]);
      for (const { text } of seen)
        expect(text, address).not.to.match(
          /<img(?! class="cover" src="\/pictures\/\w+\/(?:thumbnail|preview)\.webp")|<script(?! type="module")|(?:href|src|action)="javascript:/,
        );
    }
    expect((await lively.owner.get(more[0] ?? '')).text).to.include('&lt;img src=x');
    await service.operator(office, { method: 'PATCH', body: { name: 'Acme' } });
  });

  it('has forms of which each has one effect, by a person, sent twice at once and once more', async function () {
    this.timeout(120_000);
    // One to release and one to cancel.
    for (const message of ['Bravo 🎉', 'Bravo 🎈'])
      await lively.tenant.api('/api/v1/cards', { body: aCard({ message }) });
    const picture = await redAndBlue();
    const done = new Set<string>();
    const refused: string[] = [];
    const nameOf = ({ address }: View, { action, to }: ShownForm): string =>
      `${pageAt(to ?? address)?.path} ${action}`;
    const sendTwice = async (view: View, form: ShownForm) => {
      const { who, visitor } = view;
      const { action, fields } = form;
      const address = form.to ?? view.address;
      const name = nameOf(view, form);
      done.add(name);
      const sent = { ...fields, ...typed(lively)[action] };
      const before = await head();
      const send = () =>
        'file' in fields
          ? visitor.upload(
              address,
              { ...fields, form: fields['form'] ?? '' },
              action === 'upload' ? picture : new Blob(['external_id,name\n']),
            )
          : visitor.post(address, sent);
      const twice = await Promise.all([send(), send()]);
      const statuses = [...twice, await send()].map(({ status }) => status);
      if (statuses.every((status) => status >= 400)) refused.push(`${who} ${name}: ${statuses.join()}`);
      const writers = [...(await writersSince(before)).values()];
      expect(writers, `${who} ${name}`).to.have.length.at.most(1);
      for (const kind of writers) expect(kind, name).to.be.oneOf(['member', 'operator']);
    };
    // What other forms have brought comes in the second round, and what ends something in the last.
    for (const round of ['begin', 'go on', 'end'])
      for (const view of await views()) {
        const { address, visitor } = view;
        for (;;) {
          const next = formsIn((await visitor.get(address)).text).find(
            (form) =>
              !done.has(nameOf(view, form)) &&
              // This one ends the session of who sends it, and does nothing twice.
              form.action !== 'signOut' &&
              (round === 'end' ||
                !/delete|revoke|remove|cancel|erase|archive|withdraw|fail$/i.test(form.action)),
          );
          if (next === undefined) break;
          await sendTwice(view, next);
        }
      }
    expect(refused, 'say in `typed` what a person types into them').to.deep.equal([]);
    const all = places.flatMap(({ page }) =>
      Object.keys(page.actions).map((action) => `${page.path} ${action}`),
    );
    const notShown = all.filter((name) => !done.has(name));
    expect(notShown, 'forms that no page of the lively organization shows').to.have.members([
      '/console/me signOut',
      // Of the two forms that accept an invitation the first one does.
      '/console/join/:organization/:invitation joinWith',
      // Needs a demo organization.
      '/console/enter/:link enterDemo',
      // For a card that is not on the floor yet.
      '/console/house/floor/:code queue',
      '/console/house/floor/:code hold',
      // For somebody who has joined.
      '/console/house/staff reset',
      // For a file that is not through yet.
      '/console/:org/contacts/imports/:import stop',
    ]);
  });
});

const aLetter = {
  'recipient.name': 'Ada Lovelace',
  'recipient.line1': '12 Analytical Way',
  'recipient.city': 'Springfield',
  'recipient.state': 'IL',
  'recipient.zip': '62701',
  message: 'Thank you, Ada.',
};

/** What a person types into forms whose fields can't be filled with anything. */
const typed = ({ receiver }: Lively): Readonly<Record<string, Readonly<Record<string, string>>>> => ({
  register: { url: `${receiver}more` },
  signIn: { email: 'ada@acme.example', password },
  join: { name: 'A guest', password },
  reset: { password },
  add: { amount: '5' },
  send: aLetter,
  preview: aLetter,
  changePassword: { password, next: 'another pelican staircase' },
});

const isAscending = ([one = 0, other = 0]: readonly number[]): boolean => one > 0 && one <= other;

/** The records of signing in, but for when a session was last used; null where they are not in a file. */
const recordsOf = ({ dataDir }: RunningService): unknown => {
  const path = join(dataDir, 'events.db');
  if (!existsSync(path)) return null;
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    return database.prepare('select kind, id, owner from sign_in_records order by kind, id').all();
  } finally {
    database.close();
  }
};

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
      const shown = await call(service, { method: 'GET', path: '/console/sign-in', headers: { host } });
      const cookie = page.headers['set-cookie']?.[0] ?? '';
      return { status: page.status, cookie, security: shown.headers['strict-transport-security'] };
    } finally {
      await service.stop();
    }
  };

  it('is kept to https, this host and requests where the base URL is https', async () => {
    const { status, cookie, security } = await enter({ BASE_URL: 'https://cards.example' });
    expect([status, security]).to.deep.equal([303, 'max-age=31536000']);
    expect(cookie).to.match(
      /^__Host-session=[\w-]{43}; Max-Age=1209600; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
    );
  });

  it('is without Secure on this machine, where Safari would refuse it', async () => {
    expect((await enter({})).cookie).to.match(
      /^session=[\w-]{43}; Max-Age=1209600; Path=\/; HttpOnly; SameSite=Lax$/,
    );
  });
});

describe('a service with CONSOLE=off', () => {
  it('has the API, its documentation and the collection, but no other page, no account and no link', async () => {
    const service = await startTestService({ CONSOLE: 'off' });
    try {
      const visitor = new Visitor(service);
      expect((await visitor.get('/')).location).to.equal('/docs');
      for (const path of ['/console', '/console/sign-in', '/cards/HC-7K3M9QX'])
        expect((await visitor.get(path)).status, path).to.equal(404);
      const made = await service.operator('/operator/v1/console-links', { method: 'POST' });
      expect([made.status, await service.makeLink()]).to.deep.equal([404, null]);
      const card = { method: 'PUT', body: { title: 'Welcome home' } };
      await service.operator('/operator/v1/collection/welcome-home', card);
      for (const path of ['/collection', '/collection/welcome-home']) {
        const { status, text } = await visitor.get(path);
        expect([status, /href="\/console/.test(text)], path).to.deep.equal([200, false]);
      }
    } finally {
      await service.stop();
    }
  });
});
