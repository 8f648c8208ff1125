import { expect } from 'chai';
import { hashOf } from '../../../application/access/sessions.js';
import { startTestService, type RunningService, type Tenant } from '../../support/http/service.js';
import { memberOf, password, Visitor } from '../../support/http/visitor.js';
import { settableClock } from '../../support/http/http.js';

describe('a session of the console', () => {
  let service: RunningService;
  let tenant: Tenant;
  const email = 'ada@example.com';
  const clock = settableClock('2026-03-02T14:05:00.000Z');

  before(async () => {
    service = await startTestService({}, clock);
    tenant = await service.tenant();
    await memberOf(service, tenant.org, 'owner', email);
  });
  after(() => service.stop());

  const signedIn = async (cookie: string | null = null, address = email): Promise<Visitor> => {
    const visitor = new Visitor(service);
    visitor.cookie = cookie;
    await visitor.submit('/console/sign-in', 'signIn', { email: address, password });
    return visitor;
  };
  const statusOf = async (visitor: Visitor) => (await visitor.get(`/console/${tenant.org}`)).status;

  it('is a new one after signing in, whatever cookie the browser brought', async () => {
    const planted = 'session=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA';
    const visitor = await signedIn(planted);
    expect(visitor.cookie)
      .to.match(/^session=[\w-]{43}$/)
      .and.not.equal(planted);
    const thief = new Visitor(service);
    thief.cookie = planted;
    expect(await statusOf(thief)).to.equal(303);
    const again = await signedIn(visitor.cookie);
    expect(again.cookie).not.to.equal(visitor.cookie);
  });

  it('is listed with the others of its account, which it can end', async () => {
    const [here, there] = [await signedIn(), await signedIn()];
    const { text } = await here.get('/console/me');
    expect(text.match(/here, now/g)).to.have.length(1);
    expect(text).to.include('last used');
    expect((await here.submit('/console/me', 'signOutOthers')).status).to.equal(303);
    expect([await statusOf(here), await statusOf(there)]).to.deep.equal([200, 303]);
    expect((await here.get('/console/me')).text).not.to.include('last used');
  });

  it('is ended alone by another of its account, and by nobody else’s', async () => {
    const [here, there, elsewhere] = [await signedIn(), await signedIn(), await signedIn()];
    const { text } = await here.get('/console/me');
    const others = [...text.matchAll(/name="session" value="(\w+)"/g)].map(([, id = '']) => id);
    const idOf = ({ cookie }: Visitor) => hashOf(cookie?.split('=')[1] ?? '');
    expect(others)
      .to.include.members([idOf(there), idOf(elsewhere)])
      .and.not.include(idOf(here));
    const stranger = await memberOf(service, tenant.org, 'viewer', 'eve@example.com');
    const form = { ...(await stranger.form('/console/me', 'signOut')), do: 'signOutThere' };
    await stranger.post('/console/me', { ...form, session: idOf(there) });
    expect(await statusOf(there)).to.equal(200);
    const ours = { ...(await here.form('/console/me', 'signOutThere')), session: idOf(there) };
    expect((await here.post('/console/me', ours)).location).to.equal('/console/me');
    const statuses = [await statusOf(here), await statusOf(there), await statusOf(elsewhere)];
    expect(statuses).to.deep.equal([200, 303, 200]);
  });

  it('shows nothing more of an organization that its person was removed from, and less after a smaller role', async () => {
    const visitor = await memberOf(service, tenant.org, 'developer', 'bo@example.com');
    const members = `/operator/v1/organizations/${tenant.org}/members`;
    const { rows } = await service.operator(members);
    const bo = `${members}/${String(rows.find((row) => row['email'] === 'bo@example.com')?.['id'])}`;
    const form = await visitor.form(`/console/${tenant.org}/keys`, 'make');
    await service.operator(bo, { method: 'PATCH', body: { role: 'viewer' } });
    expect((await visitor.post(`/console/${tenant.org}/keys`, form)).status).to.equal(403);
    await service.operator(bo, { method: 'DELETE' });
    expect(await statusOf(visitor)).to.equal(404);
  });

  it('is not in use by a page that refreshes itself', async () => {
    const address = 'lea@example.com';
    const left = await memberOf(service, tenant.org, 'owner', address);
    const began = clock.instant();
    clock.set(new Date(clock.now() + 600_000).toISOString());
    const other = await signedIn(null, address);
    const lastUsed = async () =>
      /last used <time datetime="([^"]+)"/.exec((await other.get('/console/me')).text)?.[1];
    await left.get('/console/me', { 'x-refresh': '1' });
    expect(await lastUsed()).to.equal(began);
    await left.get('/console/me');
    expect(await lastUsed()).to.equal(clock.instant());
  });
});
