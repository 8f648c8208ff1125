import { rawOf, verifies } from '../../../application/log/hash-chain.js';
import { asStored } from '../../../application/personal/personal.js';
import { arrivalWindow } from '../../../domain/calendar.js';
import { parseCardCode } from '../../../domain/card-code.js';
import { card, owedBy, steps, type CardEvent, type Order, type StepName } from '../../../domain/card.js';
import { ledger, movementId, type LedgerEvent } from '../../../domain/credits.js';
import { parseEvent, type LoggedEvent, type Slot } from '../../../domain/events.js';
import {
  categoryOf,
  idOf,
  type LocalDate,
  type OrganizationId,
  type StreamName,
} from '../../../domain/ids.js';
import { purchase } from '../../../domain/purchase.js';
import { cards, type CardDocument } from '../../../projections/cards.js';

/** What a response said. Fields that it did not have are null. */
export interface Answer {
  readonly status: number;
  readonly error: string | null;
  readonly card: string | null;
  readonly refunded: number | null;
  readonly replay: boolean;
  /** What must be equal in every response to one key. */
  readonly body: string;
}

/** A call of a client and its response; none if the connection broke or the call timed out. */
export interface Call {
  readonly org: OrganizationId;
  readonly does:
    | { readonly kind: 'send'; readonly key: string | null; readonly payload: string }
    | { readonly kind: 'cancel' | 'change'; readonly card: string };
  /** The id of the request from its response; null if none came. */
  readonly requestId: string | null;
  readonly answer: Answer | null;
}

/** `settled`: the reconciler has nothing left to do. */
export interface Moment {
  readonly settled: boolean;
}

/** A rule that must always hold. Returns one line per violation. */
type LogCheck = (log: readonly LoggedEvent[], moment: Moment) => readonly string[];
type HistoryCheck = (
  log: readonly LoggedEvent[],
  history: readonly Call[],
  moment: Moment,
) => readonly string[];

interface Movement {
  readonly org: OrganizationId;
  readonly logged: LoggedEvent;
  readonly event: LedgerEvent;
}

interface CardEntry {
  readonly logged: LoggedEvent;
  readonly event: CardEvent;
}

const groupBy = <T, Key>(items: readonly T[], keyOf: (item: T) => Key): ReadonlyMap<Key, readonly T[]> => {
  const groups = new Map<Key, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
};

const streamsOf = (
  log: readonly LoggedEvent[],
  category: string,
): ReadonlyMap<StreamName, readonly LoggedEvent[]> =>
  groupBy(
    log.filter(({ stream }) => categoryOf(stream) === category),
    ({ stream }) => stream,
  );

const movementsOf = (log: readonly LoggedEvent[]): readonly Movement[] =>
  log
    .filter(({ stream }) => categoryOf(stream) === 'credits')
    .map((logged) => ({
      org: idOf(logged.stream) as OrganizationId,
      logged,
      event: parseEvent(ledger, logged),
    }));

const cardsOf = (log: readonly LoggedEvent[]): ReadonlyMap<string, readonly CardEntry[]> =>
  new Map(
    [...streamsOf(log, 'card')].map(([stream, events]) => [
      idOf(stream),
      events.map((logged) => ({ logged, event: parseEvent(card, logged) })),
    ]),
  );

const orderOf = (entries: readonly CardEntry[]): Order | null => {
  const first = entries[0]?.event;
  return first?.type === 'CardScheduled' || first?.type === 'CardHeld' ? first.data.order : null;
};

/**
 * The status that a card's events lead to, computed independently of the domain. Null: not an allowed
 * transition.
 */
// prettier-ignore
const statusAfter: Readonly<Record<CardEvent['type'], (from: string, step: StepName | null) => string | null>> = {
  CardScheduled: (from) => (from === 'none' ? 'pending' : null),
  CardHeld: (from) => (['none', 'pending', 'queued'].includes(from) ? 'blocked' : null),
  CardReleased: (from) => (from === 'blocked' ? 'pending' : null),
  CardQueued: (from) => (from === 'pending' ? 'queued' : null),
  StepStarted: (from) => (['queued', 'floor'].includes(from) ? 'floor' : null),
  StepCompleted: (from, step) => (from === 'floor' ? (step === 'posted' ? 'posted' : 'floor') : null),
  StepFailed: (from) => (from === 'floor' ? 'floor' : null),
  CardCancelled: (from) => (['pending', 'queued', 'blocked'].includes(from) ? 'cancelled' : null),
  CardFailed: (from) => (from === 'floor' ? 'failed' : null),
  CardErased: (from) => (['posted', 'cancelled', 'failed'].includes(from) ? from : null),
  CardAbandoned: (from) => (from === 'none' ? 'abandoned' : null),
  ReleaseAbandoned: (from) => (from === 'blocked' ? 'blocked' : null),
};

