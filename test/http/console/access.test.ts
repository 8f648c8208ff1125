import { expect } from 'chai';
import { uploadPicture } from '../../support/artwork/upload.js';
import * as everyPage from '../../../adapters/http/console/pages.js';
import { paths } from '../../../adapters/http/web/paths.js';
import { house } from '../../../domain/members.js';
import { read } from '../../support/runner/repository.js';
import { aCard, startTestService, type RunningService, type Tenant } from '../../support/http/service.js';
import { pages } from '../../support/http/console-pages.js';
import { receiverSettings } from '../../support/http/receiver.js';
import { makeUndelivered, type Undelivered } from '../../support/http/undelivered.js';
import { memberOf, operatorOf, Visitor } from '../../support/http/visitor.js';
import { eventually } from '../../support/time/eventually.js';
import { skippingClock } from '../../support/time/skipping-clock.js';

const row = /^(\S+(?: [A-Za-z]+)?)\s{2,}(.+)$/;

/** The table by hand: a page, or a page and its form, and what each visitor gets. */
const [heading, ...lines] = read('test/golden/console-access.txt')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => {
    const [, what = '', cells = ''] = row.exec(line) ?? [];
    return { what, cells: cells.trim().split(/\s+/) };
  });

describe('the pages of the console', () => {
  let service: RunningService;
  let tenant: Tenant;
  const visitors = new Map<string, Visitor>();

  let undelivered: Undelivered;
  let picture: string | undefined;

  /** An endpoint that nothing is sent to but tests: the same one, unless somebody has deleted it. */
  const anEndpoint = async (): Promise<string> => {
    const body = { url: 'https://127.0.0.2:1/deleted', events: ['card.mailed'] };
    return (await tenant.api('/api/v1/webhooks', { body })).id;
  };

  /** What a form needs to have its effect. */
  const fieldsOf = (name: string, action: string): Readonly<Record<string, string>> =>
    ({
      // Ten tries a minute are looked at for one account.
      signIn: { email: `${name}@example.com` },
      register: { url: `https://127.0.0.2:1/${name}` },
      replay: { since: '2026-03-02T15:04' },
      redrive: { since: '2026-03-02T15:04', to: undelivered.endpoint },
      retry: { delivery: undelivered.delivery },
    })[action] ?? {};

  const aCardOf = async ({ api }: Tenant): Promise<string> =>
    (await api('/api/v1/cards', { body: aCard() })).id;

  const aContactOf = async ({ api }: Tenant): Promise<string> =>
    (await api('/api/v1/contacts', { body: { name: 'Grace Hopper', external_id: 'a page' } })).id;

  /** An import of a file without rows, so that it writes nothing. */
  const anImport = async (): Promise<string> => {
    const page = `/console/${tenant.org}/contacts/import`;
    const owner = visitors.get('owner');
    const { location } =
      (await owner?.upload(page, { form: 'empty' }, new Blob(['external_id,name\n']))) ?? {};
    return location?.split('/').at(-1) ?? '';
  };

  /** One that waits to be saved. */
  const aPicture = async (): Promise<string> => {
    const owner = visitors.get('owner');
    if (owner === undefined) throw new Error('there is no owner');
    picture ??= await uploadPicture(owner, tenant.org);
    return picture.split('/').at(-1) ?? '';
  };

  const aHookOf = async ({ org }: Tenant): Promise<string> =>
    (await service.operator(`/operator/v1/organizations/${org}/hooks`, { body: {} })).id;

  /** The position of the last event. */
  const head = async (): Promise<unknown> => (await service.operator('/operator/v1/anchor')).body['position'];

  /** What was done after a position, but for what the service does by itself: it queues due cards. */
  const doneAfter = async (position: unknown): Promise<readonly unknown[]> => {
    const now = await head();
    if (now === position) return [];
    const feed = `/operator/v1/events?from=${String(position)}&until=${String(now)}`;
    const { text } = await service.operator(feed, { headers: { accept: 'application/jsonl' } });
    const events = text.split('\n').filter((line) => line !== '');
    return events
      .map((line) => JSON.parse(line) as { type: string; metadata: { actor: { kind: string } } })
      .filter(({ metadata }) => metadata.actor.kind !== 'system')
      .map(({ type }) => type);
  };

  before(async function () {
    this.timeout(120_000);
    const clock = skippingClock();
    service = await startTestService(receiverSettings, clock);
    tenant = await service.tenant({ credits: 1_000 });
    const expired = await memberOf(service, tenant.org, 'developer', 'expired@example.com');
    const homeStatus = async () => (await expired.get(`/console/${tenant.org}`)).status;
    expect(await homeStatus()).to.equal(200);
    clock.skip(12 * 60 * 60 * 1000);
    await eventually(async () => (await homeStatus()) === 303);
    visitors.set('expired', expired);
    undelivered = await makeUndelivered(tenant);
    const other = await service.tenant();
    const members = `/operator/v1/organizations/${tenant.org}/members`;
    visitors.set('nobody', new Visitor(service)).set('operator', await operatorOf(service));
    for (const role of ['owner', 'developer', 'viewer'])
      visitors.set(role, await memberOf(service, tenant.org, role));
    for (const role of ['floor', 'auditor']) visitors.set(role, await memberOf(service, house, role));
    visitors.set('staff', await memberOf(service, house, 'operator'));
    visitors.set('other', await memberOf(service, other.org, 'owner'));
    visitors.set('removed', await memberOf(service, tenant.org, 'developer', 'removed@example.com'));
    const { rows } = await service.operator(members);
    const gone = rows.find(({ email }) => email === 'removed@example.com');
    await service.operator(`${members}/${String(gone?.['id'])}`, { method: 'DELETE' });
  });
  after(() => service.stop());

  for (const { what, cells } of lines)
    it(`admit as the table says: ${what}`, async () => {
      const [path = '', action] = what.split(' ');
      const found: string[] = [];
      for (const name of heading?.cells ?? []) {
        const visitor = visitors.get(name);
        if (visitor === undefined) throw new Error(`there is no ${name}`);
        const card = path.includes('{card}') ? await aCardOf(tenant) : '';
        const filled = path
          .replace('{org}', tenant.org)
          .replace('{card}', card)
          .replace('{hook}', path.includes('{hook}') ? await aHookOf(tenant) : '')
          .replace('{endpoint}', path.includes('{endpoint}') ? await anEndpoint() : '')
          .replace('{delivery}', undelivered.delivery)
          .replace('{contact}', path.includes('{contact}') ? await aContactOf(tenant) : '')
          .replace('{picture}', path.includes('{picture}') ? await aPicture() : '')
          .replace('{import}', path.includes('{import}') ? await anImport() : '')
          .replace('{unknown}', 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA');
        const before = await head();
        const page =
          action === undefined
            ? await visitor.get(filled)
            : await visitor.post(filled, { do: action, form: `${name} ${what}`, ...fieldsOf(name, action) });
        found.push(String(page.status));
        if (action === undefined || page.status >= 400 || page.location?.includes('sign-in') === true)
          expect(await doneAfter(before), `done by ${name}`).to.deep.equal([]);
      }
      expect(found).to.deep.equal(cells);
    });

  it('are in the table, each with its forms', () => {
    const shape = (path: string): string => path.replaceAll(/:\w+|\{\w+\}/g, '*');
    const told = new Set(lines.map(({ what }) => shape(what)));
    /** It would end the session that the next row needs: test/http/console/forms.test.ts has it. */
    const elsewhere = '/console/me signOut';
    const missing = pages
      .flatMap(({ path, actions }) => [path, ...Object.keys(actions).map((action) => `${path} ${action}`)])
      .filter((what) => what !== elsewhere && !told.has(shape(what)));
    expect(missing).to.deep.equal([]);
    expect(Object.values(everyPage).map(({ path }) => path)).to.have.members(Object.values(paths));
  });

  it('answer alike for a card that is another’s and for one that is none', async () => {
    const mine = await aCardOf(tenant);
    for (const name of ['nobody', 'other', 'floor']) {
      const visitor = visitors.get(name) ?? new Visitor(service);
      const [real, none] = [await visitor.get(`/cards/${mine}`), await visitor.get('/cards/HC-0000000')];
      const same = ({ text }: { readonly text: string }) => text.replaceAll(/req_[\w-]+/g, 'req_');
      expect([real.status, same(real)], name).to.deep.equal([none.status, same(none)]);
      const place = (to: string | null) => to?.replaceAll(/HC-\w+/g, 'HC-');
      expect(place(real.location)).to.equal(place(none.location));
    }
  });

  it('name the permission that is lacking, and the people who can give it', async () => {
    const path = `/cards/${await aCardOf(tenant)}`;
    const refused = async (name: string) =>
      (await visitors.get(name)?.post(path, { do: 'cancel', form: 'form' }))?.text;
    expect(await refused('viewer')).to.include(
      'Your role here lacks the permission cards.cancel. Ask A owner to change your role.',
    );
    expect(await refused('auditor')).to.include('The operator of the service can change your role.');
  });

  it('lead back to the page that was asked for after signing in, and nowhere else', async () => {
    const card = await aCardOf(tenant);
    const { location } = await new Visitor(service).get(`/cards/${card}`);
    expect(location).to.equal(`/console/sign-in?to=%2Fcards%2F${card}`);
    const visitor = new Visitor(service);
    const credentials = (role: string) => ({
      email: `${role}-${tenant.org.slice(0, 8)}@example.com`,
      password: 'correct horse battery staple',
    });
    const asOwner = credentials('owner');
    expect((await visitor.submit(location ?? '', 'signIn', asOwner)).location).to.equal(`/cards/${card}`);
    const org = `/console/${tenant.org}`;
    const deep = [
      '/console?place=keys',
      '/console/me',
      `${org}/cards?status=blocked&q=order-1`,
      `${org}/hooks`,
    ];
    for (const page of deep) {
      const led = await new Visitor(service).get(page);
      expect((await visitor.submit(led.location ?? '', 'signIn', asOwner)).location).to.equal(page);
    }
    for (const to of [
      '//evil.example',
      'https://evil.example/cards/HC-1',
      '/cards/../../x',
      'javascript:1',
      '/docs',
    ])
      expect(
        (await visitor.submit('/console/sign-in', 'signIn', { ...credentials('developer'), to })).location,
        to,
      ).to.equal('/console');
  });
});
