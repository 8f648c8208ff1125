import { expect } from 'chai';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { signerFrom, signerText } from '../../domain/signed-note.js';
import type { Role } from '../../bin/wiring/roles.js';
import { startReceiver, type Receiver } from '../support/http/receiver.js';
import { aCard, clientOf, startTestService, type Tenant } from '../support/http/service.js';
import { describeWithEngines } from '../support/runner/engines.js';
import { startCluster, type Cluster, type EngineUrl, type Node } from '../support/servers/cluster.js';
import { alertsAfter, describeWithPromtool, faultsOf, type Scrape } from '../support/servers/promtool.js';
import { isReady } from '../support/servers/witness.js';
import { eventually } from '../support/time/eventually.js';

const patient = { within: 30_000 };

const scrape = async (instance: string, baseUrl: string): Promise<Scrape> => {
  const text = await fetch(`${baseUrl}/metrics`).then(
    (response) => response.text(),
    () => null,
  );
  return { instance, text };
};

describeWithPromtool('the alerts of a service in one process', () => {
  it('are all quiet while it runs, and tell when it is gone', async () => {
    const service = await startTestService();
    const scrapes = async () => [await scrape('all', service.baseUrl)];
    let first = await scrapes();
    try {
      expect(faultsOf(first[0]?.text ?? '')).to.equal('');
      await eventually(async () => {
        const before = first;
        first = await scrapes();
        expect(await alertsAfter(before, first)).to.deep.equal([]);
        return true;
      }, patient);
    } finally {
      await service.stop();
    }
    const roles = ['api', 'notary', 'projector', 'reconciler', 'relay', 'webhooks'];
    expect(await alertsAfter(first, await scrapes())).to.have.members([
      'NotMeasured',
      'ProcessDown all',
      ...roles.map((role) => `RoleMissing ${role}`),
    ]);
  }).timeout(120_000);
});

describeWithPromtool('', () => {
  describeWithEngines(['MONGODB_URL', 'RABBITMQ_URL'], 'the alerts of a service on servers', () => {
    const roles = ['api', 'projector', 'relay', 'webhooks', 'reconciler', 'notary'] as const;
    const nodes = new Map<Role, Node>();
    let cluster: Cluster;
    let tenant: Tenant;
    let receiver: Receiver;

    const node = (role: Role): Node => {
      const found = nodes.get(role);
      if (found === undefined) throw new Error(`there is no ${role}`);
      return found;
    };
    const scrapes = (): Promise<readonly Scrape[]> =>
      Promise.all([...nodes].map(([role, { baseUrl }]) => scrape(role, baseUrl)));
    /** Waits until these alerts fire, among others or alone, if what is shown now goes on. */
    const fires = async (wanted: readonly string[], others: boolean): Promise<void> => {
      const first = await scrapes();
      await eventually(async () => {
        const fired = await alertsAfter(first, await scrapes());
        if (others) expect(fired).to.include.members([...wanted]);
        else expect(fired).to.have.members([...wanted]);
        return true;
      }, patient);
    };
    const isQuiet = async (): Promise<void> => {
      let last = await scrapes();
      await eventually(async () => {
        const before = last;
        last = await scrapes();
        expect(await alertsAfter(before, last)).to.deep.equal([]);
        return true;
      }, patient);
    };
    const send = async (): Promise<void> => {
      const { status, text } = await tenant.api('/api/v1/cards', { body: aCard() });
      expect(status, text).to.equal(201);
    };
    const start = async (role: Role): Promise<void> => {
      nodes.set(role, await cluster.start(role));
      await isReady(node(role));
    };

    before(async function () {
      this.timeout(120_000);
      cluster = await startCluster({ timeouts: { lease: 2_000 } });
      const key = signerText(signerFrom('cards.example.com/log', 'note', Buffer.alloc(32, 7)));
      await writeFile(join(cluster.environment['DATA_DIR'] ?? '', 'log.key'), `${key}\n`, { mode: 0o600 });
      for (const role of roles) nodes.set(role, await cluster.start(role));
      for (const role of roles) await isReady(node(role));
      await node('api').prepared;
      tenant = await node('api').tenant({ credits: 1_000 });
      receiver = await startReceiver();
      expect((await tenant.api('/api/v1/webhooks', { body: { url: receiver.url } })).status).to.equal(201);
      await send();
    });
    after(async function () {
      this.timeout(60_000);
      await cluster.close();
      await receiver.close();
    });
    beforeEach(async function () {
      this.timeout(240_000);
      await isQuiet();
    });

    const consequences: Readonly<Record<(typeof roles)[number], readonly string[]>> = {
      projector: ['ReadModelsLate'],
      relay: ['LogReaderLate relay', 'LogReaderLate public-stream'],
      webhooks: ['DeliveriesLate'],
      reconciler: ['LogReaderLate reconciler'],
      notary: ['LogUnsigned'],
      // The reconciler measures what is late, too.
      api: [],
    };
    for (const role of roles)
      it(`tell that ${role} is gone, and what is late because of it`, async () => {
        const gone = node(role);
        await gone.stop();
        if (role !== 'api') await send();
        await fires([`ProcessDown ${role}`, `RoleMissing ${role}`, ...consequences[role]], false);
        await start(role);
        if (role === 'api') tenant = { ...tenant, api: clientOf(node('api').baseUrl, tenant.key) };
      }).timeout(240_000);

    const engines: Readonly<Record<EngineUrl, string>> = {
      EVENTSTORE_URL: 'event store',
      MONGODB_URL: 'mongodb',
      RABBITMQ_URL: 'rabbitmq',
    };
    for (const [engine, part] of Object.entries(engines) as [EngineUrl, string][])
      it(`tell that the engine ${part} is away`, async () => {
        const proxies = roles.map((role) => node(role).proxies[engine]);
        for (const proxy of proxies) await proxy.set('down');
        await fires([`NotReady ${part}`], true);
        for (const proxy of proxies) await proxy.set('up');
        for (const role of roles) await isReady(node(role));
      }).timeout(240_000);
  });
});
