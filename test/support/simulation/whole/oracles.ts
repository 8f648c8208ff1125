import { keyRing } from '../../../../application/personal/key-ring.js';
import { asStored, openedEvents, openText } from '../../../../application/personal/personal.js';
import { PublicEvents, announcedBy } from '../../../../application/webhooks/public-deliveries.js';
import type { Delivery } from '../../../../application/ports/delivery-log.js';
import { card } from '../../../../domain/card.js';
import { ledger } from '../../../../domain/credits.js';
import { deliveryIdOf } from '../../../../domain/public-events.js';
import { erasedPayload } from '../../../../domain/delivery-payload.js';
import { erasures as erasing, parseEvent, type LoggedEvent } from '../../../../domain/events.js';
import { categoryOf, idOf } from '../../../../domain/ids.js';
import { organization } from '../../../../domain/organization.js';
import { emptyFrontier, grow, rootOf } from '../../../../domain/merkle.js';
import { purchase } from '../../../../domain/purchase.js';
import { isActive, subscribes, webhookEndpoints } from '../../../../domain/webhook-endpoints.js';
import { allProjections } from '../../../../projections/all.js';
import { violations } from '../invariants.js';
import { Dice } from './dice.js';
import { masters, operatorToken, settings } from './settings.js';
import type { Received } from './receivers.js';
import type { Town } from './town.js';
import { maxSuspension } from './weather.js';

/** What a run has left when everything has come to rest. */
interface Left {
  readonly town: Town;
  /** With personal data opened. */
  readonly log: readonly LoggedEvent[];
  readonly deliveries: readonly Delivery[];
  readonly received: ReadonlyMap<string, readonly Received[]>;
}

/** Returns one line per violation, which begins with the number of the invariant. */
type Oracle = (left: Left) => readonly string[] | Promise<readonly string[]>;

/** The streams in which personal data was erased, each with the revision at which that was recorded last. */
const erasedIn = (log: readonly LoggedEvent[]): ReadonlyMap<string, number> =>
  new Map<string, number>(
    log.filter(({ type }) => erasing.has(type)).map(({ stream, revision }) => [stream, revision]),
  );

/** 1 to 11: see invariants.ts. A replay of a card that was erased since shows nobody any more. */
const money: Oracle = ({ town, log }) => {
  const erased = erasedIn(log);
  const history = town.history.map((call) =>
    call.answer !== null && erased.has(`card-${call.answer.card}`)
      ? { ...call, answer: { ...call.answer, body: '' } }
      : call,
  );
  return violations(log, history, { settled: true });
};

/** 2. Whoever bought under a reference was told the balance that its one movement left. */
const purchases: Oracle = ({ town, log }) => {
  const movements = log
    .filter(({ stream }) => categoryOf(stream) === 'credits')
    .map((logged) => parseEvent(ledger, logged));
  const left = new Map(
    log
      .filter(({ stream }) => categoryOf(stream) === 'purchase')
      .map((logged) => {
        const { reference } = parseEvent(purchase, logged).data;
        const moved = movements.find(({ data: { cause } }) => cause === idOf(logged.stream));
        return [reference, moved?.data.balance];
      }),
  );
  return town.purchases
    .filter(({ reference, balance }) => left.get(reference) !== balance)
    .map(({ reference, balance }) => `2: ${reference} was told a balance of ${balance}`);
};

/** A card of the collection leaves its design with the organization that sent it. */
const copies: Oracle = ({ log }) => {
  const saved = new Set(
    log.flatMap((event) => {
      if (event.type !== 'DesignSaved') return [];
      const { data } = parseEvent(organization, event);
      return 'design' in data ? [data.design.id] : [];
    }),
  );
  return log.flatMap((event) => {
    if (event.type !== 'CardScheduled' && event.type !== 'CardHeld') return [];
    const { data } = parseEvent(card, event);
    const design = 'order' in data ? data.order?.design : undefined;
    return design?.copied === true && design.slug !== null && !saved.has(design.id)
      ? [`copies: the design ${design.slug} of ${event.stream} was not copied`]
      : [];
  });
};

