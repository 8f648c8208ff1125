import { status } from '@grpc/grpc-js';
import { expect } from 'chai';
import { startCluster, type Cluster, type Node } from '../support/servers/cluster.js';
import { describeWithEngines } from '../support/runner/engines.js';
import { sampleOf } from '../support/runner/effort.js';
import { eventually } from '../support/time/eventually.js';
import { isReady, notReady, Witness } from '../support/servers/witness.js';

describeWithEngines(
  ['MONGODB_URL', 'RABBITMQ_URL'],
  'a service keeps the invariants with an event store',
  function () {
    let cluster: Cluster;
    let node: Node;
    let witness: Witness;
    before(async () => {
      cluster = await startCluster();
      node = await cluster.start('all', 'up', { CLAIM_TIMEOUT: '1s', RECONCILE_AFTER: '1s' });
      witness = new Witness(cluster);
      await isReady(node);
      await node.prepared;
    });
    afterEach(async () => {
      witness.abandonLoads();
      await cluster.restoreEventStore();
      for (const proxy of Object.values(node.proxies)) await proxy.set('up');
    });
    after(async () => {
      await cluster.close();
      await witness.close();
    });

    /** What a client may be told while writes fail: that nothing was charged, or nothing at all. */
    const refusals = ['500 order_failed', '500 internal_error', 'none'];
    const usual = ['200', '201'];

    const hasRefused = (place: number) =>
      eventually(() => refusals.some((refusal) => witness.answersSince(place).has(refusal)), {});

    /** Sends cards while the fault comes and goes. */
    const underLoad = async (fault: () => Promise<void>): Promise<void> => {
      const party = await witness.party(node);
      const load = witness.load([node], party);
      await witness.answered(8);
      const place = witness.history.length;
      await fault();
      await witness.answered(8);
      await load.stop();
      expect(
        [...witness.answersSince(place)].filter((answer) => ![...usual, ...refusals].includes(answer)),
      ).to.deep.equal([]);
      await witness.settled(node, [party]);
    };

    const paths = ['cards', 'contacts', 'webhooks', 'account', 'credits', 'designs', 'handwriting'];

    it('that is unavailable: a send is refused with order_failed and charges nothing, lookups and lists still work', async () => {
      const party = await witness.party(node);
      const { answer } = await witness.send(node, party);
      await node.proxies.EVENTSTORE_URL.set('down');
      const first = witness.history.length;
      await witness.send(node, party);
      await witness.send(node, party, 'while away');
      await witness.cancel(node, party, answer?.card ?? '');
      expect([...witness.answersSince(first)].filter((told) => !refusals.includes(told))).to.deep.equal([]);
      // The service knows by now that the store is unavailable: it sends no writes, so no outcome is unknown.
      const place = witness.history.length;
      await witness.send(node, party);
      await witness.send(node, party, 'still away');
      expect([...witness.answersSince(place)]).to.deep.equal(['500 order_failed']);
      for (const path of [...paths, `cards/${answer?.card}`])
        expect([path, (await party.api(`/api/v1/${path}`)).status]).to.deep.equal([path, 200]);
      expect((await party.api('/api/v1/webhooks')).rows.map((row) => row['url'])).to.deep.equal([
        party.receiver.url,
      ]);
      expect(await notReady(node)).to.deep.equal(['event store']);
      await node.proxies.EVENTSTORE_URL.set('up');
      await witness.settled(node, [party]);
      // The two sends without a key left nothing: the log has the first card, and those of the keys.
      expect((await party.api('/api/v1/cards')).rows.length).to.equal(3);
    }).timeout(240_000);

    it('that is killed under load', () =>
      underLoad(async () => {
        const place = witness.history.length;
        await cluster.endEventStore();
        await hasRefused(place);
        await cluster.restoreEventStore();
      })).timeout(240_000);

    it('that repeatedly resets its connections under load', () =>
      underLoad(async () => {
        for (let count = 0; count < 5; count += 1) {
          node.proxies.EVENTSTORE_URL.cut();
          await witness.answered(4);
        }
      })).timeout(240_000);

    it('that stalls under load', () =>
      underLoad(async () => {
        const place = witness.history.length;
        await node.proxies.EVENTSTORE_URL.set('stalled');
        await hasRefused(place);
        await node.proxies.EVENTSTORE_URL.set('up');
      })).timeout(240_000);

    for (const event of sampleOf(['CreditSpent', 'CardScheduled', 'CardCancelled', 'CreditReturned'], 2)) {
      it(`whose response is lost after it has stored ${event}: the request finds that out, and takes effect once`, async () => {
        const party = await witness.party(node);
        const proxy = node.proxies.EVENTSTORE_URL;
        const before = await witness.send(node, party, 'before');
        const lost = proxy.trap(event, 'deaf', { arrives: true });
        const asked =
          event === 'CreditSpent' || event === 'CardScheduled'
            ? witness.send(node, party)
            : witness.cancel(node, party, before.answer?.card ?? '');
        await lost;
        proxy.cut();
        await proxy.set('up');
        const { does, answer } = await asked;
        expect([answer?.status, answer?.refunded]).to.deep.equal(
          does.kind === 'send' ? [201, null] : [200, 1],
        );
        await witness.settled(node, [party]);
      });
    }

    it('that never responds: no response if the outcome is unknown, one card per key, and every credit accounted for', async () => {
      const wanted = [
        { event: 'CreditSpent', key: null },
        { event: 'CreditSpent', key: 'open since the credit' },
        { event: 'CardScheduled', key: null },
        { event: 'CardScheduled', key: 'open since the card' },
      ];
      const party = await witness.party(node);
      await Promise.all(
        wanted.map(async ({ event, key }) => {
          const cutOff = await cluster.start('api', 'up', { CLAIM_TIMEOUT: '1s' });
          await isReady(cutOff);
          const lost = cutOff.proxies.EVENTSTORE_URL.trap(event, 'deaf', { arrives: true });
          const asked = witness.send(cutOff, party, key);
          await lost;
          expect((await asked).answer).to.equal(null);
          await cutOff.isolate();
        }),
      );
      await witness.settled(node, [party]);
      expect((await party.api('/api/v1/cards')).rows.length).to.be.within(3, 4);
    }).timeout(240_000);

    it('that takes no events: says so and refuses at once, shows what there is, and goes on by itself', async function () {
      const { standIn } = cluster;
      if (standIn === null) return this.skip();
      const party = await witness.party(node);
      const { answer } = await witness.send(node, party);
      const refusal = {
        kind: 'refused',
        code: status.PERMISSION_DENIED,
        exception: 'access-denied',
      } as const;
      standIn.appendFates.push(...Array.from({ length: 1_000 }, () => refusal));
      const took: number[] = [];
      for (let count = 0; count < 11; count += 1) {
        const place = witness.history.length;
        const began = performance.now();
        await witness.send(node, party);
        took.push(performance.now() - began);
        expect([...witness.answersSince(place)]).to.deep.equal(['500 order_failed']);
      }
      expect(took.toSorted((a, b) => a - b)[5]).to.be.lessThan(250);
      expect(await notReady(node)).to.deep.equal(['event store']);
      for (const path of [...paths, `cards/${answer?.card}`])
        expect([path, (await party.api(`/api/v1/${path}`)).status]).to.deep.equal([path, 200]);
      standIn.appendFates.length = 0;
      await isReady(node);
      await witness.settled(node, [party]);
    }).timeout(120_000);
  },
);
