import { expect } from 'chai';
import { countDeadLetters, redriveDeadLetters } from '../../../adapters/rabbitmq/dead-letters.js';
import { RabbitDeliveryQueue } from '../../../adapters/rabbitmq/delivery-queue.js';
import { removeTopology, topologyOf } from '../../../adapters/rabbitmq/topology.js';
import type { Hint } from '../../../application/ports/deliveries.js';
import { aHint, deliveryQueueContract, listener } from '../../contract/delivery-queue.js';
import { describeWithEngines } from '../../support/runner/engines.js';
import { eventually } from '../../support/time/eventually.js';
import { Proxy } from '../../support/servers/proxy.js';
import { clock, depthOf, freshNamespace, isUp, shortWaits, withChannel, withQueue } from './support.js';

describeWithEngines(['RABBITMQ_URL'], 'hints on RabbitMQ', (url) => {
  deliveryQueueContract('RabbitMQ', async () => {
    const namespace = freshNamespace();
    const queue = new RabbitDeliveryQueue({ url, clock, waits: shortWaits, namespace });
    const close = async (): Promise<void> => {
      await queue.close();
      await withChannel(url, (channel) => removeTopology(channel, topologyOf(shortWaits, namespace)));
    };
    return { queue, now: () => clock.now(), close };
  });

  const proxied = async (
    run: (proxy: Proxy, direct: string) => Promise<void>,
    state: 'up' | 'down' = 'up',
  ): Promise<void> => {
    const proxy = await Proxy.before(url, 5672, state);
    try {
      await run(proxy, url);
    } finally {
      await proxy.close();
    }
  };

  it('wait in the queue of their time, retries apart from first attempts', () =>
    withQueue({ url }, async ({ queue, topology }) => {
      await isUp(queue);
      const now = clock.now();
      const soon = aHint(1, now + 400, 2);
      await queue.announce([soon, aHint(2, now), aHint(3, now, 2)]);
      expect(await depthOf(url, topology.lanes.first)).to.equal(1);
      expect(await depthOf(url, topology.lanes.retry)).to.equal(1);
      expect(await depthOf(url, topology.waits.find(({ time }) => time === 400)?.queue ?? '')).to.equal(1);
      const worker = listener(queue);
      await eventually(() => worker.heard.find((hint) => hint.delivery === soon.delivery));
      expect(clock.now()).to.be.at.least(now + 390);
      await worker.end();
    }));

  it('that can not be read go to the dead letters at once, and the others are heard', () =>
    withQueue({ url }, async ({ queue, topology, namespace }) => {
      await isUp(queue);
      await withChannel(
        url,
        async (channel) => void channel.publish(topology.work, 'first', Buffer.from('{"endpoint": 7')),
      );
      const worker = listener(queue);
      await queue.announce([aHint(1, clock.now())]);
      await eventually(() => worker.heard.length === 1);
      await eventually(async () => (await countDeadLetters({ url, waits: shortWaits, namespace })) === 1);
      expect(await redriveDeadLetters({ url, waits: shortWaits, namespace })).to.equal(0);
      await eventually(async () => (await countDeadLetters({ url, waits: shortWaits, namespace })) === 1);
      await worker.end();
    }));

  it('that nobody survives hearing become dead letters after five more tries, and can be sent again', () =>
    withQueue({ url }, async ({ queue, namespace }) => {
      await isUp(queue);
      const stop = new AbortController();
      let tries = 0;
      const failing = (): void => {
        tries += 1;
        throw new Error('this hint kills');
      };
      const listening = queue.listen(failing, stop.signal);
      const poison = aHint(1, clock.now());
      await queue.announce([poison]);
      await eventually(async () => (await countDeadLetters({ url, waits: shortWaits, namespace })) === 1, {
        within: 10_000,
      });
      expect(tries).to.equal(6);
      stop.abort();
      await listening;
      expect(await redriveDeadLetters({ url, waits: shortWaits, namespace })).to.equal(1);
      const worker = listener(queue);
      await eventually(() => worker.heard.length === 1);
      expect(worker.heard).to.deep.equal([poison]);
      await worker.end();
    }));

  it('are sent again where a binding was missing: a confirm alone does not mean that a queue has them', () =>
    withQueue({ url }, async ({ queue, topology }) => {
      await isUp(queue);
      await withChannel(url, (channel) => channel.unbindQueue(topology.lanes.first, topology.work, 'first'));
      const worker = listener(queue);
      const hint = aHint(1, clock.now());
      await queue.announce([hint]);
      await eventually(() => worker.heard.length === 1);
      expect(worker.heard).to.deep.equal([hint]);
      await worker.end();
    }));

  it('go on where a queue was deleted under its consumer', () =>
    withQueue({ url }, async ({ queue, topology }) => {
      await isUp(queue);
      const worker = listener(queue);
      await queue.announce([aHint(1, clock.now())]);
      await eventually(() => worker.heard.length === 1);
      await withChannel(url, (channel) => channel.deleteQueue(topology.lanes.first));
      await queue.announce([aHint(2, clock.now())]);
      await eventually(() => worker.heard.some((hint) => hint.delivery === aHint(2, 0).delivery), {
        within: 10_000,
      });
      await worker.end();
    }));

  it('are told without waiting while the broker is down at the start, and heard when it is there', () =>
    proxied(
      (proxy, direct) =>
        withQueue({ url: proxy.urlFor(url), direct }, async ({ queue }) => {
          const worker = listener(queue);
          const began = clock.now();
          for (const number of [1, 2, 3]) await queue.announce([aHint(number, began)]);
          expect(clock.now() - began).to.be.below(500);
          expect(queue.down).to.be.a('string');
          await proxy.set('up');
          await eventually(() => worker.heard.length === 3, { within: 10_000 });
          await worker.end();
        }),
      'down',
    ));

  it('are not lost where connections are cut while they are told', () =>
    proxied((proxy, direct) =>
      withQueue({ url: proxy.urlFor(url), direct }, async ({ queue }) => {
        await isUp(queue);
        const worker = listener(queue);
        const all = Array.from({ length: 300 }, (_, index) => aHint(index, clock.now()));
        for (let at = 0; at < all.length; at += 10) {
          const told = queue.announce(all.slice(at, at + 10));
          if (at % 100 === 50) proxy.cut();
          await told;
        }
        const heard = (): Set<Hint['delivery']> => new Set(worker.heard.map(({ delivery }) => delivery));
        await eventually(() => heard().size === all.length, { within: 15_000 });
        await worker.end();
      }),
    ));

  it('are kept where the broker falls silent, and heard when it speaks again', () =>
    proxied((proxy, direct) =>
      withQueue({ url: proxy.urlFor(url), direct, patience: 300 }, async ({ queue, troubles }) => {
        await isUp(queue);
        await proxy.set('deaf');
        const began = clock.now();
        await queue.announce([aHint(1, began)]);
        await queue.announce([aHint(2, began)]);
        expect(clock.now() - began).to.be.below(2_000);
        expect(troubles).to.not.deep.equal([]);
        await proxy.set('up');
        const worker = listener(queue);
        await eventually(() => new Set(worker.heard.map(({ delivery }) => delivery)).size === 2, {
          within: 15_000,
        });
        await worker.end();
      }),
    ));
});
