import { expect } from 'chai';
import { countDeadLetters, redriveDeadLetters } from '../../../adapters/rabbitmq/dead-letters.js';
import { RabbitDeliveryQueue } from '../../../adapters/rabbitmq/delivery-queue.js';
import { topologyOf } from '../../../adapters/rabbitmq/topology.js';
import { removeTopology } from '../../support/servers/topology.js';
import type { Hint } from '../../../application/ports/delivery-queue.js';
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

  it('keeps hints in the queue of their waiting time, and retries apart from first attempts', () =>
    withQueue({ url }, async ({ queue, topology }) => {
      await isUp(queue);
      const now = clock.now();
      const later = aHint(1, now + 5_000, 2);
      await queue.announce([later, aHint(2, now), aHint(3, now, 2)]);
      expect(await depthOf(url, topology.workQueues.first)).to.equal(1);
      expect(await depthOf(url, topology.workQueues.retry)).to.equal(1);
      const waitQueue = topology.waitQueues.find(({ time }) => time === 5_000)?.queue ?? '';
      expect(await depthOf(url, waitQueue)).to.equal(1);
      const announced = clock.now();
      const soon = aHint(4, announced + 400, 2);
      await queue.announce([soon]);
      const worker = listener(queue);
      await eventually(() => worker.heard.find((hint) => hint.delivery === soon.delivery));
      expect(clock.now()).to.be.at.least(announced + 390);
      await worker.end();
    }));

  it('moves a message that is no hint to the dead letters at once, and delivers the hints', () =>
    withQueue({ url }, async ({ queue, topology, namespace }) => {
      await isUp(queue);
      await withChannel(
        url,
        async (channel) =>
          void channel.publish(topology.workExchange, 'first', Buffer.from('{"endpoint": 7')),
      );
      const worker = listener(queue);
      await queue.announce([aHint(1, clock.now())]);
      await eventually(() => worker.heard.length === 1);
      await eventually(async () => (await countDeadLetters({ url, waits: shortWaits, namespace })) === 1);
      expect(await redriveDeadLetters({ url, waits: shortWaits, namespace })).to.equal(0);
      await eventually(async () => (await countDeadLetters({ url, waits: shortWaits, namespace })) === 1);
      await worker.end();
    }));

  it('moves a hint that keeps failing to the dead letters after five more tries, and can redrive it', () =>
    withQueue({ url }, async ({ queue, namespace }) => {
      await isUp(queue);
      const stop = new AbortController();
      let tries = 0;
      const failing = (): void => {
        tries += 1;
        throw new Error('this hint always fails');
      };
      const listening = queue.listen(failing, stop.signal);
      const poison = aHint(1, clock.now());
      await queue.announce([poison]);
      await eventually(async () => (await countDeadLetters({ url, waits: shortWaits, namespace })) === 1, {});
      expect(tries).to.equal(6);
      stop.abort();
      await listening;
      expect(await redriveDeadLetters({ url, waits: shortWaits, namespace })).to.equal(1);
      const worker = listener(queue);
      await eventually(() => worker.heard.length === 1);
      expect(worker.heard).to.deep.equal([poison]);
      await worker.end();
    }));

  it('sends a hint again if no queue is bound for it, although the broker confirms it', () =>
    withQueue({ url }, async ({ queue, topology }) => {
      await isUp(queue);
      await withChannel(url, (channel) =>
        channel.unbindQueue(topology.workQueues.first, topology.workExchange, 'first'),
      );
      const worker = listener(queue);
      const hint = aHint(1, clock.now());
      await queue.announce([hint]);
      await eventually(() => worker.heard.length === 1);
      expect(worker.heard).to.deep.equal([hint]);
      await worker.end();
    }));

  it('delivers hints again after a queue was deleted', () =>
    withQueue({ url }, async ({ queue, topology }) => {
      await isUp(queue);
      const worker = listener(queue);
      await queue.announce([aHint(1, clock.now())]);
      await eventually(() => worker.heard.length === 1);
      await withChannel(url, (channel) => channel.deleteQueue(topology.workQueues.first));
      await queue.announce([aHint(2, clock.now())]);
      await eventually(() => worker.heard.some((hint) => hint.delivery === aHint(2, 0).delivery), {});
      await worker.end();
    }));

  it('does not wait for a broker that is down at the start, and delivers the hints when it is up', () =>
    proxied(
      (proxy, direct) =>
        withQueue({ url: proxy.urlFor(url), direct }, async ({ queue }) => {
          const worker = listener(queue);
          const began = clock.now();
          for (const number of [1, 2, 3]) await queue.announce([aHint(number, began)]);
          expect(clock.now() - began).to.be.below(30_000);
          expect(queue.down).to.be.a('string');
          await proxy.set('up');
          await eventually(() => worker.heard.length === 3);
          await worker.end();
        }),
      'down',
    ));

  it('loses no hint if connections are cut while hints are sent', () =>
    proxied((proxy, direct) =>
      withQueue({ url: proxy.urlFor(url), direct }, async ({ queue }) => {
        await isUp(queue);
        const worker = listener(queue);
        const all = Array.from({ length: 300 }, (_, index) => aHint(index, clock.now()));
        for (let at = 0; at < all.length; at += 10) {
          const announced = queue.announce(all.slice(at, at + 10));
          if (at % 100 === 50) proxy.cut();
          await announced;
        }
        const heard = (): Set<Hint['delivery']> => new Set(worker.heard.map(({ delivery }) => delivery));
        await eventually(() => heard().size === all.length);
        await worker.end();
      }),
    ));

  it('keeps hints while the broker is silent, and delivers them when it responds again', () =>
    proxied((proxy, direct) =>
      withQueue({ url: proxy.urlFor(url), direct, confirmTimeout: 300 }, async ({ queue, errors }) => {
        await isUp(queue);
        await proxy.set('deaf');
        const began = clock.now();
        await queue.announce([aHint(1, began)]);
        await queue.announce([aHint(2, began)]);
        expect(clock.now() - began).to.be.below(30_000);
        expect(errors).to.not.deep.equal([]);
        await proxy.set('up');
        const worker = listener(queue);
        await eventually(() => new Set(worker.heard.map(({ delivery }) => delivery)).size === 2, {});
        await worker.end();
      }),
    ));
});
