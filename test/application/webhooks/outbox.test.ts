import { expect } from 'chai';
import { InProcessDeliveryQueue } from '../../../adapters/memory/delivery-queue.js';
import type { DeliveryId, NewDelivery } from '../../../application/ports/delivery-log.js';
import { Hints } from '../../../application/webhooks/hints.js';
import { Outbox, type Planned } from '../../../application/webhooks/outbox.js';
import { OrganizationId, streamName, Uuid } from '../../../domain/ids.js';
import { logged } from '../../support/fixtures/logged-event.js';

const [large, small, other] = ['large', 'small', 'other'].map((name) => OrganizationId.parse(name));

const eventAt = (position: number) =>
  logged(streamName('card', `card-${position}`), { type: 'CardScheduled', data: {} }, position - 1);

const delivery = (org: OrganizationId | undefined, position: number, number: number): NewDelivery => ({
  id: `dlv_${position}-${number}` as DeliveryId,
  org: org ?? OrganizationId.parse('none'),
  endpoint: Uuid.parse(`endpoint-${number}`),
  event: `evt_${position}`,
  type: 'card.created',
  card: `card-${position}`,
  position: BigInt(position),
  occurredAt: 0,
  body: '{}',
  due: 0,
  allowed: 1,
  expires: 1,
  dropReason: null,
});

/** Events at these places of the log, each with as many deliveries of an organization. */
const planned = (
  ...events: readonly (readonly [position: number, org: OrganizationId | undefined, count: number])[]
): Planned => ({
  events: events.map(([position]) => eventAt(position)),
  rows: Promise.resolve(
    events.map(([position, org, count]) =>
      Array.from({ length: count }, (_, number) => delivery(org, position, number)),
    ),
  ),
});

/** An outbox, what it has stored in each request, and what it did in which order. */
const opened = (awaited = 0n) => {
  const stored: (readonly NewDelivery[])[] = [];
  const done: string[] = [];
  const outbox = new Outbox({
    log: {
      insert: (rows) => {
        stored.push(rows);
        done.push(`stored ${rows.length}`);
        return Promise.resolve(rows.map(({ id }) => id));
      },
    },
    hints: new Hints(new InProcessDeliveryQueue()),
    save: ({ position }) => {
      done.push(`saved ${position}`);
      return Promise.resolve();
    },
    awaited,
    onFailure: () => undefined,
  });
  return { outbox, stored, done };
};

describe('the outbox of the relay', () => {
  it('stores deliveries of others before the many of one organization that came first', async () => {
    const { outbox, stored } = opened();
    await outbox.add(planned([1, large, 1_000], [2, large, 1_000], [3, small, 1], [4, other, 60]));
    await outbox.flush();
    const [first = []] = stored;
    const of = (org: OrganizationId | undefined) => first.filter((row) => row.org === org).length;
    expect([of(large), of(small), of(other)]).to.deep.equal([55, 1, 44]);
  });

  it('stores the deliveries of an organization in the order of the log', async () => {
    const { outbox, stored } = opened();
    await outbox.add(planned([1, large, 150], [2, small, 150], [3, large, 150], [4, small, 150]));
    await outbox.flush();
    for (const org of [large, small]) {
      const rows = stored.flat().filter((row) => row.org === org);
      expect(rows.map(({ position }) => position)).to.deep.equal(
        rows.map(({ position }) => position).toSorted((a, b) => Number(a - b)),
      );
      expect(rows).to.have.length(300);
    }
  });

  it('saves no event as handled while a delivery of one before it is missing', async () => {
    const { outbox, done } = opened(2n);
    await outbox.add(planned([1, small, 1], [2, large, 250], [3, small, 1]));
    await outbox.flush();
    expect(done).to.deep.equal(['stored 100', 'stored 100', 'stored 52', 'saved 3']);
  });
});