const walk = (
  entries: readonly CardEntry[],
): { readonly status: string; readonly violations: readonly string[] } => {
  const violations: string[] = [];
  const under = new Map<StepName, string>();
  let status = 'none';
  for (const { logged, event } of entries) {
    const step = 'step' in event.data ? event.data.step : null;
    const next = statusAfter[event.type](status, step);
    if (next === null)
      violations.push(`10: ${event.type} at ${logged.stream}@${logged.revision} follows ${status}`);
    status = next ?? status;
    if (step === null) continue;
    const was = under.get(step) ?? 'pending';
    const wanted = event.type === 'StepStarted' ? ['pending', 'failed'] : ['started'];
    const behind = steps.slice(0, steps.indexOf(step)).filter((before) => under.get(before) !== 'completed');
    if (!wanted.includes(was) || behind.length > 0)
      violations.push(`10: ${event.type} of ${step} at ${logged.stream}@${logged.revision} is out of order`);
    under.set(
      step,
      event.type === 'StepStarted' ? 'started' : event.type === 'StepCompleted' ? 'completed' : 'failed',
    );
  }
  return { status, violations };
};

const paidStatuses = ['pending', 'queued', 'floor', 'posted'];

const takes: ReadonlySet<string> = new Set(['CreditSpent', 'CreditsWithdrawn']);

/** 1. At every position purchases + returns − spends − withdrawals = balance, and balance ≥ 0. */
const balances: LogCheck = (log) => {
  const held = new Map<OrganizationId, number>();
  return movementsOf(log).flatMap(({ org, logged, event }) => {
    const balance = (held.get(org) ?? 0) + (takes.has(event.type) ? -event.data.amount : event.data.amount);
    held.set(org, balance);
    return balance === event.data.balance && balance >= 0
      ? []
      : [`1: position ${logged.position} gives a balance of ${event.data.balance}, but it is ${balance}`];
  });
};

const slotName = (code: string, revision: number): string => `${code}@${revision}`;
const spendName = ({ card: code, revision, command }: Slot): string =>
  `${slotName(code, revision)}/${command}`;

/**
 * 2. A cause moves money once; settled, a paid card has exactly one spend without a return, any other card
 * none; of its own organization.
 */
const causes: LogCheck = (log, { settled }) => {
  const movements = movementsOf(log);
  const made = cardsOf(log);
  const violations: string[] = [];
  const seen = new Set<string>();
  for (const { org, logged, event } of movements) {
    const name = movementId(org, event.type, event.data.cause);
    if (seen.has(name))
      violations.push(`2: ${event.type} at position ${logged.position} moves money for its cause again`);
    seen.add(name);
  }
  const filledBy = new Map(
    [...made].flatMap(([code, entries]) =>
      entries.map((entry) => [slotName(code, entry.logged.revision), entry] as const),
    ),
  );
  const paying = new Map<string, number>();
  for (const { org, event } of movements) {
    if (event.type !== 'CreditSpent') continue;
    const { cause } = event.data;
    const filled = filledBy.get(slotName(cause.card, cause.revision));
    const ours =
      filled?.logged.metadata.causationId === cause.command &&
      ['CardScheduled', 'CardReleased'].includes(filled.event.type);
    const returned = seen.has(movementId(org, 'CreditReturned', { void: cause }));
    if (ours && returned)
      violations.push(`2: the spend for ${spendName(cause)} was returned, although its card exists`);
    if (settled && !ours && !returned)
      violations.push(`2: the spend for ${spendName(cause)} is void and was not returned`);
    if (ours && orderOf(made.get(cause.card) ?? [])?.org !== org)
      violations.push(`2: ${org} paid for ${cause.card} of another organization`);
    if (ours) paying.set(cause.card, (paying.get(cause.card) ?? 0) + 1);
  }
  const owed = new Set<string>();
  for (const [code, entries] of made) {
    const org = orderOf(entries)?.org;
    let debts = 0;
    for (const { logged, event } of entries) {
      const amount = owedBy(event);
      if (amount === 0 || org === undefined) continue;
      debts += amount;
      const name = movementId(org, 'CreditReturned', { owed: { card: code, revision: logged.revision } });
      owed.add(name);
      if (settled && !seen.has(name))
        violations.push(`2: ${slotName(code, logged.revision)} owes a credit that was not returned`);
    }
    const due = paidStatuses.includes(walk(entries).status) ? 1 : 0;
    const net = (paying.get(code) ?? 0) - debts;
    if (net !== due) violations.push(`2: ${code} is paid for ${net} times, not ${due}`);
  }
  for (const { org, logged, event } of movements) {
    if (event.type !== 'CreditReturned') continue;
    const { cause } = event.data;
    if ('owed' in cause && !owed.has(logged.id))
      violations.push(`2: position ${logged.position} returns a credit that nothing owes`);
    if ('void' in cause && !seen.has(movementId(org, 'CreditSpent', cause.void)))
      violations.push(`2: position ${logged.position} returns a credit that was never spent`);
  }
  return violations;
};

