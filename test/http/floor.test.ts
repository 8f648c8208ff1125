import { expect } from 'chai';
import { settableClock } from '../support/http/http.js';
import { eventually } from '../support/time/eventually.js';
import {
  aCard,
  startTestService,
  type Fields,
  type Reply,
  type RunningService,
  type Tenant,
} from '../support/http/service.js';

const steps = ['card_stock_prepared', 'card_written', 'envelope_addressed', 'packed', 'stamped', 'posted'];
const later = { arrive_on: '2026-06-10' };

interface FloorCard {
  readonly id: string;
  /** POSTs to a path below the card, expects the status, and returns the reply. */
  readonly post: (path: string, body?: object) => Promise<Reply>;
  readonly step: (step: string, status: string, machine?: string) => Promise<Reply>;
  /** Status, held_reason and steps as the owner sees them. */
  readonly seen: () => Promise<Fields>;
}

describe('the production floor', () => {
  let service: RunningService;
  const clock = settableClock('2026-03-02T15:00:00.000Z');
  before(async () => {
    service = await startTestService({}, clock);
  });
  after(() => service.stop());

  const cardOf = async (tenant: Tenant, changes: object = {}): Promise<FloorCard> => {
    const { id, status, text } = await tenant.api('/api/v1/cards', { body: aCard({ ...later, ...changes }) });
    expect(status, text).to.equal(201);
    const post: FloorCard['post'] = (path, body) =>
      service.operator(`/operator/v1/cards/${id}/${path}`, { method: 'POST', ...(body && { body }) });
    return {
      id,
      post,
      step: (step, wanted, machine) =>
        post(`steps/${step}`, { status: wanted, ...(machine !== undefined && { machine }) }),
      seen: async () => (await tenant.api(`/api/v1/cards/${id}`)).body,
    };
  };
  const outcome = ({ status, code, body }: Reply): unknown =>
    status === 200 ? body['status'] : [status, code];
  const forbidden = [409, 'invalid_transition'];

  /** Brings a card into a status through the floor's own endpoints. */
  const ways: Readonly<Record<string, (card: FloorCard) => Promise<unknown>>> = {
    pending: () => Promise.resolve(),
    blocked: (card) => card.post('hold', { reason: 'Ask Ada' }),
    cancelled: (card) => card.post('cancel'),
    queued: (card) => card.post('queue'),
    in_production: async (card) => [
      await card.post('queue'),
      await card.step('card_stock_prepared', 'in_progress'),
    ],
    written: (card) => through(card, 3),
    packed: (card) => through(card, 5),
    posted: (card) => through(card, 6),
    failed: async (card) => [
      await ways['in_production']?.(card),
      await card.post('fail', { reason: 'Torn' }),
    ],
  };
  const through = async (card: FloorCard, count: number): Promise<void> => {
    await card.post('queue');
    for (const step of steps.slice(0, count)) {
      await card.step(step, 'in_progress');
      await card.step(step, 'completed');
    }
  };

  it('takes a card through the six steps in order, and shows every one', async () => {
    const tenant = await service.tenant({ credits: 1 });
    const card = await cardOf(tenant);
    expect(outcome(await card.post('queue'))).to.equal('queued');
    const statuses: unknown[] = [];
    for (const [at, step] of steps.entries()) {
      clock.set(`2026-03-02T15:00:0${at}.000Z`);
      statuses.push(outcome(await card.step(step, 'in_progress', 'Robot 7')));
      const running = (await card.seen())['steps'];
      expect(running, step).to.deep.include({ step, status: 'in_progress', completed_at: null });
      clock.set(`2026-03-02T15:00:0${at}.500Z`);
      statuses.push(outcome(await card.step(step, 'completed', 'Robot 7')));
    }
    expect(statuses).to.deep.equal([
      'in_production', 'in_production', 'in_production', 'in_production', 'in_production', 'written',
      'written', 'written', 'written', 'packed', 'packed', 'posted',
    ]); // prettier-ignore
    const posted = await card.seen();
    expect(posted['steps']).to.deep.equal(
      steps.map((step, at) => ({
        step,
        status: 'completed',
        completed_at: `2026-03-02T15:00:0${at}.500+00:00`,
      })),
    );
    expect([
      posted['status'],
      posted['mailed_at'],
      posted['held_reason'],
      await tenant.balance(),
    ]).to.deep.equal(['posted', '2026-03-02T15:00:05.500+00:00', null, 0]);
    const [row] = (await tenant.api('/api/v1/cards?status=posted')).rows;
    expect([row?.['id'], row?.['mailed_at']]).to.deep.equal([card.id, posted['mailed_at']]);
    clock.set('2026-03-02T15:00:00.000Z');
  });

  const transitions: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
    // prettier-ignore
    pending: { queue: 'queued', hold: 'blocked', release: forbidden, fail: forbidden, start: forbidden, complete: forbidden, cancel: 'cancelled' },
    queued: {
      queue: forbidden,
      hold: 'blocked',
      release: forbidden,
      fail: forbidden,
      start: 'in_production',
      complete: forbidden,
      cancel: 'cancelled',
    },
    blocked: {
      queue: forbidden,
      hold: forbidden,
      release: 'pending',
      fail: forbidden,
      start: forbidden,
      complete: forbidden,
      cancel: 'cancelled',
    },
    in_production: {
      queue: forbidden,
      hold: forbidden,
      release: forbidden,
      fail: 'failed',
      cancel: [409, 'too_late_to_cancel'],
    },
    written: {
      queue: forbidden,
      hold: forbidden,
      release: forbidden,
      fail: 'failed',
      start: forbidden,
      complete: forbidden,
      cancel: [409, 'too_late_to_cancel'],
    },
    packed: {
      queue: forbidden,
      hold: forbidden,
      release: forbidden,
      fail: 'failed',
      start: forbidden,
      complete: forbidden,
      cancel: [409, 'too_late_to_cancel'],
    },
    posted: {
      queue: forbidden,
      hold: forbidden,
      release: forbidden,
      fail: forbidden,
      start: forbidden,
      complete: forbidden,
      cancel: [409, 'too_late_to_cancel'],
    },
    cancelled: {
      queue: forbidden,
      hold: forbidden,
      release: forbidden,
      fail: forbidden,
      start: forbidden,
      complete: forbidden,
      cancel: 'cancelled',
    },
    failed: {
      queue: forbidden,
      hold: forbidden,
      release: forbidden,
      fail: forbidden,
      start: forbidden,
      complete: forbidden,
      cancel: [409, 'too_late_to_cancel'],
    },
  };
  const verbs: Readonly<Record<string, (card: FloorCard) => Promise<Reply>>> = {
    queue: (card) => card.post('queue'),
    hold: (card) => card.post('hold', { reason: 'Because' }),
    release: (card) => card.post('release'),
    fail: (card) => card.post('fail', { reason: 'Because' }),
    start: (card) => card.step('card_stock_prepared', 'in_progress'),
    complete: (card) => card.step('card_stock_prepared', 'completed'),
    cancel: (card) => card.post('cancel'),
  };
  /** The credits that are paid for a card: one while it is scheduled, on the floor or posted. */
  const paid = (status: unknown): number =>
    ['blocked', 'cancelled', 'failed'].includes(String(status)) ? 0 : 1;

  for (const [status, outcomes] of Object.entries(transitions))
    it(`allows a ${status} card only its permitted transitions, each with the right credit`, async () => {
      for (const [verb, wanted] of Object.entries(outcomes)) {
        const tenant = await service.tenant({ credits: 1 });
        const card = await cardOf(tenant);
        await ways[status]?.(card);
        const before = await card.seen();
        expect([before['status'], await tenant.balance()], verb).to.deep.equal([status, 1 - paid(status)]);
        const reply = await verbs[verb]?.(card);
        expect(reply && outcome(reply), `${verb} of ${status}`).to.deep.equal(wanted);
        const after = await card.seen();
        if (Array.isArray(wanted)) expect(after, verb).to.deep.equal(before);
        else
          expect([after['status'], after['held_reason']]).to.deep.equal([
            wanted,
            wanted === 'blocked' ? 'Because' : null,
          ]);
        expect(await tenant.balance(), verb).to.equal(1 - paid(after['status']));
      }
    });

  it('starts a step only if those before it are completed, and ends it only if it has started', async () => {
    const card = await cardOf(await service.tenant());
    await card.post('queue');
    for (const step of steps.slice(1))
      expect(outcome(await card.step(step, 'in_progress')), step).to.deep.equal(forbidden);
    for (const status of ['completed', 'failed'])
      expect(outcome(await card.step('card_stock_prepared', status))).to.deep.equal(forbidden);
    await card.step('card_stock_prepared', 'in_progress');
    expect(outcome(await card.step('card_stock_prepared', 'in_progress'))).to.deep.equal(forbidden);
    expect(outcome(await card.step('card_written', 'in_progress'))).to.deep.equal(forbidden);
    await card.step('card_stock_prepared', 'completed');
    for (const status of ['in_progress', 'completed', 'failed'])
      expect(outcome(await card.step('card_stock_prepared', status)), status).to.deep.equal(forbidden);
  });
  it('puts a failed step in progress again when it is retried', async () => {
    const card = await cardOf(await service.tenant());
    await card.post('queue');
    const first = async () => Object(await card.seen())['steps'][0];
    const seen: unknown[] = [];
    for (const status of ['in_progress', 'failed', 'in_progress', 'completed']) {
      await card.step('card_stock_prepared', status);
      seen.push((await first()).status);
    }
    expect(seen).to.deep.equal(['in_progress', 'failed', 'in_progress', 'completed']);
    expect((await card.seen())['status']).to.equal('in_production');
  });
  it('responds with 404 to an unknown step', async () => {
    const card = await cardOf(await service.tenant());
    await card.post('queue');
    for (const step of ['written', 'CARD_WRITTEN', 'x'])
      expect(outcome(await card.step(step, 'in_progress')), step).to.deep.equal([404, 'not_found']);
  });

  it('releases a held card for a credit, and leaves it held on an empty balance', async () => {
    const tenant = await service.tenant({ credits: 0 });
    const card = await cardOf(tenant, { message: 'Привет' });
    const refused = await card.post('release');
    expect(outcome(refused)).to.deep.equal([402, 'no_credits']);
    expect((await card.seen())['status']).to.equal('blocked');
    await service.operator(`/operator/v1/organizations/${tenant.org}/credits`, { body: { amount: 1 } });
    expect(outcome(await card.post('release'))).to.equal('pending');
    expect([(await card.seen())['held_reason'], await tenant.balance()]).to.deep.equal([null, 0]);
    expect(outcome(await card.post('release'))).to.deep.equal(forbidden);
    expect(await tenant.balance()).to.equal(0);
  });
  it('responds to an operator’s cancel as to DELETE', async () => {
    const tenant = await service.tenant({ credits: 1 });
    const card = await cardOf(tenant);
    const { note, ...rest } = (await card.post('cancel')).body;
    expect(note).to.be.a('string');
    expect(rest).to.deep.equal({
      id: card.id,
      object: 'card',
      status: 'cancelled',
      cancelled: true,
      credits_refunded: 1,
    });
    expect((await card.post('cancel')).body['credits_refunded']).to.equal(0);
    expect(await tenant.balance()).to.equal(1);
  });

  describe('queues cards by itself', () => {
    it('within a minute if they are due at once, otherwise on their day; until then they are pending', async () => {
      const tenant = await service.tenant();
      const now = await cardOf(tenant, { arrive_on: undefined });
      const [dueLater, dayAfter] = [
        await cardOf(tenant, { arrive_on: '2026-03-16' }),
        await cardOf(tenant, { arrive_on: '2026-03-17' }),
      ];
      const held = await cardOf(tenant, { arrive_on: undefined, message: '🎉' });
      const status = async (card: FloorCard) => (await card.seen())['status'];
      expect([await status(now), await status(dueLater), await status(dayAfter)]).to.deep.equal([
        'pending',
        'pending',
        'pending',
      ]);
      // The last minute of March 9 in New York: arrival on March 16, less five mail days and two business
      // days.
      clock.set('2026-03-10T03:59:00.000Z');
      await eventually(async () => (await status(now)) === 'queued' && (await status(dueLater)) === 'queued');
      expect([await status(dayAfter), await status(held)]).to.deep.equal(['pending', 'blocked']);
      clock.set('2026-03-02T15:00:00.000Z');
    });
    it('at once if the clock was set back since they came', async () => {
      const tenant = await service.tenant();
      clock.jump(3 * 3_600_000);
      const card = await cardOf(tenant, { arrive_on: undefined });
      clock.jump(-3 * 3_600_000);
      await eventually(async () => (await card.seen())['status'] === 'queued');
    });
  });
});
