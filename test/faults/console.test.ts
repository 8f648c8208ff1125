import { expect } from 'chai';
import { startCluster, type Cluster, type Node } from '../support/servers/cluster.js';
import { describeWithEngines } from '../support/runner/engines.js';
import { aCard, type Tenant } from '../support/http/service.js';
import { memberOf, password, Visitor } from '../support/http/visitor.js';
import { triesPerMinute } from '../../application/access/sign-in.js';
import { eventually } from '../support/time/eventually.js';
import { isReady } from '../support/servers/witness.js';

/** How long another process may take to know who has signed out, or may do less. */
const promised = { within: 5_000 };

describeWithEngines(['MONGODB_URL', 'RABBITMQ_URL'], 'people at two processes', () => {
  let cluster: Cluster;
  let one: Node;
  let other: Node;
  let tenant: Tenant;

  before(async () => {
    cluster = await startCluster({ timeouts: { lease: 2_000, claim: 1_000, sweep: 1_000 } });
    const short = { CLAIM_TIMEOUT: '1s', RECONCILE_AFTER: '1s' };
    one = await cluster.start('all', 'up', short);
    other = await cluster.start('all', 'up', short);
    for (const node of [one, other]) await isReady(node);
    await one.prepared;
    tenant = await other.tenant();
  });
  after(() => cluster.close());

  /** The same browser, led to the other process. */
  const atOther = ({ cookie }: Visitor): Visitor => {
    const visitor = new Visitor(other);
    visitor.cookie = cookie;
    return visitor;
  };
  const aCardPage = async () => `/cards/${(await tenant.api('/api/v1/cards', { body: aCard() })).id}`;
  const members = () => `/operator/v1/organizations/${tenant.org}/members`;
  const memberWith = async (email: string) => {
    const { rows } = await other.operator(members());
    return `${members()}/${String(rows.find((row) => row['email'] === email)?.['id'])}`;
  };

  it('sign in at one and work at the other, and are out at both after they have left one', async () => {
    const here = await memberOf(one, tenant.org, 'owner', 'ada@example.com');
    const there = atOther(here);
    const page = await aCardPage();
    expect((await there.submit(page, 'cancel')).status).to.equal(303);
    expect((await here.get(page)).text).to.include('Cancelled, 1 credit returned');
    expect((await here.submit('/console/me', 'signOut')).status).to.equal(303);
    const isLedOut = async () => (await there.get(page)).location?.includes('/console/sign-in');
    await eventually(isLedOut, promised);
  }).timeout(240_000);

  it('lose at the other what they may no longer do, as soon as it was taken from them at one', async () => {
    const there = atOther(await memberOf(one, tenant.org, 'developer', 'bo@example.com'));
    const page = await aCardPage();
    const form = await there.form(page, 'cancel');
    const bo = await memberWith('bo@example.com');
    await one.operator(bo, { method: 'PATCH', body: { role: 'viewer' } });
    await eventually(async () => (await there.post(page, form)).status === 403, promised);
    await one.operator(bo, { method: 'DELETE' });
    await eventually(async () => (await there.get(page)).status === 404, promised);
  }).timeout(240_000);

  it('lose at the other every session of a password that was changed at one', async () => {
    const email = 'fay@example.com';
    const there = atOther(await memberOf(one, tenant.org, 'viewer', email));
    const changing = new Visitor(one);
    await changing.submit('/console/sign-in', 'signIn', { email, password });
    const fields = { password, next: 'another pelican staircase' };
    expect((await changing.submit('/console/me', 'changePassword', fields)).status).to.equal(303);
    await eventually(async () => (await there.get('/console/me')).status === 303, promised);
    expect((await atOther(changing).get('/console/me')).status).to.equal(200);
  }).timeout(240_000);

  it('have their tries of a minute counted at both together', async () => {
    const second = () => (Date.now() / 1_000) % 60;
    const tryAt = async (node: Node, email: string) =>
      (await new Visitor(node).submit('/console/sign-in', 'signIn', { email })).status;
    for (;;) {
      // Near its ends, a process that knows the time a little otherwise is in another minute; and tries count
      // for their network, too, so that none is spent in vain.
      await eventually(() => second() > 4 && second() < 30, { within: 60_000 });
      const began = Date.now();
      const email = `dee-${began}@example.com`;
      const statuses: number[] = [];
      for (let tries = 0; tries <= triesPerMinute.mailboxOfNetwork; tries += 1)
        statuses.push(await tryAt(tries % 2 === 0 ? one : other, email));
      if (Date.now() - began > 26_000) continue;
      expect([statuses.slice(0, -1).every((status) => status === 422), statuses.at(-1)]).to.deep.equal([
        true,
        429,
      ]);
      return;
    }
  }).timeout(240_000);

  it('find one effect of a form whose process died between writing and answering', async () => {
    const here = await memberOf(one, tenant.org, 'developer', 'cy@example.com');
    const there = atOther(here);
    const page = await aCardPage();
    const balance = await tenant.balance();
    const form = await here.form(page, 'cancel');
    const died = one.proxies.EVENTSTORE_URL.trap('CardCancelled', 'down', { arrives: true });
    const unanswered = here.post(page, form).catch(() => null);
    await died;
    await one.isolate();
    // Another try takes the form over when the first has had its time.
    await eventually(async () => (await there.post(page, form)).location === page);
    const { rows } = await other.operator(`/operator/v1${page}/history`);
    expect(rows.filter(({ type }) => type === 'CardCancelled')).to.have.length(1);
    await eventually(async () => (await tenant.balance()) === balance + 1);
    await unanswered;
  }).timeout(240_000);
});