/** 12. Every row of every read model is a fold of the log, and there are no others. */
const folds: Oracle = async ({ town: { house }, log }) => {
  const wrong: string[] = [];
  for (const projection of allProjections) {
    const folded = new Map<string, unknown>();
    for (const event of log) {
      if (categoryOf(event.stream) !== projection.category) continue;
      const key = projection.key(event);
      const next = projection.evolve(folded.get(key) ?? null, event);
      if (next !== null) folded.set(key, next);
    }
    for (const [key, document] of folded) {
      const row = await house.readModels.get(projection, key);
      if (JSON.stringify(row?.document) !== JSON.stringify(document))
        wrong.push(
          `12: ${projection.name} ${key} is ${JSON.stringify(row?.document)}, not ${JSON.stringify(document)}`,
        );
    }
  }
  return wrong;
};

/** The deliveries that the log asks for, by the subscriptions at each place. */
const wanted = async ({ town, log }: Left): Promise<ReadonlyMap<string, LoggedEvent>> => {
  const publicEvents = new PublicEvents(town.house.store);
  let state = webhookEndpoints.initial;
  const all = new Map<string, LoggedEvent>();
  for (const event of log) {
    if (event.stream === `webhooks-${town.acme.org}`)
      state = webhookEndpoints.evolve(state, parseEvent(webhookEndpoints, event));
    if (categoryOf(event.stream) !== 'card' || event.metadata.org !== town.acme.org) continue;
    const announced = announcedBy(event);
    const made = announced && (await publicEvents.of(announced));
    if (made === null) continue;
    for (const endpoint of state.endpoints)
      if (subscribes(endpoint, made.type)) all.set(deliveryIdOf(made.event, endpoint.id), event);
  }
  return all;
};

/** How long after its end a delivery may still be there: removal comes every ten minutes. */
const removalTakes = 30 * 60_000;

/**
 * 14. Exactly one delivery per event and subscribed endpoint, and it has ended; ended ones go after a time.
 */
const deliveries: Oracle = async (left) => {
  const { town, deliveries: rows, received } = left;
  const { clock } = town.house;
  const known = new Map<string, Delivery>(rows.map((row) => [row.id, row]));
  const asked = await wanted(left);
  const wrong: string[] = [];
  for (const [id, event] of asked) {
    const row = known.get(id);
    const age = clock.now() - Date.parse(event.metadata.occurredAt);
    if (row === undefined && age < settings.webhooks.keep)
      wrong.push(`14: no delivery ${id} of ${event.type} in ${event.stream}`);
    if (row?.status === 'pending')
      wrong.push(`14: ${id} is pending still, due in ${(row.due ?? 0) - clock.now()} ms`);
    if (
      row?.status === 'delivered' &&
      received.get(id)?.some(({ told }) => told !== null && told < 300) !== true
    )
      wrong.push(`14: ${id} is delivered, and nobody got it`);
    const ended = clock.now() - (town.house.deliveries.endedSince(id) ?? clock.now());
    if (ended > settings.webhooks.keep + removalTakes) wrong.push(`retention: ${id} ended ${ended} ms ago`);
  }
  const surplus = rows.filter(({ id, endpoint }) => !asked.has(id) && !town.replayed.has(endpoint));
  return [...wrong, ...surplus.map(({ id, type }) => `14: nothing asks for the delivery ${id} of ${type}`)];
};

/**
 * 15. The same bytes each time, but for what was erased meanwhile, at most as many as allowed, none after a
 * 2xx was told, none after the DELETE.
 */