/** 2. Settled, a purchase under a reference has moved its credits, once. */
const orders: LogCheck = (log, { settled }) =>
  [...streamsOf(log, 'purchase')].flatMap(([stream, [ordered]]) => {
    if (!settled || ordered === undefined) return [];
    const { amount, reference } = parseEvent(purchase, ordered).data;
    const came = movementsOf(log).filter(({ event }) => event.data.cause === idOf(stream));
    return came.length === 1 && came[0]?.event.data.amount === amount
      ? []
      : [`2: the purchase ${reference} of ${amount} credits brought ${came.length} movements`];
  });

/**
 * 4, 10. Only allowed transitions, steps in order, nothing after a cancel; `mailed_at` exactly when posted.
 */
const transitions: LogCheck = (log) =>
  [...cardsOf(log)].flatMap(([code, entries]) => {
    const { status, violations } = walk(entries);
    const document = entries.reduce<CardDocument | null>(
      (before, { logged }) => cards.evolve(before, logged),
      null,
    );
    const mailed = document !== null && document.mailedAt !== null;
    return mailed === (status === 'posted')
      ? violations
      : [...violations, `10: ${code} is ${status}, but mailed_at says otherwise`];
  });

/** 5. At most one card per request: one key, one card. */
const requests: LogCheck = (log) => {
  const byRequest = groupBy(
    [...cardsOf(log)]
      .flatMap(([code, entries]) => ({ code, request: orderOf(entries)?.request ?? null }))
      .filter(({ request }) => request !== null),
    ({ request }) => request,
  );
  return [...byRequest.values()]
    .filter((made) => made.length > 1)
    .map((made) => `5: one request created ${made.map(({ code }) => code).join(' and ')}`);
};

/** 10. Hash chains verify; revisions are contiguous; positions grow; event ids are unique. */
const chains: LogCheck = (log) => {
  const violations: string[] = [];
  const heads = new Map<StreamName, LoggedEvent>();
  const ids = new Set<string>();
  let position = 0n;
  for (const logged of log) {
    const before = heads.get(logged.stream);
    const place = `${logged.stream}@${logged.revision}`;
    if (logged.revision !== (before?.revision ?? -1) + 1)
      violations.push(`10: ${place} follows revision ${before?.revision ?? -1}`);
    if (!verifies(before?.metadata.hash ?? null, rawOf(asStored(logged))))
      violations.push(`10: the hash of ${place} does not verify`);
    if (logged.position <= position) violations.push(`10: position ${logged.position} follows ${position}`);
    if (ids.has(logged.id)) violations.push(`10: the id of ${place} occurs before`);
    ids.add(logged.id);
    heads.set(logged.stream, logged);
    position = logged.position;
  }
  return violations;
};

const days = (from: LocalDate, to: LocalDate): number => (Date.parse(to) - Date.parse(from)) / 86_400_000;

/**
 * 11. Codes have a right check character; the window is that of the arrive-by date, spans 4–5 days, and never
 * changes.
 */
