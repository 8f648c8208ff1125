import type { Place } from '../../../application/ports/event-store.js';
import { expect } from 'chai';
import { createHash } from 'node:crypto';
import { MemoryDeliveries } from '../../support/memory/deliveries.js';
import { InProcessDeliveryQueue } from '../../../adapters/memory/delivery-queue.js';
import { changeCard } from '../../../application/cards/change-card.js';
import {
  replayEvents,
  deleteEndpoint,
  disableEndpoint,
  enableEndpoint,
  missingKeys,
  retryDelivery,
  sendTestEvent,
} from '../../../application/webhooks/webhooks.js';
import { expiredReason } from '../../../application/ports/delivery-log.js';
import type { DeliveryQueue, Hint } from '../../../application/ports/delivery-queue.js';
import { forwardClock } from '../../../application/timing/forward-clock.js';
import { cancel } from '../../../domain/card.js';
import type { CardCode } from '../../../domain/card-code.js';
import type { Uuid } from '../../../domain/ids.js';
import { isActive } from '../../../domain/webhook-endpoints.js';
import { openOffice, schedule, type Office } from '../../support/fixtures/webhooks.js';
import { org } from '../../support/fixtures/world.js';

const url = 'https://receiver.test/hook';

const statuses = async (office: Office) => (await office.rows()).map(({ status }) => status);