const attempts: Oracle = ({ town, deliveries: rows, received }) => {
  const known = new Map<string, Delivery>(rows.map((row) => [row.id, row]));
  return [...received].flatMap(([id, got]) => {
    const row = known.get(id);
    // The row may have been removed meanwhile.
    const { data } = JSON.parse(got[0]?.body ?? '{}') as { readonly data?: { readonly card?: string } };
    const bytesOf = town.house.deliveries.erasedAt.has(data?.card ?? '') ? erasedPayload : String;
    const gone = row === undefined ? undefined : town.deletedAt.get(row.endpoint);
    // One may have been under way when it was dropped, and then made due by hand.
    const isByHand = town.retried.has(id) || (row !== undefined && town.replayed.has(row.endpoint));
    const underWay = isByHand ? 1 : 0;
    const late = got.filter(({ began }) => gone !== undefined && began > gone);
    return [
      ...(new Set(got.map(({ body }) => bytesOf(body))).size > 1
        ? [`15: ${id} was sent with different bytes`]
        : []),
      ...late.map(({ began }) => `15: an attempt of ${id} began ${began - (gone ?? 0)} ms after the DELETE`),
      ...(row !== undefined && row.attempts.length > row.allowed + underWay
        ? [`15: ${id} has ${row.attempts.length} attempts, not ${row.allowed}`]
        : []),
      // Attempts are timed by the clock of the process, which is set, or by the one that all agree on.
      ...((town.house.troubles.steps > 0 && town.house.embedded) || isByHand
        ? []
        : tooSoon(id, row, town.house.troubles.drift)),
      ...(isByHand ? [] : repeated(town, id, got, row)),
    ];
  });
};

const agreedEvery = 10_000;

/** How much clocks that run fast and slow may differ over a time, and between what they agree on. */
const apart = (drift: number, time: number): number => Math.ceil((2 * drift * (time + agreedEvery)) / 1_000);

/** No recorded attempt comes sooner than the schedule says, unless somebody asked for it by hand. */
const tooSoon = (id: string, row: Delivery | undefined, drift: number): readonly string[] => {
  const { backoff } = settings.webhooks;
  if (row === undefined || row.allowed > backoff.length + 1) return [];
  return row.attempts.flatMap(({ at }, index) => {
    const before = row.attempts[index - 1];
    const wait = backoff[index - 1] ?? 0;
    const isAfterSuccess = before?.httpStatus === 200 || before?.httpStatus === 204;
    return [
      ...(before !== undefined && at - before.at < wait - apart(drift, wait)
        ? [`15: attempt ${index + 1} of ${id} came after ${at - before.at} ms, not ${wait}`]
        : []),
      ...(isAfterSuccess ? [`15: attempt ${index + 1} of ${id} came after a 2xx`] : []),
    ];
  });
};

/**
 * What was told a 2xx is not sent again, unless that could not be recorded in time or somebody asked for it.
 */
const repeated = (
  { house: { troubles } }: Town,
  id: string,
  got: readonly Received[],
  row: Delivery | undefined,
): readonly string[] => {
  const { stalls, suspensions, days, away } = troubles;
  if (stalls > 0 || suspensions > 0 || days > 0 || (away.deliveries ?? 0) > 0) return [];
  if (row === undefined || row.allowed > settings.webhooks.backoff.length + 1) return [];
  return got.slice(1).flatMap((_, index) => {
    const before = got[index];
    const isDone = before !== undefined && before.told !== null && before.told < 300;
    return isDone && !before.life.signal.aborted ? [`15: ${id} was sent again after ${before.told}`] : [];
  });
};

/** 16. An endpoint that has failed twenty times in a row is disabled. */
const failedTooOften: Oracle = async ({ town: { house, acme }, log }) => {
  const state = log
    .filter(({ stream }) => stream === `webhooks-${acme.org}`)
    .reduce(
      (before, event) => webhookEndpoints.evolve(before, parseEvent(webhookEndpoints, event)),
      webhookEndpoints.initial,
    );
  const health = await house.deliveries.health(acme.org);
  return state.endpoints.flatMap((endpoint) => {
    const failures = health.get(endpoint.id)?.consecutiveFailures ?? 0;
    return isActive(endpoint) && failures >= settings.webhooks.disableAfter
      ? [`16: ${endpoint.url} is active after ${failures} failures in a row`]
      : [];
  });
};

/**
 * 16. Twenty failures in a row disable an endpoint once: no two disablings without an enabling between them.
 */
const disabled: Oracle = ({ log }) => {
  const off = new Set<string>();
  return log.flatMap((event) => {
    const { id }: { readonly id?: unknown } = event.data;
    if (categoryOf(event.stream) !== 'webhooks' || typeof id !== 'string') return [];
    const isTwice = event.type === 'EndpointDisabled' && off.has(id);
    if (event.type === 'EndpointDisabled') off.add(id);
    if (event.type === 'EndpointEnabled') off.delete(id);
    return isTwice ? [`16: ${id} was disabled twice`] : [];
  });
};

