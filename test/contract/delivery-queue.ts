import { expect } from 'chai';
import type { DeliveryId } from '../../application/ports/delivery-log.js';
import type { DeliveryQueue, Hint } from '../../application/ports/delivery-queue.js';
import { derivedUuid } from '../../domain/ids.js';
import { eventually } from '../support/time/eventually.js';

export interface OpenedDeliveryQueue {
  readonly queue: DeliveryQueue;
  readonly now: () => number;
  readonly close: () => Promise<void>;
}

/** A hint for an endpoint of its own. */
export const aHint = (number: number, due: number, attempt = 1): Hint => ({
  endpoint: derivedUuid('endpoint of a hint', number),
  delivery: `dlv_${number}` as DeliveryId,
  attempt,
  due,
});

/** Listens in the background and keeps the hints that it hears. */
export const listener = (queue: DeliveryQueue) => {
  const stop = new AbortController();
  const heard: Hint[] = [];
  const listening = queue.listen((hint) => void heard.push(hint), stop.signal);
  return {
    heard,
    end: async (): Promise<void> => {
      stop.abort();
      await listening;
    },
  };
};

/** What every DeliveryQueue promises. `open` is called for each test. */
export const deliveryQueueContract = (name: string, open: () => Promise<OpenedDeliveryQueue>): void => {
  describe(`the delivery queue contract: ${name}`, () => {
    const using =
      (run: (opened: OpenedDeliveryQueue) => Promise<void>): (() => Promise<void>) =>
      async () => {
        const opened = await open();
        try {
          await run(opened);
        } finally {
          await opened.close();
        }
      };

    it(
      'delivers hints as they were announced',
      using(async ({ queue, now }) => {
        const worker = listener(queue);
        const hints = [aHint(1, now()), aHint(2, now(), 3), { ...aHint(3, now(), 0), delivery: null }];
        await queue.announce(hints);
        await eventually(() => worker.heard.length >= 3);
        expect(worker.heard).to.have.deep.members(hints);
        await worker.end();
      }),
    );

    it(
      'delivers a hint for later with its due time',
      using(async ({ queue, now }) => {
        const worker = listener(queue);
        const hint = aHint(1, now() + 80, 2);
        await queue.announce([hint]);
        await eventually(() => worker.heard.length > 0);
        expect(worker.heard[0]).to.deep.equal(hint);
        await worker.end();
      }),
    );

    it(
      'takes hints while nobody listens, and no hints at all',
      using(async ({ queue, now }) => {
        await queue.announce([]);
        await queue.announce([aHint(1, now())]);
      }),
    );

    it(
      'delivers hints only to those who still listen',
      using(async ({ queue, now }) => {
        const [first, second] = [listener(queue), listener(queue)];
        await first.end();
        await queue.announce([aHint(1, now())]);
        await eventually(() => second.heard.length > 0);
        expect(first.heard).to.deep.equal([]);
        await second.end();
      }),
    );

    it(
      'does not listen if the signal has aborted already',
      using(async ({ queue }) => {
        await queue.listen(() => undefined, AbortSignal.abort());
      }),
    );
  });
};
