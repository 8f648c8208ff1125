import { status } from '@grpc/grpc-js';
import { expect } from 'chai';
import { describeWithEngines } from '../support/runner/engines.js';
import { startCluster, type Cluster, type Node } from '../support/servers/cluster.js';
import { eventually } from '../support/time/eventually.js';
import { aCard, type Tenant } from '../support/http/service.js';
import type { EventStoreDbStandIn } from '../engines/eventstoredb-stand-in.js';

const patient = { within: 60_000 };

interface Part {
  readonly name: string;
  readonly ready: boolean;
  readonly detail: string | null;
}

const partsOf = async (node: Node): Promise<readonly Part[]> => {
  const answer = await fetch(`${node.baseUrl}/readyz`);
  const { parts }: { readonly parts: readonly Part[] } = JSON.parse(await answer.text());
  return parts;
};

const notReady = async (node: Node): Promise<readonly string[]> =>
  (await partsOf(node)).filter(({ ready }) => !ready).map(({ name }) => name);

const isReady = (node: Node): Promise<true> =>
  eventually(async () => (await notReady(node)).length === 0, { ...patient, what: 'readiness' });

const send = (tenant: Tenant) => tenant.api('/api/v1/cards', { body: aCard() });

const sent = async (tenant: Tenant): Promise<string> => {
  const reply = await send(tenant);
  expect(reply.status, reply.text).to.equal(201);
  return reply.id;
};

describeWithEngines(['MONGODB_URL', 'RABBITMQ_URL'], 'a service whose EventStoreDB refuses something', () => {
  let cluster: Cluster;
  let standIn: EventStoreDbStandIn;
  let node: Node;
  let tenant: Tenant;
  before(async function () {
    this.timeout(120_000);
    cluster = await startCluster();
    if (cluster.standIn === null) return this.skip();
    standIn = cluster.standIn;
    node = await cluster.start('all');
    await isReady(node);
    await node.prepared;
    tenant = await node.tenant();
  });
  after(() => cluster.close());

  /** Waits until /readyz says so of the event store, and checks that the process lives. */
  const says = async (told: RegExp): Promise<void> => {
    await eventually(
      async () => {
        const part = (await partsOf(node)).find(({ name }) => name === 'event store');
        return part?.ready === false && told.test(part.detail ?? '');
      },
      { ...patient, what: String(told) },
    );
    expect((await node.anonymous('/healthz')).status).to.equal(200);
  };
  const recovers = async (): Promise<void> => {
    await isReady(node);
    const code = await sent(tenant);
    expect((await tenant.api('/api/v1/cards')).rows[0]?.['id']).to.equal(code);
  };

  it('says on /readyz that a cluster has no leader, refuses sends meanwhile, and recovers by itself', async () => {
    standIn.isLeaderless = true;
    await says(/^no response within 2000 ms: .*No leader info available in response$/);
    expect((await send(tenant)).code).to.equal('order_failed');
    standIn.isLeaderless = false;
    await recovers();
  }).timeout(240_000);

  it('says on /readyz which right or password is wrong and what to do, and recovers by itself', async () => {
    standIn.denies = status.PERMISSION_DENIED;
    await says(/^EventStoreDB does not let the user ".*" read \$all\. .*cli -- eventstore grant --user /);
    standIn.denies = status.UNAUTHENTICATED;
    await says(/^EventStoreDB refuses the user ".*" of EVENTSTORE_URL, or its password\.$/);
    standIn.denies = null;
    await recovers();
  }).timeout(240_000);

  it('stays ready while the stream of a card was truncated, deleted or tombstoned there, which alone is refused', async () => {
    const harmed = [
      (stream: string) => standIn.truncate(stream, { truncateBefore: 1 }),
      (stream: string) => standIn.softDelete(stream),
      (stream: string) => standIn.tombstone(stream),
    ];
    const isLate = async () => (await tenant.api('/api/v1/cards')).headers.has('x-read-model-late');
    // Late rows are not trusted.
    await eventually(async () => !(await isLate()), { within: 30_000, what: 'rows that are not late' });
    for (const harm of harmed) {
      const code = await sent(tenant);
      harm(`${cluster.namespace}card-${code}`);
      // Its row still shows it; no decision rests on a part of its stream.
      expect((await tenant.api(`/api/v1/cards/${code}`)).status).to.equal(200);
      const refused = await tenant.api(`/api/v1/cards/${code}`, { method: 'DELETE' });
      expect(refused.status, refused.text).to.be.at.least(400);
      expect(await notReady(node)).to.deep.equal([]);
      await sent(tenant);
    }
  }).timeout(120_000);
});