const codesAndWindows: LogCheck = (log) =>
  [...cardsOf(log)].flatMap(([code, entries]) => {
    const parsed = parseCardCode(code);
    const wrongCode =
      parsed.kind === 'code' && parsed.code === code ? [] : [`11: ${code} is not a card code`];
    const orders = entries.flatMap(({ event }) =>
      'order' in event.data && event.data.order !== null ? [event.data.order] : [],
    );
    const [order] = orders;
    if (order === undefined) return wrongCode;
    const { earliest, latest } = order.window;
    const span = days(earliest, latest);
    const wrongWindow =
      span < 4 || span > 5 || earliest !== arrivalWindow(latest).earliest
        ? [`11: the window of ${code} is ${earliest} to ${latest}`]
        : [];
    return [
      ...wrongCode,
      ...wrongWindow,
      ...(orders.length > 1 ? [`11: ${code} was ordered ${orders.length} times`] : []),
    ];
  });

/** 3. The reported refunds add up to what the cancel owed; to less only if a response was lost. */
const refunds: HistoryCheck = (log, history) =>
  [...cardsOf(log)].flatMap(([code, entries]) => {
    const owed = entries
      .filter(({ event }) => event.type === 'CardCancelled')
      .reduce((sum, { event }) => sum + owedBy(event), 0);
    const calls = history.filter(({ does }) => does.kind === 'cancel' && does.card === code);
    const told = calls.reduce((sum, { answer }) => sum + (answer?.refunded ?? 0), 0);
    const lost = calls.some(({ answer }) => answer === null);
    return told === owed || (told < owed && (lost || calls.length === 0))
      ? []
      : [`3: the responses to the cancels of ${code} refund ${told}, but it owed ${owed}`];
  });

/** Sends with a key, by organization and key. */
const keyedSends = (history: readonly Call[]): ReadonlyMap<string, readonly Call[]> =>
  groupBy(
    history.filter(({ does }) => does.kind === 'send' && does.key !== null),
    ({ org, does }) => `${org} ${does.kind === 'send' ? does.key : ''}`,
  );

/** 6. Every response to a key is the same, and all but the first are replays; one key has one payload. */
const replays: HistoryCheck = (_, history) => {
  const keyed = history.flatMap(({ org, does, answer }) =>
    does.kind === 'send' && does.key !== null && answer?.status === 201
      ? [{ name: `${org} ${does.key}`, payload: does.payload, answer }]
      : [],
  );
  return [...groupBy(keyed, ({ name }) => name)].flatMap(([name, sent]) => {
    const bodies = new Set(sent.map(({ answer }) => answer.body)).size;
    const payloads = new Set(sent.map(({ payload }) => payload)).size;
    const originals = sent.filter(({ answer }) => !answer.replay).length;
    return [
      ...(bodies > 1 ? [`6: the key ${name} got ${bodies} different responses`] : []),
      ...(payloads > 1 ? [`6: the key ${name} got 201 for ${payloads} payloads`] : []),
      ...(originals > 1 ? [`6: the key ${name} has ${originals} responses that are not replays`] : []),
    ];
  });
};

/**
 * 8. Every acknowledged card stands in the log, under the key that it was sent with: one key has one request,
 * and no other key has it. (docs/money.md, rule 7: a card names its request)
 */
const acknowledged: HistoryCheck = (log, history) => {
  const made = cardsOf(log);
  const keyOf = new Map<string, string>();
  const wrongKeys = [...keyedSends(history)].flatMap(([key, calls]) => {
    const cards = calls.flatMap(({ answer }) => (answer?.status === 201 ? (answer.card ?? []) : []));
    const named = new Set(cards.map((code) => orderOf(made.get(code) ?? [])?.request ?? code));
    const others = [...named].filter((request) => (keyOf.get(request) ?? key) !== key);
    for (const request of named) keyOf.set(request, key);
    return named.size > 1 || others.length > 0 ? [`8: the key ${key} got a card of another request`] : [];
  });
  const wrongCards = history.flatMap(({ org, does, answer }) => {
    if (does.kind !== 'send' || answer?.status !== 201) return [];
    const order = orderOf(made.get(answer.card ?? '') ?? []);
    if (order === null) return [`8: ${answer.card} was acknowledged, but is not in the log`];
    return order.org === org ? [] : [`8: ${answer.card} was acknowledged, but is another organization's`];
  });
  return [...wrongCards, ...wrongKeys];
};