const atOnce = 10;

/** 17. An endpoint holds at most ten attempts of a process at once. */
const shares: Oracle = ({ town: { house } }) =>
  [...house.receivers.maxAtOnce].flatMap(([name, most]) =>
    most > atOnce ? [`17: ${most} attempts at once at ${name}`] : [],
  );

/** 24. The tree has each event as its leaf, in order, and every checkpoint that was signed is of a prefix. */
const tree: Oracle = async ({ town: { house } }) => {
  const { leafList, checkpoints } = house.tiles;
  const events = await house.store.readLog(0n, 1_000_000);
  if (leafList.length !== events.length) return [`24: ${leafList.length} leaves for ${events.length} events`];
  const isInOrder = leafList.every(({ position }, index) => position === events[index]?.position);
  const roots = checkpoints.filter(({ size, root }) => {
    const { frontier } = grow(
      emptyFrontier,
      leafList.slice(0, size).map(({ hash }) => hash),
    );
    return !rootOf(frontier).equals(root);
  });
  return [
    ...(isInOrder ? [] : ['24: the leaves are not in the order of the log']),
    ...roots.map(({ size }) => `24: the checkpoint of size ${size} is of another tree`),
  ];
};

/**
 * 31. What was erased can't be opened any more, no delivery holds it, neither sent nor responded, and nothing
 * is sent or published that does. What events say of people is sealed, and no other record names them.
 */
const erasures: Oracle = async ({ town: { house }, log, deliveries: rows }) => {
  const dice = new Dice(house.seed, 'eraser');
  const keys = keyRing({ store: house.personalKeys, masters, clock: house.clock, entropy: dice.entropy });
  const erased = erasedIn(log);
  const wrong: string[] = [];
  for (const event of log) {
    const { keyId } = event.metadata;
    if (keyId === null || event.revision >= (erased.get(event.stream) ?? -1)) continue;
    await keys.load([keyId]);
    const key = keys.keyOf(keyId);
    const { personal }: { readonly personal?: unknown } = asStored(event).data;
    if (key !== null && openText(key, event.id, personal) !== null)
      wrong.push(`31: ${event.type} in ${event.stream} can be opened after its erasure`);
  }
  const cards = new Set<string>(
    log.filter(({ type }) => type === 'CardErased').map(({ stream }) => idOf(stream)),
  );
  const isNamed = (text: string | null): boolean => text?.includes('Lovelace') === true;
  const kept = rows.filter(
    ({ card, body, attempts: made }) =>
      cards.has(card) && [body, ...made.map((attempt) => attempt.body)].some(isNamed),
  );
  const sent = house.receivers.received.filter(({ body, began }) => {
    const { data }: { readonly data?: { readonly card?: string } } = JSON.parse(body);
    return began > (house.deliveries.erasedAt.get(data?.card ?? '') ?? Infinity) && isNamed(body);
  });
  const open = (await house.raw.readStored(0n, 1_000_000)).filter((event) =>
    Object.values(event).some((value) => typeof value === 'string' && isNamed(value)),
  );
  const published = house.published.filter(
    ({ event, at }) =>
      at > (house.deliveries.erasedAt.get(idOf(event.stream)) ?? Infinity) &&
      isNamed(JSON.stringify(event.data)),
  );
  return [
    ...wrong,
    ...published.map(
      ({ event }) => `31: ${event.type} of ${event.stream} was published with a name that had been erased`,
    ),
    ...house.recorded.filter(isNamed).map((text) => `31: a name was recorded: ${text.slice(0, 200)}`),
    ...kept.map(({ id }) => `31: the delivery ${id} of an erased card has its recipient`),
    ...sent.map(
      ({ delivery }) => `31: the delivery ${delivery} was sent with a recipient who had been erased`,
    ),
    ...open.map(({ stream, type }) => `31: ${type} of ${stream} is stored with a name that can be read`),
  ];
};

