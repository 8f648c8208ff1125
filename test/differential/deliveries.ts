import fc from 'fast-check';
import type { Deliveries } from '../../application/ports/deliveries.js';
import type { Place } from '../../application/ports/event-store.js';
import type { AttemptOutcome } from '../../application/ports/delivery-claims.js';
import { deliveryStatuses, type DeliveryId, type NewDelivery } from '../../application/ports/delivery-log.js';
import { unusedEndpoint } from '../../application/ports/endpoint-gates.js';
import { payload } from '../../domain/delivery-payload.js';
import type { Milliseconds, OrganizationId, Uuid } from '../../domain/ids.js';
import { drawing, type Port } from './compare.js';
import { claimLasts, deliveriesOf, endpoints, orgOf, type Delivering } from './delivering.js';

type Drawn<Of> = Of extends fc.Arbitrary<infer Value> ? Value : never;

const upTo = (most: number) => fc.integer({ min: 0, max: most });
const drawnEndpoints = [0, 0, 0, 1, 1, 2, 3, 4].map((number) => `endpoint-${number}` as Uuid);
const endpoint = fc.constantFrom(...drawnEndpoints);
const org = fc.constantFrom('org-1', 'org-1', 'org-1', 'org-2').map((name) => name as OrganizationId);
const number = upTo(15);
const id = number.map((drawn) => `dlv_${drawn}` as DeliveryId);
const card = upTo(3).map((drawn) => `HC-${drawn}`);
const type = fc.constantFrom('card.created', 'card.held', 'card.mailed');
const position = upTo(3).map(BigInt);
/** How long before or after now. */
const span = fc.constantFrom(0, 0, 1, 1_000, 6_000, 30_000);
const window = fc.constantFrom(0, 1, 1_000, 30_000, 9_000_000, 9_000_000);
/** Which process does it, or what becomes of which claim. */
const which = upTo(9);

const row = fc.record({
  number,
  card,
  type,
  position,
  before: span,
  after: fc.oneof(
    span,
    span.map((time) => -time),
  ),
  lasts: window,
  allowed: upTo(3),
  dropReason: fc.constantFrom(null, null, null, 'the endpoint is disabled'),
  traced: fc.boolean(),
});

const rowsUpTo = (maxLength: number) =>
  fc.uniqueArray(row, { minLength: 1, maxLength, selector: ({ number: drawn }) => drawn });

/** A delivery has one endpoint, and an endpoint one organization. */
const made = ({ clock, forgotten }: Delivering, rows: readonly Drawn<typeof row>[]): readonly NewDelivery[] =>
  rows
    .map(({ number: drawn, before, after, lasts, traced, ...rest }): NewDelivery => {
      const of = drawnEndpoints[drawn % drawnEndpoints.length] as Uuid;
      const data = { card: rest.card, recipient: 'Zoë 🎉', reference: null, heldReason: 'Zoë has moved' };
      return {
        ...rest,
        id: `dlv_${drawn}` as DeliveryId,
        org: orgOf(of),
        endpoint: of,
        event: `evt_${drawn}`,
        occurredAt: clock.now() - before,
        body: payload(`evt_${drawn}`, 'card.held', clock.instant(), data),
        due: clock.now() + after,
        expires: clock.now() + lasts,
        ...(traced && { traceparent: `00-trace-${drawn}` }),
      };
    })
    .filter((delivery) => !forgotten.has(delivery.endpoint));

const outcome = fc.record({
  status: fc.constantFrom('delivered', 'delivered', 'exhausted', 'exhausted', 'pending', 'pending'),
  due: span,
});
const outcomeAt = (now: Milliseconds, { status, due }: Drawn<typeof outcome>): AttemptOutcome =>
  status === 'pending' ? { status, due: now + due } : { status };
const response = fc.record({ httpStatus: fc.constantFrom(500, null), lag: fc.constantFrom(0, 700, 5_000) });
const disableAfter = fc.integer({ min: 1, max: 5 });

