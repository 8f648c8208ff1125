import { expect } from 'chai';
import { startCluster, type Cluster, type Node } from '../support/servers/cluster.js';
import { describeWithEngines } from '../support/runner/engines.js';
import { sampleOf } from '../support/runner/effort.js';
import { eventually } from '../support/time/eventually.js';
import { aCard, clientOf } from '../support/http/service.js';
import { RefusingMongo } from '../support/servers/refusing-mongo.js';
import { isReady, notReady, Witness, type Party } from '../support/servers/witness.js';

describeWithEngines(
  ['MONGODB_URL', 'RABBITMQ_URL'],
  'a service keeps the invariants with a MongoDB',
  function () {
    let cluster: Cluster;
    let node: Node;
    let witness: Witness;
    before(async () => {
      cluster = await startCluster({ timeouts: { claim: 2_000, sweep: 2_000 } });
      node = await cluster.start('all', 'up', {
        CLAIM_TIMEOUT: '1s',
        RECONCILE_AFTER: '1s',
        WEBHOOK_TIMEOUT: '2s',
      });
      witness = new Witness(cluster);
      await isReady(node);
      await node.prepared;
    });
    afterEach(async () => {
      witness.abandonLoads();
      await node.proxies.MONGODB_URL.set('up');
    });
    after(async () => {
      await cluster.close();
      await witness.close();
    });

    /**
     * What a client may be told: success, that no key can be looked up, that the key is held by an attempt
     * whose claim couldn't be ended, or nothing.
     */
    const expected = ['200', '201', '400 invalid_idempotency_key', '409 request_in_progress', 'none'];

    const hasRefusedKeys = (place: number) =>
      eventually(() => witness.answersSince(place).has('400 invalid_idempotency_key'), { within: 30_000 });

    const underLoad = async (fault: () => Promise<void>): Promise<void> => {
      const party = await witness.party(node);
      const place = witness.history.length;
      const load = witness.load([node], party);
      await witness.answered(8);
      await fault();
      await witness.answered(8);
      await load.stop();
      expect([...witness.answersSince(place)].filter((answer) => !expected.includes(answer))).to.deep.equal(
        [],
      );
      await witness.settled(node, [party]);
    };

    it('that is unavailable: a send with a key is refused, one without works, reads fail with read_failed', async () => {
      const party = await witness.party(node);
      const before = await witness.send(node, party, 'before');
      await node.proxies.MONGODB_URL.set('down');
      await eventually(async () => (await notReady(node))?.includes('mongodb'));
      const place = witness.history.length;
      await witness.send(node, party, 'before');
      await witness.send(node, party, 'while away');
      expect([...witness.answersSince(place)]).to.deep.equal(['400 invalid_idempotency_key']);
      const unkeyed = await witness.send(node, party);
      const cancelled = await witness.cancel(node, party, before.answer?.card ?? '');
      expect([unkeyed.answer?.status, cancelled.answer?.status, cancelled.answer?.refunded]).to.deep.equal([
        201, 200, 1,
      ]);
      for (const path of ['cards', 'contacts', 'credits', 'designs', `cards/${unkeyed.answer?.card}`]) {
        const reply = await party.api(`/api/v1/${path}`);
        expect([path, reply.status, reply.code]).to.deep.equal([path, 500, 'read_failed']);
      }
      await node.proxies.MONGODB_URL.set('up');
      await witness.settled(node, [party]);
      expect((await party.api('/api/v1/cards')).rows.length).to.equal(3);
    });

    it('that is killed under load', () =>
      underLoad(async () => {
        const place = witness.history.length;
        await node.proxies.MONGODB_URL.set('down');
        await hasRefusedKeys(place);
        await node.proxies.MONGODB_URL.set('up');
      })).timeout(240_000);

    it('that repeatedly resets its connections under load', () =>
      underLoad(async () => {
        for (let count = 0; count < 5; count += 1) {
          node.proxies.MONGODB_URL.cut();
          await witness.answered(4);
        }
      })).timeout(240_000);

    it('that stalls under load', () =>
      underLoad(async () => {
        const place = witness.history.length;
        await node.proxies.MONGODB_URL.set('stalled');
        await hasRefusedKeys(place);
        await node.proxies.MONGODB_URL.set('up');
      })).timeout(240_000);

    /** Loses the response to the next write that contains these bytes. */
    const loseAnswer = async (bytes: string, act: (party: Party) => Promise<void>): Promise<void> => {
      const party = await witness.party(node);
      const proxy = node.proxies.MONGODB_URL;
      const lost = proxy.trap(bytes, 'deaf', { arrives: true });
      const acting = act(party);
      await lost;
      proxy.cut();
      await proxy.set('up');
      await acting;
      await witness.settled(node, [party]);
    };

    it('whose response is lost after it has stored a claim: the key is refused, and gets its card a moment later', () =>
      loseAnswer('ledgerRevision', async (party) => {
        const { answer } = await witness.send(node, party, 'claimed');
        expect([answer?.status, answer?.error]).to.deep.equal([400, 'invalid_idempotency_key']);
      }));

    const answersLost = [
      // In BSON: a field name, a zero byte and true; a field name with a string of 36 characters.
      { what: 'a claim as completed', bytes: 'completed\u0000\u0001', key: 'completed' },
      { what: 'a claim on a delivery', bytes: '\u0002claim\u0000\u0025', key: null },
      { what: 'a delivery', bytes: 'attempts', key: null },
      { what: 'an attempt', bytes: 'httpStatus', key: null },
      { what: 'the document of a read model', bytes: '"heldReason"', key: null },
      { what: 'the checkpoint of the read models', bytes: '\u0012checkpoint', key: null },
      { what: 'the checkpoint of the relay', bytes: 'rebuiltTo', key: null },
    ];
    for (const { what, bytes, key } of sampleOf(answersLost, 2)) {
      it(`whose response is lost after it has stored ${what}`, () =>
        loseAnswer(bytes, async (party) => {
          const { answer } = await witness.send(node, party, key);
          expect(answer?.status).to.equal(201);
        }));
    }

    it('that takes no writes: says so, refuses keys at once, shows what there is, and goes on by itself', async () => {
      const url = cluster.environment['MONGODB_URL'] ?? '';
      const refusing = await RefusingMongo.before(url);
      try {
        const other = await cluster.start('api', 'up', { MONGODB_URL: refusing.urlFor(url) });
        await isReady(other);
        const party = await witness.party(node);
        const { answer } = await witness.send(node, party);
        const client = clientOf(other.baseUrl, party.key);
        const keyed = (key: string) =>
          client('/api/v1/cards', { body: aCard(), headers: { 'idempotency-key': key } });
        refusing.refuse({
          commands: ['insert', 'update', 'findAndModify', 'delete'],
          times: Infinity,
          refusal: { refuses: { code: 14_031, codeName: 'OutOfDiskSpace' } },
        });
        const took: number[] = [];
        for (let count = 0; count < 11; count += 1) {
          const began = performance.now();
          const reply = await keyed(`key ${count}`);
          took.push(performance.now() - began);
          expect([reply.status, reply.code]).to.deep.equal([400, 'invalid_idempotency_key']);
        }
        expect(took.toSorted((a, b) => a - b)[5]).to.be.lessThan(250);
        expect(await notReady(other)).to.include('mongodb');
        expect((await client(`/api/v1/cards/${answer?.card}`)).status).to.equal(200);
        expect((await client('/api/v1/cards')).status).to.equal(200);
        expect(refusing.caught.filter((command) => command === 'update probe').length).to.be.lessThan(5);
        refusing.refuse();
        await isReady(other);
        expect((await keyed('key 0')).status).to.equal(201);
        await other.stop();
      } finally {
        await refusing.close();
      }
    }).timeout(120_000);
  },
);