/** Events that a refused request may leave: a void spend, and its settlement. */
const isSettlement = ({ type, data }: LoggedEvent, voided: ReadonlySet<string>): boolean => {
  if (type === 'CardAbandoned' || type === 'ReleaseAbandoned') return true;
  if (type === 'CreditSpent')
    return 'cause' in data && typeof data.cause === 'object' && voided.has(spendName(data.cause as Slot));
  return (
    type === 'CreditReturned' &&
    'cause' in data &&
    typeof data.cause === 'object' &&
    data.cause !== null &&
    'void' in data.cause
  );
};

const voidSpends = (log: readonly LoggedEvent[], { settled }: Moment): ReadonlySet<string> => {
  const movements = movementsOf(log);
  const returned = movements.flatMap(({ event }) =>
    event.type === 'CreditReturned' && 'void' in event.data.cause ? [spendName(event.data.cause.void)] : [],
  );
  const spent = movements.flatMap(({ event }) =>
    event.type === 'CreditSpent' ? [spendName(event.data.cause)] : [],
  );
  return new Set(settled ? returned : spent);
};

/** 4, 6, 9. A refusal, a failure and a replay leave no events except void spends and their settlement. */
const nothingLeft: HistoryCheck = (log, history, moment) => {
  const voided = voidSpends(log, moment);
  const byRequest = groupBy(log, ({ metadata }) => metadata.requestId);
  return history.flatMap(({ requestId, answer }) => {
    if (requestId === null || answer === null || (answer.status < 400 && !answer.replay)) return [];
    const left = (byRequest.get(requestId) ?? []).filter((logged) => !isSettlement(logged, voided));
    return left.map(
      ({ type, stream }) =>
        `${answer.replay ? '6' : '9'}: ${requestId} got ${answer.status} ${answer.error ?? ''}, but left ${type} in ${stream}`,
    );
  });
};

/** 9. No card without a request: each is the response to a call, or one of a key or a call that got none. */
const cardsWithoutRequest: HistoryCheck = (log, history) => {
  const sends = history.filter(({ does }) => does.kind === 'send');
  const keyless = sends.filter(({ does }) => does.kind === 'send' && does.key === null);
  const acknowledgedBy = (calls: readonly Call[]) =>
    new Set(calls.flatMap(({ answer }) => (answer?.status === 201 ? [answer.card] : [])));
  const acknowledgedCards = acknowledgedBy(sends);
  const openKeys = [...keyedSends(history).values()].filter(
    (calls) => calls.some(({ answer }) => answer === null) && acknowledgedBy(calls).size === 0,
  );
  const unanswered = keyless.filter(({ answer }) => answer === null).length + openKeys.length;
  const surplus = [...cardsOf(log)].filter(([code, entries]) => {
    const order = orderOf(entries);
    return order !== null && order.source.kind === 'api' && !acknowledgedCards.has(code);
  });
  const doubled =
    acknowledgedBy(keyless).size < keyless.filter(({ answer }) => answer?.status === 201).length
      ? ['9: two calls without a key were answered with one card']
      : [];
  return surplus.length <= unanswered
    ? doubled
    : [
        ...doubled,
        `9: ${surplus.length - unanswered} cards without a request, of ${surplus.map(([code]) => code).join(', ')}`,
      ];
};

const logChecks: readonly LogCheck[] = [
  balances,
  causes,
  orders,
  transitions,
  requests,
  chains,
  codesAndWindows,
];
const historyChecks: readonly HistoryCheck[] = [
  refunds,
  replays,
  acknowledged,
  nothingLeft,
  cardsWithoutRequest,
];

/** What the log violates of the rules 1, 2, 4, 5, 10 and 11. */
export const logViolations = (log: readonly LoggedEvent[], moment: Moment): readonly string[] =>
  logChecks.flatMap((check) => check(log, moment));

/**
 * What log and history together violate of the rules 1 to 11. `history`: every send and every change of a
 * card by clients.
 */
export const violations = (
  log: readonly LoggedEvent[],
  history: readonly Call[],
  moment: Moment,
): readonly string[] => [
  ...logViolations(log, moment),
  ...historyChecks.flatMap((check) => check(log, history, moment)),
];