const place = fc.record({ position, before: fc.oneof(span, fc.constant(90_000)), isTime: fc.boolean() });
const first = fc.constant({ position: 0n, before: 0, isTime: false });
const placeAt = (now: Milliseconds, { position: drawn, before, isTime }: Drawn<typeof place>): Place =>
  isTime ? { time: now - before } : { position: drawn };

const maybe = <Value>(of: fc.Arbitrary<Value>) => fc.option(of, { freq: 2 });
const filter = fc.record({
  endpoint: maybe(endpoint),
  status: maybe(fc.constantFrom(...deliveryStatuses)),
  type: maybe(type),
  card: maybe(card),
});

const operation = drawing<Delivering>();
/** A kind of operation and how often it is drawn. */
const on = <Given>(
  weight: number,
  name: string,
  given: fc.Arbitrary<Given>,
  run: (subject: Delivering, given: Given) => Promise<unknown>,
) => ({ weight, arbitrary: operation(name, given, run) });
/** The same for a call of one of the processes. */
const by = <Given>(
  weight: number,
  name: string,
  given: fc.Arbitrary<Given>,
  run: (process: Deliveries, given: Given, subject: Delivering) => Promise<unknown>,
) =>
  on(weight, name, fc.tuple(which, given), (subject, [process, drawn]) =>
    run(subject.process(process), drawn, subject),
  );
const nothing = fc.constant(null);

const log = [
  by(8, 'insert', rowsUpTo(5), ({ log }, rows, subject) => log.insert(made(subject, rows))),
  by(2, 'replay', rowsUpTo(3), ({ log }, rows, subject) => log.replay(made(subject, rows))),
  by(3, 'retry', fc.tuple(org, id, window), ({ log }, [of, wanted, lasts], { clock }) =>
    log.retry(of, wanted, clock.now(), clock.now() + lasts),
  ),
  by(
    6,
    'redrive',
    fc.tuple(
      org,
      fc.record({ from: fc.oneof(place, first, first), to: maybe(place), of: maybe(endpoint) }),
      window,
    ),
    ({ log }, [whose, { from, to, of }, lasts], { clock }) => {
      const now = clock.now();
      const range = { from: placeAt(now, from), to: to && placeAt(now, to), endpoint: of };
      return log.redrive(whose, range, now, now + lasts);
    },
  ),
  by(1, 'continueRedrives', nothing, ({ log }) => log.continueRedrives()),
  by(1, 'dropExpired', nothing, ({ log }, _, { clock }) => log.dropExpired(clock.now())),
  on(2, 'removeEnded', fc.tuple(which, fc.boolean()), (subject, [process, isLater]) =>
    subject.removeEnded(process, isLater),
  ),
  on(1, 'erase', fc.tuple(which, card), (subject, [process, of]) => subject.erase(process, of)),
  by(4, 'page of all', org, ({ log }, of) =>
    log.page(
      of,
      { endpoint: null, status: null, type: null, card: null },
      { startingAfter: null, limit: 50 },
    ),
  ),
  by(
    4,
    'page',
    fc.tuple(org, filter, fc.record({ startingAfter: maybe(id), limit: fc.integer({ min: 1, max: 4 }) })),
    ({ log }, [of, wanted, page]) => log.page(of, wanted, page),
  ),
  by(1, 'get', fc.tuple(org, id), ({ log }, [of, wanted]) => log.get(of, wanted)),
  by(2, 'depth', nothing, ({ log }, _, { clock }) => log.depth(clock.now())),
  on(2, 'watch', nothing, async (subject) =>
    // In their order are the changes of one delivery.
    (await subject.takeShown()).toSorted((a, b) => a.delivery.id.localeCompare(b.delivery.id)),
  ),
];