describe('delivering webhooks', () => {
  it('makes six attempts on schedule, with the same id and bytes and a fresh timestamp', async () => {
    const office = await openOffice();
    office.sender.manner = () => 500;
    await office.register(url);
    const stop = await office.start();
    await office.send();
    const began = office.world.clock.now();
    await office.until(() => office.sender.sent.length === 1);
    await office.world.clock.advance(schedule.reduce((sum, wait) => sum + wait, 0) + 86_400_000);
    const { sent } = office.sender;
    expect(sent.map(({ at }) => at - began)).to.deep.equal([
      0, 60_000, 360_000, 1_860_000, 9_060_000, 45_060_000,
    ]);
    expect(new Set(sent.map(({ delivery, body }) => `${delivery} ${body}`)).size).to.equal(1);
    expect(sent.map(({ signature }) => /^t=(\d+),/.exec(signature)?.[1])).to.deep.equal(
      sent.map(({ at }) => String(Math.floor(at / 1000))),
    );
    expect(await statuses(office)).to.deep.equal(['exhausted']);
    await stop();
    expect(office.reported).to.deep.equal([]);
  });

  it('makes the first attempt at once if the clock of the process that wrote the event is ahead', async () => {
    const office = await openOffice();
    await office.register(url);
    await office.send();
    office.world.clock.set(office.world.clock.now() - 20_000);
    const stop = await office.start();
    await office.until(() => office.sender.sent.length === 1);
    await stop();
  });

  it('lets no endpoint rest any longer because the clock is set back', async () => {
    const office = await openOffice();
    const { clock } = office.world;
    office.sender.manner = () => 500;
    await office.register(url);
    const stop = await office.start({ slots: { perEndpoint: 1 } });
    for (let sent = 1; sent <= 12; sent += 1) {
      await office.send();
      if (sent < 12) await clock.advance(6_000);
    }
    office.sender.manner = () => 200;
    const { length } = office.sender.sent;
    clock.set(clock.now() - 3_600_000);
    const last = await office.send();
    await clock.advance(11_000);
    expect(office.sender.sent.slice(length).some(({ body }) => body.includes(last))).to.equal(true);
    await stop();
  });

  it('makes retries on time after the clock is set back, also those that a wrong clock put off for a year', async () => {
    const office = await openOffice();
    const { clock } = office.world;
    office.sender.manner = () => 500;
    await office.register(url);
    const dueClock = forwardClock(clock);
    const stop = await office.start({ dueClock });
    await office.send();
    await clock.advance(1_000);
    expect(office.sender.sent).to.have.length(1);
    const [wait = 0] = schedule;
    clock.set(clock.now() - 3_600_000);
    await clock.advance(wait - 10_000);
    expect(office.sender.sent, 'not early').to.have.length(1);
    await clock.advance(11_000);
    expect(office.sender.sent, 'on time').to.have.length(2);
    await stop();
    clock.set(clock.now() - 365 * 86_400_000);
    const again = await office.start({ dueClock: forwardClock(clock) });
    await clock.advance(2_000);
    expect(office.sender.sent, 'after a restart').to.have.length(3);
    await again();
  });

  it('keeps to waits of a second, however often an endpoint fails', async () => {
    const office = await openOffice({ backoff: [1_000, 1_000, 1_000, 1_000, 1_000], disableAfter: 1_000 });
    office.sender.manner = () => 500;
    await office.register(url);
    const stop = await office.start();
    for (let count = 0; count < 4; count++) await office.send();
    const began = office.world.clock.now();
    await office.world.clock.advance(20_000);
    const latest = new Map<string, number>();
    const late = office.sender.sent.map(({ at, delivery }) => {
      const due = (latest.get(delivery) ?? began - 1_000) + 1_000;
      latest.set(delivery, at);
      return at - due;
    });
    expect(late).to.have.length(24);
    expect([Math.min(...late) >= 0, Math.max(...late) <= 400], late.join()).to.deep.equal([true, true]);
    await stop();
  });

  it('says of a test event that was not sent that too many names are being looked up', async () => {
    const office = await openOffice();
    const { id } = await office.register(url);
    office.sender.send = () => Promise.resolve('withheld');
    expect(await sendTestEvent(office.keeping, org, id)).to.deep.equal({
      httpStatus: null,
      error: 'too many host names are being looked up just now: try again in a minute',
      body: null,
      duration: 0,
    });
  });

  for (const [what, ask] of [
    ['a retry', (office, _, delivery) => retryDelivery(office.keeping, org, delivery)],
    ['an enabling', (office, id) => enableEndpoint(office.keeping, org, id, office.world.command())],
    ['a test', (office, id) => sendTestEvent(office.keeping, org, id)],
  ] as const satisfies readonly (readonly [
    string,
    (office: Office, id: string, delivery: string) => Promise<unknown>,
  ])[])
    it(`ends the rest of an endpoint whose name did not resolve at once with ${what} by hand`, async () => {
      const office = await openOffice();
      office.sender.manner = () => 'unresolved';
      const { id } = await office.register(url);
      const stop = await office.start();
      await office.send();
      const attempts = () => office.sender.sent.filter(({ delivery }) => !delivery.includes('test'));
      await office.until(async () => (await office.rows())[0]?.attempts.length === 1);
      await office.send();
      await office.until(async () => (await office.rows()).length === 2);
      await office.world.clock.advance(1_000);
      expect(attempts()).to.have.length(1);
      office.sender.manner = () => 200;
      await ask(office, id, attempts()[0]?.delivery ?? '');
      await office.until(async () => (await statuses(office)).includes('delivered'));
      await stop();
    });

  it('makes no attempt after the first 2xx', async () => {
    const office = await openOffice();
    office.sender.manner = (_, attempt) => (attempt === 2 ? 204 : 503);
    await office.register(url);
    const stop = await office.start();
    await office.send();
    await office.until(() => office.sender.sent.length === 1);
    await office.world.clock.advance(86_400_000);
    expect(office.sender.sent).to.have.length(2);
    expect(await statuses(office)).to.deep.equal(['delivered']);
    await stop();
  });

  it('disables an endpoint once, however many attempts fail at once', async () => {
    const office = await openOffice();
    office.sender.manner = () => 500;
    await office.register(url);
    for (let count = 0; count < 60; count++) await office.send();
    const stop = await office.start({ slots: { perEndpoint: 50, opening: 50 } });
    await office.until(async () => !(await office.endpoints()).every(isActive));
    await office.world.clock.advance(120_000);
    expect((await office.webhookEvents()).map(({ type }) => type)).to.deep.equal([
      'EndpointRegistered',
      'EndpointDisabled',
    ]);
    expect((await office.endpoints())[0]?.disabledReason).to.match(
      /^\d+ failures in a row, the last one: HTTP 500$/,
    );
    const attempts = (await office.rows()).reduce((sum, row) => sum + row.attempts.length, 0);
    expect(attempts).to.equal(office.sender.sent.length).and.to.be.within(20, 70);
    await stop();
  });

  it('leaves an endpoint enabled that fails nineteen times, then succeeds, then fails', async () => {
    const office = await openOffice({ backoff: [3_600_000] });
    office.sender.manner = () => (office.sender.sent.length === 20 ? 200 : 500);
    await office.register(url);
    const stop = await office.start({ slots: { perEndpoint: 1 } });
    for (let count = 1; count <= 21; count++) {
      await office.world.clock.advance(5_000);
      await office.send();
      await office.until(
        async () =>
          office.sender.sent.length === count &&
          (await office.rows()).reduce((sum, row) => sum + row.attempts.length, 0) === count,
      );
    }
    expect((await office.endpoints()).every(isActive)).to.equal(true);
    expect([...(await office.deliveries.gates.health(org)).values()]).to.deep.include({
      failureCount: 20,
      consecutiveFailures: 1,
      lastSuccessAt: office.world.clock.now() - 5_000,
    });
    await stop();
  });

  it('pauses retries of a disabled endpoint, resumes those inside the retry window, and drops the others', async () => {
    const office = await openOffice({ disableAfter: 1 });
    office.sender.manner = () => 500;
    const { id } = await office.register(url);
    const stop = await office.start();
    await office.send();
    await office.until(async () => !(await office.endpoints()).every(isActive));
    await office.world.clock.advance(3_600_000);
    expect(office.sender.sent).to.have.length(1);
    office.sender.manner = () => 200;
    await enableEndpoint(office.keeping, org, id, office.world.command());
    await office.until(async () => (await statuses(office))[0] === 'delivered');
    office.sender.manner = () => 500;
    await office.send();
    await office.until(async () => !(await office.endpoints()).every(isActive));
    await office.send();
    await office.until(async () => (await office.rows()).length === 3);
    await office.world.clock.advance(46_000_000);
    const [, second, third] = await office.rows();
    expect([second?.status, second?.dropReason]).to.deep.equal(['dropped', expiredReason]);
    expect([third?.status, third?.dropReason]).to.deep.equal([
      'dropped',
      'the endpoint is disabled: 1 failures in a row, the last one: HTTP 500',
    ]);
    await enableEndpoint(office.keeping, org, id, office.world.command());
    office.sender.manner = () => 200;
    expect(
      await replayEvents(office.keeping, org, id, { position: 0n }, new AbortController().signal),
    ).to.equal(2);
    await office.until(async () => (await statuses(office)).every((status) => status === 'delivered'));
    await stop();
  });

  it('replays of what may have been accepted and removed only what it still knows', async () => {
    const office = await openOffice({ keep: 86_400_000 });
    const { id } = await office.register(url);
    const stop = await office.start();
    await office.send();
    await office.until(async () => (await statuses(office))[0] === 'delivered');
    const { clock } = office.world;
    const replay = () =>
      replayEvents(office.keeping, org, id, { position: 0n }, new AbortController().signal);
    office.sender.manner = () => 500;
    await office.send();
    await clock.advance(46_000_000);
    await office.until(async () => (await statuses(office)).includes('exhausted'));
    await clock.advance(office.keeping.keep - 40_000_000);
    await office.until(async () => (await office.rows()).length === 1);
    office.sender.manner = () => 200;
    expect([await replay(), await replay()]).to.deep.equal([1, 0]);
    await office.until(async () => (await statuses(office)).join() === 'delivered');
    await stop();
  });

  it('reopens an endpoint that has tripped and is not disabled yet', async () => {
    const office = await openOffice({ disableAfter: 1 });
    office.sender.manner = () => 500;
    const { id } = await office.register(url);
    let disable: () => void = () => undefined;
    const late = new Promise<void>((resolve) => (disable = resolve));
    const stop = await office.start({
      disable: async (tripped) => {
        await late;
        await disableEndpoint(office.keeping, tripped);
      },
    });
    await office.send();
    await office.until(async () => (await office.deliveries.gates.tripped()).length === 1);
    office.sender.manner = () => 200;
    await enableEndpoint(office.keeping, org, id, office.world.command());
    disable();
    await office.send();
    await office.until(async () => (await statuses(office)).includes('delivered'));
    await office.world.clock.advance(60_000);
    expect(await statuses(office)).to.deep.equal(['delivered', 'delivered']);
    expect((await office.endpoints()).every(isActive)).to.equal(true);
    await stop();
  });

  it('does not wait for endpoints that can not be disabled yet', async () => {
    const office = await openOffice({ disableAfter: 2 });
    office.sender.manner = () => 500;
    await office.register(url, ['card.created']);
    const { id } = await office.register('https://cancels.test/', ['card.cancelled']);
    const stop = await office.start({ disable: async () => undefined });
    const code = (await office.send()) as CardCode;
    await office.send();
    await office.until(async () => (await office.deliveries.gates.tripped()).length === 1);
    const byKey = { ...office.world.command(), actor: { kind: 'key' as const, id: 'a-key' } };
    await changeCard(office.world, { code, org }, byKey, cancel);
    const statusOf = async () => (await office.rows()).find(({ endpoint }) => endpoint === id);
    await office.until(async () => (await statusOf())?.attempts.length === 1);
    await stop();
    office.sender.manner = () => 200;
    const logIsAway = new Promise<void>(() => undefined);
    const stopAgain = await office.start({ disable: () => logIsAway });
    await office.world.clock.advance(60_000);
    await office.until(async () => (await statusOf())?.status === 'delivered');
    void stopAgain();
  });

  it('reads the log for a replay from the time on, and only until the signal aborts', async () => {
    const office = await openOffice();
    const { id } = await office.register(url, ['card.mailed']);
    const { store, clock } = office.world;
    for (let sent = 0; sent < 3; sent += 1) await office.send();
    await clock.advance(3_600_000);
    const since = clock.now();
    const before = (await store.head()).position;
    await office.send();
    const places: bigint[] = [];
    const watched = Object.assign(Object.create(store) as typeof store, {
      head: () => store.head(),
      positionBefore: (place: Place) => store.positionBefore(place),
      readLog: (after: bigint, limit: number) => {
        places.push(after);
        return store.readLog(after, limit);
      },
    });
    const replay = (time: number, signal: AbortSignal) =>
      replayEvents({ ...office.keeping, store: watched }, org, id, { time }, signal);
    const { signal } = new AbortController();
    expect(await replay(since, signal)).to.equal(0);
    expect(places).to.deep.equal([before]);
    expect(await replay(since + 3_600_000, signal)).to.equal(0);
    expect(await replay(since, AbortSignal.abort())).to.equal(null);
    expect(places).to.deep.equal([before]);
  });

  it('delivers to the subscriptions at the time of the event', async () => {
    const office = await openOffice();
    await office.send();
    const { id: early } = await office.register('https://early.test/', ['card.created']);
    const { id: cancels } = await office.register('https://cancels.test/', ['card.cancelled']);
    const code = await office.send();
    const { id: late } = await office.register('https://late.test/');
    await deleteEndpoint(office.keeping, org, early, office.world.command());
    const target = { code: code as CardCode, org };
    const byKey = { ...office.world.command(), actor: { kind: 'key' as const, id: 'a-key' } };
    await changeCard(office.world, target, byKey, cancel);
    const stop = await office.start();
    await office.until(async () => (await office.rows()).length === 3 && office.sender.sent.length === 2);
    expect((await office.rows()).map(({ endpoint, type, status }) => [endpoint, type, status])).to.deep.equal(
      [
        [early, 'card.created', 'dropped'],
        [cancels, 'card.cancelled', 'delivered'],
        [late, 'card.cancelled', 'delivered'],
      ],
    );
    await stop();
  });

  it('knows which master keys are still needed', async () => {
    const office = await openOffice();
    await office.register(url);
    const stop = await office.start();
    const other = [{ id: 'other', key: Buffer.alloc(32, 2) }] as const;
    const { deliveries, keeping } = office;
    const { clock, keys } = keeping;
    expect(await missingKeys({ deliveries, keys, clock })).to.deep.equal([]);
    expect(await missingKeys({ deliveries, keys: other, clock })).to.deep.equal(['k']);
    await stop();
  });

  it('sends nothing about a cancel by the operator', async () => {
    const office = await openOffice();
    await office.register(url, ['card.cancelled']);
    const target = { code: (await office.send()) as CardCode, org };
    await changeCard(office.world, target, office.world.command(), cancel);
    const stop = await office.start();
    await office.world.clock.advance(1_000);
    expect(await office.rows()).to.deep.equal([]);
    await stop();
  });

  it('makes every delivery once, even if the relay starts again at an earlier position', async () => {
    const office = await openOffice();
    await office.register(url);
    const stop = await office.start();
    for (let count = 0; count < 5; count++) await office.send();
    await office.until(() => office.sender.sent.length === 5);
    await stop();
    const before = await office.rows();
    const again = {
      all: () => Promise.resolve([]),
      load: () => Promise.resolve({ position: 0n, state: { rebuiltTo: '0' } }),
      save: () => Promise.resolve(),
    };
    const stopAgain = await office.start({ checkpoints: again });
    await office.world.clock.advance(1_000);
    expect(await office.rows()).to.deep.equal(before);
    expect(office.sender.sent).to.have.length(5);
    await stopAgain();
  });

  it('makes lost deliveries again, drops those past the retry window and skips deleted endpoints', async () => {
    const office = await openOffice();
    await office.register(url);
    const { id: deleted } = await office.register('https://deleted.test/');
    await office.send();
    await office.world.clock.advance(50_000_000);
    await office.send();
    await deleteEndpoint(office.keeping, org, deleted, office.world.command());
    office.deliveries = new MemoryDeliveries();
    const stop = await office.start();
    await office.until(
      async () =>
        (await office.rows()).filter(({ status }) => status === 'pending').length === 0 &&
        office.sender.sent.length > 0,
    );
    const rows = (await office.rows()).filter(({ endpoint }) => endpoint !== deleted);
    expect(rows.map(({ status, dropReason }) => [status, dropReason])).to.deep.equal([
      ['dropped', 'the event is older than the retry window'],
      ['delivered', null],
    ]);
    expect(office.sender.sent.map((sent) => sent.url)).to.deep.equal([url]);
    await stop();
  });

  it('makes no delivery again that would have been removed by now', async () => {
    const office = await openOffice();
    await office.register(url);
    await office.send();
    await office.world.clock.advance(31 * 86_400_000);
    const kept = await office.send();
    office.deliveries = new MemoryDeliveries();
    const stop = await office.start();
    await office.until(async () => (await statuses(office)).length > 0 && office.sender.sent.length > 0);
    expect((await office.rows()).map(({ card }) => card)).to.deep.equal([kept]);
    await stop();
  });

  it('repeats an attempt that died with its process, with the same id and number', async () => {
    const office = await openOffice();
    await office.register(url);
    const memory = office.deliveries as MemoryDeliveries;
    // The receiver responds; the process dies before it records that.
    memory.record = () => new Promise(() => undefined);
    await office.start();
    await office.send();
    await office.until(() => office.sender.sent.length === 1);
    office.deliveries = memory.restarted();
    const stop = await office.start();
    await office.until(async () => (await statuses(office))[0] === 'delivered');
    expect(new Set(office.sender.sent.map(({ delivery, body }) => `${delivery} ${body}`)).size).to.equal(1);
    expect(office.sender.sent).to.have.length(2);
    expect((await office.rows())[0]?.attempts).to.have.length(1);
    await stop();
  });

  it('records an attempt late instead of making it twice while the store is unavailable', async () => {
    const office = await openOffice();
    await office.register(url);
    const memory = office.deliveries as MemoryDeliveries;
    office.sender.manner = () => {
      memory.away = true;
      return 200;
    };
    const stop = await office.start();
    await office.send();
    await office.until(() => office.sender.sent.length === 1);
    await office.world.clock.advance(10_000);
    memory.away = false;
    await office.world.clock.advance(2_000);
    expect(await statuses(office)).to.deep.equal(['delivered']);
    expect(office.sender.sent).to.have.length(1);
    expect(office.reported).to.not.deep.equal([]);
    await stop();
  });

  it('starts no attempt for an endpoint that was deleted', async () => {
    const office = await openOffice();
    office.sender.manner = () => null;
    const { id } = await office.register(url);
    const stop = await office.start({ slots: { perEndpoint: 2 } });
    for (let count = 0; count < 10; count++) await office.send();
    await office.until(() => office.sender.sent.length === 2);
    await deleteEndpoint(office.keeping, org, id, office.world.command());
    await office.world.clock.advance(86_400_000);
    expect(office.sender.sent).to.have.length(2);
    expect(
      (await office.rows()).every(
        ({ status, dropReason }) => status === 'dropped' && dropReason === 'the endpoint was deleted',
      ),
    ).to.equal(true);
    await stop();
  });

  it('aborts an attempt that does not end when the service stops, and repeats it after the next start', async () => {
    const office = await openOffice();
    office.sender.manner = () => null;
    await office.register(url);
    const stop = await office.start();
    await office.send();
    await office.until(() => office.sender.sent.length === 1);
    await stop();
    const [row] = await office.rows();
    expect([row?.status, row?.attempts]).to.deep.equal(['pending', []]);
    office.sender.manner = () => 200;
    const stopAgain = await office.start();
    await office.until(async () => (await statuses(office))[0] === 'delivered');
    await stopAgain();
  });

  it('stops at once even while it looks for waiting deliveries', async () => {
    const office = await openOffice();
    let look = (): void => undefined;
    const gate = new Promise<void>((resolve) => (look = resolve));
    class SlowToLook extends MemoryDeliveries {
      override async dropExpired(now: number): Promise<number> {
        await gate;
        return super.dropExpired(now);
      }
    }
    office.deliveries = new SlowToLook();
    const stop = await office.start();
    const asked = office.world.clock.now();
    const stopped = stop().then(() => office.world.clock.now() - asked);
    look();
    expect(await stopped).to.be.below(60_000);
  });

  it('does not let an endpoint that never responds delay the others', async () => {
    const office = await openOffice({ disableAfter: 1_000_000 });
    office.sender.manner = ({ url: to }) => (to.includes('dead') ? null : 200);
    await office.register('https://dead.test/', ['card.created']);
    for (let count = 0; count < 300; count++) await office.send();
    const others = ['a', 'b', 'c'];
    for (const name of others) await office.register(`https://${name}.test/`);
    const stop = await office.start({ slots: { inFlight: 60 } });
    await office.until(() => office.sender.sent.length === 10);
    for (let count = 0; count < 50; count++) {
      const before = office.world.clock.now();
      await office.send();
      await office.until(
        () =>
          office.sender.sent.filter(({ url: to }) => !to.includes('dead')).length ===
          (count + 1) * others.length,
      );
      // Time stands still, so nothing has waited for the endpoint that hangs.
      expect(office.world.clock.now()).to.equal(before);
    }
    expect(office.sender.sent.filter(({ url: to }) => to.includes('dead'))).to.have.length(10);
    await stop();
  });

  it('makes retries on time while an endpoint can’t be disabled', async () => {
    const office = await openOffice({ disableAfter: 2 });
    office.sender.manner = ({ url: to }, attempt) => (to.includes('bad') || attempt === 1 ? 500 : 200);
    await office.register('https://bad.test/');
    let goOn: () => void = () => undefined;
    const eventsAreBack = new Promise<void>((resolve) => (goOn = resolve));
    const stop = await office.start({ disable: () => eventsAreBack });
    await office.send();
    await office.send();
    await office.until(() => office.sender.sent.length === 2);
    await office.register('https://other.test/');
    await office.world.clock.advance(65_000); // A sweep has run, and its events are awaited.
    await office.send();
    await office.world.clock.advance(60_000);
    const other = office.sender.sent.filter(({ url: to }) => to.includes('other'));
    goOn();
    await stop();
    expect(other.map(({ at }) => at - (other[0]?.at ?? 0))).to.deep.equal([0, 60_000]);
  });

  it('keeps delivering to every endpoint, however close together their attempts end', async () => {
    const office = await openOffice();
    const steps = async (count: number): Promise<void> => {
      for (let step = 0; step < count; step++) await Promise.resolve();
    };
    /**
     * Records in groups, as a store does that commits them together; callers that waited for one go on within
     * a few steps of each other.
     */
    class Grouping extends MemoryDeliveries {
      #commit: Promise<unknown> | null = null;
      #recorded = 0;

      override async record(
        ...attempt: Parameters<MemoryDeliveries['record']>
      ): ReturnType<MemoryDeliveries['record']> {
        this.#commit ??= steps(1_000).then(() => (this.#commit = null));
        const apart = this.#recorded++ % 13;
        await this.#commit;
        await steps(apart);
        return super.record(...attempt);
      }
    }
    office.deliveries = new Grouping();
    const endpoints = 10;
    for (let index = 0; index < endpoints; index++) await office.register(`https://receiver-${index}.test/`);
    for (let count = 0; count < 50; count++) await office.send();
    const stop = await office.start({ slots: { perEndpoint: 1 } });
    // Time stands still, so nothing has waited for a sweep.
    await office.until(() => office.sender.sent.length === endpoints * 50);
    await stop();
  });

  describe('with hints that are lost', () => {
    /** A queue that loses every hint. */
    const deaf: DeliveryQueue = {
      announce: () => Promise.resolve(),
      listen: (_, signal) =>
        new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true })),
    };

    it('makes each attempt once and at most a minute late, however many workers look for it', async () => {
      const office = await openOffice();
      office.sender.manner = (_, attempt) => (attempt === 1 ? 500 : 200);
      await office.register(url);
      const stops = [await office.start({ queue: deaf }), await office.start({ queue: deaf })];
      await office.world.clock.advance(7_000);
      const began = office.world.clock.now();
      for (let count = 0; count < 5; count++) {
        await office.send();
        await office.world.clock.advance(10_000);
      }
      await office.world.clock.advance(130_000);
      const { sent } = office.sender;
      expect(await statuses(office)).to.deep.equal(Array.from({ length: 5 }, () => 'delivered'));
      expect(new Set(sent.map(({ delivery }) => delivery)).size).to.equal(5);
      expect(sent).to.have.length(10);
      const lateness = (await office.rows()).map(
        ({ attempts, occurredAt }) => (attempts[0]?.at ?? Infinity) - occurredAt,
      );
      expect(Math.max(...lateness)).to.be.within(1, 60_000);
      expect(Math.max(...sent.map(({ at }) => at)) - began, 'retries come in time').to.be.at.most(
        10_000 * 4 + 60_000 + 60_000,
      );
      for (const stop of stops) await stop();
      expect(office.reported).to.deep.equal([]);
    });

    it('makes an attempt again when the claim of a dead process expires', async () => {
      const office = await openOffice();
      const { clock } = office.world;
      /** Claims of a store that other processes use too: the claim of one that died ends in time. */
      class Shared extends MemoryDeliveries {
        over: ReadonlyMap<Uuid, number> = new Map();

        override async dueTimes(): Promise<ReadonlyMap<Uuid, number>> {
          return new Map([...this.over, ...(await super.dueTimes())]);
        }
      }
      const deliveries = new Shared();
      office.deliveries = deliveries;
      const { id } = await office.register(url);
      const stopRelay = await office.start({ freshAttempts: () => 0 });
      await office.send();
      await office.until(async () => (await office.rows()).length === 1);
      const now = clock.now();
      const [claim] = (await deliveries.claims.claim(new Map([[id, 1]]), now)).get(id)?.claimed ?? [];
      if (claim === undefined) throw new Error('one is due');
      deliveries.over = new Map([[id, now + 40_000]]);
      await stopRelay();
      const stop = await office.start({ queue: deaf });
      await clock.advance(now + 39_000 - clock.now());
      await deliveries.claims.release(claim);
      await clock.advance(500);
      expect(office.sender.sent).to.deep.equal([]);
      await clock.advance(500);
      expect(office.sender.sent.map(({ at }) => at - now)).to.deep.equal([40_000]);
      await stop();
    });
  });

  describe('with hints that are out of date', () => {
    /** Keeps every hint, and can announce all of them again as if they were due. */
    class Echoing extends InProcessDeliveryQueue {
      readonly #told: Hint[] = [];

      override announce(hints: readonly Hint[]): Promise<void> {
        this.#told.push(...hints);
        return super.announce(hints);
      }

      async again(now: number): Promise<number> {
        const stale = this.#told.map((hint) => ({ ...hint, due: Math.min(hint.due, now) }));
        await super.announce(stale);
        return stale.length;
      }
    }

    const opened = async () => {
      const queue = new Echoing();
      const office = await openOffice({ queue, disableAfter: 2 });
      const { clock } = office.world;
      const echo = async (): Promise<void> => {
        expect(await queue.again(clock.now())).to.be.above(0);
        await clock.advance(0);
        await queue.again(clock.now());
        await clock.advance(1);
      };
      return { office, echo, clock, sent: () => office.sender.sent.length };
    };

    it('makes no attempt early, none while an endpoint is disabled, and none twice after it is enabled again', async () => {
      const { office, echo, clock, sent } = await opened();
      office.sender.manner = () => 500;
      const { id } = await office.register(url);
      const stop = await office.start();
      await office.send();
      await office.until(() => sent() === 1);
      await echo();
      expect(sent(), 'before the retry is due').to.equal(1);
      await clock.advance(60_000);
      await office.until(async () => sent() === 2 && !(await office.endpoints()).every(isActive));
      await echo();
      expect(sent(), 'while it is off').to.equal(2);
      office.sender.manner = () => 200;
      await enableEndpoint(office.keeping, org, id, office.world.command());
      await echo();
      expect(sent(), 'before the next retry is due').to.equal(2);
      await clock.advance(300_000);
      await echo();
      expect(sent()).to.equal(3);
      expect(await statuses(office)).to.deep.equal(['delivered']);
      await stop();
    });

    it('makes one attempt for a manual retry, and none after it has succeeded', async () => {
      const { office, echo, clock, sent } = await opened();
      office.sender.manner = (_, attempt) => (attempt < 2 ? 500 : 200);
      await office.register(url);
      const stop = await office.start();
      await office.send();
      await office.until(() => sent() === 1);
      const [delivery] = await office.rows();
      await retryDelivery(office.keeping, org, delivery?.id ?? '');
      await echo();
      await office.until(async () => (await statuses(office))[0] === 'delivered');
      await echo();
      await clock.advance(400_000);
      expect(sent()).to.equal(2);
      await stop();
    });

    it('sends nothing meant for a deleted endpoint to the one that has its URL now', async () => {
      const { office, echo, clock, sent } = await opened();
      office.sender.manner = () => 500;
      const { id } = await office.register(url);
      const stop = await office.start();
      await office.send();
      await office.until(() => sent() === 1);
      await deleteEndpoint(office.keeping, org, id, office.world.command());
      const { id: next } = await office.register(url);
      expect(next).to.not.equal(id);
      await echo();
      await clock.advance(400_000);
      expect(sent()).to.equal(1);
      office.sender.manner = () => 200;
      await office.send();
      await office.until(async () => (await statuses(office)).length === 2 && sent() === 2);
      await echo();
      expect(sent()).to.equal(2);
      expect(await statuses(office)).to.deep.equal(['dropped', 'delivered']);
      await stop();
    });
  });

  it('accounts for every event and endpoint through random failures and restarts', async () => {
    const office = await openOffice({ disableAfter: 10 });
    const chance = (text: string) => createHash('sha1').update(text).digest().readUInt32BE(0) % 100;
    office.sender.manner = ({ url: to, headers }, attempt) => {
      const drawn = chance(`${to} ${String(headers['service-delivery'])} ${attempt}`);
      if (to.includes('bad')) return drawn < 85 ? 500 : 200;
      return drawn < 20 ? 503 : drawn < 22 ? null : 200;
    };
    const names = ['good', 'bad', 'other'];
    const ids = [];
    for (const name of names) ids.push((await office.register(`https://${name}.test/`)).id);
    const cards = 400;
    let stop = await office.start();
    for (let count = 0; count < cards; count++) {
      await office.send();
      if (count % 50 === 49) await office.world.clock.advance(600_000);
      if (count % 130 === 129) {
        await stop();
        office.deliveries = (office.deliveries as MemoryDeliveries).restarted();
        stop = await office.start();
      }
    }
    await office.world.clock.advance(100_000_000);
    await stop();
    const rows = await office.rows();
    expect(new Set(rows.map(({ event, endpoint }) => `${event} ${endpoint}`)).size).to.equal(
      cards * names.length,
    );
    expect(rows).to.have.length(cards * names.length);
    for (const row of rows) {
      expect(row.status).to.not.equal('pending');
      if (row.status === 'dropped') expect(row.dropReason).to.be.a('string');
      if (row.status === 'delivered') expect(row.attempts.at(-1)?.httpStatus).to.equal(200);
      expect(row.attempts.slice(0, -1).some(({ httpStatus }) => httpStatus === 200)).to.equal(false);
      if (row.status === 'exhausted') expect(row.attempts).to.have.length(6);
      row.attempts.forEach(({ at }, index) => {
        const before = row.attempts[index - 1];
        if (before !== undefined) expect(at - before.at).to.be.at.least(schedule[index - 1] ?? 0);
      });
    }
    const disables = (await office.webhookEvents())
      .filter(({ type }) => type === 'EndpointDisabled')
      .map(({ data }) => data.id);
    expect(disables).to.deep.equal([ids[1]]);
  });
});