/** 34. Every event was published to other services; what comes early is a repeat. */
const publications: Oracle = ({ town: { house }, log }) => {
  const seen = new Set<bigint>();
  let next = 0;
  const wrong: string[] = [];
  for (const { event } of house.published) {
    const { position } = event;
    if (position > (log[next]?.position ?? 0n) && !seen.has(position))
      wrong.push(`34: position ${position} was published before ${log[next]?.position}`);
    seen.add(position);
    while (seen.has(log[next]?.position ?? 0n)) next += 1;
  }
  return next === log.length ? wrong : [...wrong, `34: ${log.length - next} events were not published`];
};

/**
 * 23, 36. Whatever others write into the log, every process that rests says that its projections are at the
 * head, and of no list that it may be late.
 */
const rest: Oracle = async ({ town }) => {
  const wrong: string[] = [];
  for (const process of town.house.places) {
    const see = (path: string, token: string) =>
      town.ask(town.beside, { method: 'GET', path, token }, process);
    const ready = await see('/readyz', operatorToken);
    const list = await see('/api/v1/cards', town.acme.key);
    const parts = ready?.text.match(/"projection [^}]*/g) ?? [];
    const behind = parts.filter((part) => !/"at the head, \d+"/.test(part));
    if (ready?.status !== 200 || parts.length < allProjections.length || behind.length > 0)
      wrong.push(`23: ${process.name} rests and is not ready: ${behind[0] ?? ready?.text}`);
    if (list?.status !== 200 || list.headers.has('x-read-model-late'))
      wrong.push(`23: ${process.name} rests, and a list of it says that it may be late`);
  }
  return wrong;
};

/** A name is looked up, and a connection made, between the time of an attempt and its request. */
const maxLookup = 3_000;

/**
 * 35. Whichever clocks wrote them, the times of a stream never go back, and attempts have the time that all
 * processes with servers agree on.
 */
const times: Oracle = ({ town: { house }, log, deliveries: rows, received }) => {
  const last = new Map<string, string>();
  const backwards = log.flatMap(({ stream, revision, metadata: { occurredAt } }) => {
    const before = last.get(stream) ?? '';
    last.set(stream, occurredAt);
    return occurredAt < before
      ? [`35: event ${revision} of ${stream} is earlier than the one before it`]
      : [];
  });
  const { drift, suspensions } = house.troubles;
  const near = apart(drift, 0);
  const maxWay = maxLookup + (suspensions > 0 ? maxSuspension : 0);
  const wasSent = (id: string, at: number): boolean =>
    received.get(id)?.some(({ began }) => began >= at - near && began <= at + maxWay + near) === true;
  const untimely = rows.flatMap(({ id, attempts: made }) =>
    made
      .filter(({ at }) => !wasSent(id, at))
      .map(({ at }) => `35: ${id} was not sent at ${at}, as its attempt says`),
  );
  return [...backwards, ...(house.embedded ? [] : untimely)];
};

const oracles: readonly Oracle[] = [
  money,
  purchases,
  folds,
  deliveries,
  attempts,
  failedTooOften,
  copies,
  disabled,
  shares,
  tree,
  erasures,
  publications,
  times,
  rest,
];

const byDelivery = (received: readonly Received[]): ReadonlyMap<string, readonly Received[]> => {
  const groups = new Map<string, Received[]>();
  for (const one of received) groups.set(one.delivery, [...(groups.get(one.delivery) ?? []), one]);
  return groups;
};

const everything = { endpoint: null, status: null, type: null, card: null };

/** What is wrong with what a run has left. */
export const findings = async (
  town: Town,
): Promise<{ readonly wrong: readonly string[]; readonly log: readonly LoggedEvent[] }> => {
  const { house } = town;
  const dice = new Dice(house.seed, 'oracles');
  const keys = keyRing({ store: house.personalKeys, masters, clock: house.clock, entropy: dice.entropy });
  const log = await openedEvents(house.store, keys, house.clock).readLog(0n, 1_000_000);
  const rows = await house.deliveries.page(town.acme.org, everything, {
    startingAfter: null,
    limit: 1_000_000,
  });
  const left: Left = { town, log, deliveries: rows ?? [], received: byDelivery(house.receivers.received) };
  const wrong = [...house.problems];
  for (const oracle of oracles) wrong.push(...(await oracle(left)));
  return { wrong, log };
};