const claims = [
  on(
    10,
    'claim',
    fc.tuple(
      which,
      fc.array(fc.tuple(endpoint, fc.integer({ min: 1, max: 4 })), { minLength: 1, maxLength: 3 }),
    ),
    (subject, [process, limits]) => subject.claim(process, new Map(limits)),
  ),
  on(
    8,
    'record',
    fc.record({ which, outcome, response, disableAfter, isTwice: fc.boolean() }),
    async (subject, { which: index, outcome: drawn, response: got, disableAfter: most, isTwice }) => {
      const held = subject.take(index);
      if (held === null) return null;
      const ends = outcomeAt(subject.clock.now(), drawn);
      const recorded = await subject.record(held, ends, got, most);
      return [held.claim.delivery, recorded, isTwice && (await subject.record(held, ends, got, most))];
    },
  ),
  on(
    1,
    'record together',
    fc.record({ count: upTo(5), outcome, response, disableAfter }),
    async (subject, { count, outcome: drawn, response: got, disableAfter: most }) => {
      const ends = outcomeAt(subject.clock.now(), drawn);
      const held = Array.from({ length: count }, () => subject.take(0) ?? []).flat();
      const recorded = await Promise.all(held.map((each) => subject.record(each, ends, got, most)));
      // Whichever of them trips the endpoint: `tripped` is compared by the next operation that asks.
      return recorded.map(({ recorded: is }) => is);
    },
  ),
  on(2, 'release', which, async (subject, index) => {
    const held = subject.take(index);
    await held?.by.claims.release(held.claim);
    return held?.by.claims.mayStart(held.claim);
  }),
  on(3, 'mayStart', nothing, async (subject) => deliveriesOf(subject.mayStart())),
  by(2, 'dueTimes', nothing, ({ claims }) => claims.dueTimes()),
];

const gates = [
  on(
    4,
    'upsertEndpoint',
    fc.tuple(
      which,
      endpoint,
      fc.record({
        step: fc.constantFrom(-1, 0, 1, 1, 1),
        active: fc.constantFrom(true, true, false),
        isEnabled: fc.boolean(),
        look: upTo(2),
      }),
    ),
    (subject, [process, of, change]) => subject.upsert(process, of, change),
  ),
  on(
    2,
    'deleteEndpoint',
    fc.tuple(which, org, endpoint, fc.constantFrom('deleted', 'closed')),
    (subject, [process, owner, of, reason]) => subject.delete(process, owner, of, reason),
  ),
  by(1, 'resetFailures', endpoint, ({ gates }, of) => gates.resetFailures(of)),
  by(1, 'addresses', nothing, ({ gates }) => gates.addresses([...endpoints, 'unknown' as Uuid])),
  by(1, 'tripped', nothing, async ({ gates }) =>
    (await gates.tripped()).toSorted((a, b) => a.endpoint.localeCompare(b.endpoint)),
  ),
  by(3, 'health', org, async ({ gates }, of) => {
    const health = await gates.health(of);
    const known = endpoints.filter((each) => orgOf(each) === of);
    // Those to which nothing was sent, and those that were deleted, may be missing.
    return [...(await gates.addresses(known)).keys()]
      .toSorted()
      .map((each) => [each, health.get(each) ?? unusedEndpoint]);
  }),
];

const memory = [
  by(1, 'rememberEndpoints', fc.tuple(org, position, endpoint), ({ relayMemory }, [of, place, deleted]) =>
    relayMemory.rememberEndpoints(of, place, { endpoints: [], deleted: [deleted] }),
  ),
  by(1, 'rememberedEndpoints', nothing, ({ relayMemory }) => relayMemory.rememberedEndpoints()),
];

const time = [
  on(6, 'time passes', fc.constantFrom(1, 1, 900, 1_000, 6_000, claimLasts, 700_000), ({ clock }, passed) =>
    clock.sleep(passed),
  ),
  on(1, 'a process dies', which, (subject, index) => subject.replace(index)),
];

export const deliveries: Port<Delivering> = {
  name: 'deliveries',
  operation: fc.oneof(...log, ...claims, ...gates, ...memory, ...time),
  longest: 120,
};
