import type { Channel } from 'amqplib';
import { expect } from 'chai';
import { countDeadLetters } from '../../adapters/rabbitmq/dead-letters.js';
import { topologyOf, type Topology } from '../../adapters/rabbitmq/topology.js';
import { withChannel } from '../adapters/rabbitmq/support.js';
import { healthCheckOf } from '../support/fixtures/health-checks.js';
import { canStartBroker, startBroker, type Broker } from '../support/servers/broker.js';
import { startCluster, type Cluster, type Node } from '../support/servers/cluster.js';
import { describeWithEngines } from '../support/runner/engines.js';
import { sampleOf } from '../support/runner/effort.js';
import { eventually } from '../support/time/eventually.js';
import { isReady, notReady, Witness, type Party } from '../support/servers/witness.js';

const waits = [40, 200];

/** The position of a published event. */
const positionOf = (content: Buffer): string => {
  const body: unknown = JSON.parse(content.toString());
  return typeof body === 'object' && body !== null && 'position' in body ? String(body.position) : '';
};

describeWithEngines(
  ['MONGODB_URL', 'RABBITMQ_URL'],
  'a service refuses no card and delivers every webhook once with a RabbitMQ',
  function () {
    let broker: Broker;
    let cluster: Cluster;
    let node: Node;
    let witness: Witness;
    let topology: Topology;
    let inbox: string;
    let boundAt: bigint;
    before(async function () {
      this.timeout(240_000);
      if (!canStartBroker) return this.skip();
      broker = await startBroker();
      cluster = await startCluster({ rabbit: broker.url });
      topology = topologyOf(waits, cluster.namespace);
      node = await cluster.start('all', 'up', { RECONCILE_AFTER: '1s' });
      witness = new Witness(cluster);
      await isReady(node);
      await node.prepared;
      inbox = `${cluster.namespace}inbox`;
      boundAt = (await cluster.store.head()).position;
      await onChannel(async (channel) => {
        await channel.assertQueue(inbox, { durable: true });
        await channel.bindQueue(inbox, topology.events, '#');
      });
    });
    afterEach(async () => {
      witness.abandonLoads();
      for (const proxy of Object.values(node.proxies)) await proxy.set('up');
    });
    after(async () => {
      if (!canStartBroker) return;
      await cluster.close();
      await witness.close();
      await broker.stop();
    });

    /** Talks to the broker directly, past the service and its proxies. */
    const onChannel = <T>(work: (channel: Channel) => Promise<T>): Promise<T> =>
      withChannel(broker.url, work);

    const heard: string[] = [];

    /** Waits until every event of the log has been published, in order; some perhaps more than once. */
    const isPublished = (): Promise<true> =>
      onChannel(async (channel) => {
        await channel.consume(inbox, (message) => void (message && heard.push(positionOf(message.content))), {
          noAck: true,
        });
        return eventually(async () => {
          const log = (await witness.log()).filter(({ position }) => position > boundAt);
          expect([...new Set(heard)].filter((position) => BigInt(position) > boundAt)).to.deep.equal(
            log.map(({ position }) => String(position)),
          );
          return true;
        });
      });

    const isNotReady = () =>
      eventually(async () => (await notReady(node))?.includes('rabbitmq'), {
        what: 'rabbitmq is missed',
      });

    /**
     * Sends cards while the fault comes and goes: none is refused, every webhook is delivered once, and every
     * event is published.
     */
    const underLoad = async (fault: (party: Party) => Promise<void>): Promise<void> => {
      const party = await witness.party(node);
      const place = witness.history.length;
      const load = witness.load([node], party);
      await witness.answered(8);
      await fault(party);
      await witness.answered(8);
      await load.stop();
      expect([...witness.answersSince(place)].toSorted()).to.deep.equal(['200', '201']);
      await witness.settled(node, [party]);
      await isPublished();
    };

    const faults: Readonly<Record<string, (party: Party) => Promise<void>>> = {
      'that is unavailable': async () => {
        await node.proxies.RABBITMQ_URL.set('down');
        expect(await notReady(node)).to.deep.equal(['rabbitmq']);
        await witness.answered(8);
        await node.proxies.RABBITMQ_URL.set('up');
      },
      'that repeatedly resets its connections': async () => {
        for (let count = 0; count < 4; count += 1) {
          node.proxies.RABBITMQ_URL.cut();
          await witness.answered(4);
        }
      },
      'that stalls': async () => {
        await node.proxies.RABBITMQ_URL.set('stalled');
        await isNotReady();
        await node.proxies.RABBITMQ_URL.set('up');
      },
      'whose confirms are lost after it has accepted the messages': async () => {
        await node.proxies.RABBITMQ_URL.set('deaf');
        await witness.answered(10);
        node.proxies.RABBITMQ_URL.cut();
        await node.proxies.RABBITMQ_URL.set('up');
      },
      'that is restarted while the service publishes': async () => {
        await broker.control('stop_app');
        await isNotReady();
        await broker.control('start_app');
      },
      'that closes every connection': async () => {
        for (let count = 0; count < 2; count += 1)
          await broker.control('close_all_connections', 'the test wants it');
      },
      'that raises an alarm and accepts no messages for a while': async () => {
        await broker.control('set_vm_memory_high_watermark', '0.000001');
        try {
          await isNotReady();
        } finally {
          await broker.control('set_vm_memory_high_watermark', '0.4');
        }
      },
      'that has lost its bindings': async () => {
        await onChannel(async (channel) => {
          for (const [lane, queue] of Object.entries(topology.workQueues))
            await channel.unbindQueue(queue, topology.workExchange, lane);
          for (const { queue, time } of topology.waitQueues)
            await channel.unbindQueue(queue, topology.waitExchange, String(time));
        });
      },
      'that repeats hints, in any order': async (party) => {
        for (let round = 0; round < 5; round += 1) {
          const { rows } = await node.operator(`/operator/v1/organizations/${party.org}/deliveries?limit=50`);
          const hints = rows.flatMap((row) =>
            [1, 2, 7].map((attempt) => ({
              endpoint: row['endpoint'],
              delivery: row['id'],
              attempt,
              due: Date.now() - attempt,
            })),
          );
          await onChannel(async (channel) => {
            for (const hint of hints)
              channel.publish(
                topology.workExchange,
                hint.attempt > 1 ? 'retry' : 'first',
                Buffer.from(JSON.stringify(hint)),
              );
          });
          await witness.answered(4);
        }
      },
      'that delivers unreadable hints, or hints of unknown deliveries': async () => {
        const unreadable = ['{"endpoint": 7', '', 'null', '\\u0000'];
        const unknown = {
          endpoint: '00000000-0000-4000-8000-000000000000',
          delivery: 'dlv_there-is-none',
          attempt: 1,
          due: 0,
        };
        await onChannel(async (channel) => {
          for (const lane of ['first', 'retry'])
            for (const content of [...unreadable, JSON.stringify(unknown)])
              channel.publish(topology.workExchange, lane, Buffer.from(content), { persistent: true });
        });
        const dead = () => countDeadLetters({ url: broker.url, waits, namespace: cluster.namespace });
        await eventually(async () => (await dead()) === 2 * unreadable.length);
      },
    };
    for (const [title, fault] of sampleOf(Object.entries(faults), 4))
      it(title, () => underLoad(fault)).timeout(240_000);

    it('whose health check of docker-compose.yml succeeds while it serves, and only then', async () => {
      const [program, ...args] = healthCheckOf('rabbitmq');
      expect(program).to.equal('rabbitmq-diagnostics');
      await broker.diagnose(...args);
      await broker.control('stop_app');
      const check = await broker.diagnose(...args).catch((error: unknown) => error);
      await broker.control('start_app');
      expect(check).to.be.instanceOf(Error);
      await broker.diagnose(...args);
    }).timeout(120_000);

    it('that recovers from an alarm, even if no other message follows', async () => {
      const [early, late] = [await witness.party(node), await witness.party(node)];
      await witness.send(node, late);
      await eventually(() => late.receiver.received.length === 1);
      await broker.control('set_vm_memory_high_watermark', '0.000001');
      const isRelayed = ({ org }: Party, count: number) =>
        eventually(
          async () =>
            (await node.operator(`/operator/v1/organizations/${org}/deliveries`)).rows.length === count,
        );
      try {
        // The broker tells each connection of the alarm when it publishes next.
        for (const count of [1, 2, 3]) {
          await witness.send(node, early);
          await isNotReady();
          await isRelayed(early, count);
        }
        await witness.send(node, late);
        await isRelayed(late, 2);
      } finally {
        await broker.control('set_vm_memory_high_watermark', '0.4');
      }
      // This is sooner than a sweep would find it.
      await eventually(() => late.receiver.received.length === 2, {
        what: 'the webhook of the alarm',
      });
      await witness.settled(node, [early, late]);
    }).timeout(240_000);
  },
);
