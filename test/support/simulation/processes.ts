import { moneyOver } from '../fixtures/money.js';
import { unsealed } from '../fixtures/seal-events.js';
import type { MemoryEventStore } from '../memory/event-store.js';
import { changeCard, type ChangedCard } from '../../../application/cards/change-card.js';
import { addCredits } from '../../../application/money/credits.js';
import { organizationsOf } from '../../../application/organizations/organizations.js';
import { OutcomeUnknown, RequestOverdue, TooContended } from '../../../application/writing/execute.js';
import type { SendRequest } from '../../../application/cards/place-order.js';
import type { ProcessCheckpoint, Checkpoints } from '../../../application/ports/checkpoints.js';
import {
  EventStoreUnavailable,
  type EventStore,
  type StreamWrite,
  type WriteOutcome,
} from '../../../application/ports/event-store.js';
import {
  IdempotencyUnavailable,
  type IdempotencyStore,
} from '../../../application/ports/idempotency-store.js';
import type { Clock, Entropy } from '../../../application/ports/system.js';
import { OpenWork, closeOpenWork, type ReconcilerDeps } from '../../../application/money/reconciler.js';
import { sendCard, type SendCardDeps } from '../../../application/cards/send-card.js';
import { Streams } from '../../../application/writing/streams.js';
import {
  cancel,
  card,
  fail,
  hold,
  queue,
  release,
  reportStep,
  type Card,
  type CardEvent,
} from '../../../domain/card.js';
import type { CardCode } from '../../../domain/card-code.js';
import { DomainError } from '../../../domain/errors.js';
import type { Command } from '../../../domain/events.js';
import { CommandId, type Milliseconds } from '../../../domain/ids.js';
import type { Answer, Call } from './invariants.js';
import { drive } from './drive.js';
import type { Life } from './life.js';
import { draft, org, planning, type World } from '../fixtures/world.js';

const unknown: WriteOutcome = { kind: 'unknown' };

/** One of several writes: what was refused after others were stored has no known outcome. */
const writeOne = async (
  store: MemoryEventStore,
  life: Life,
  write: StreamWrite,
  isFirst: boolean,
): Promise<readonly WriteOutcome[]> => {
  try {
    return await life.write<readonly WriteOutcome[]>(
      () => store.append([write]),
      () => [unknown],
      refused,
    );
  } catch (error) {
    if (isFirst || !(error instanceof EventStoreUnavailable)) throw error;
    return [unknown];
  }
};

const refused = (): never => {
  throw new EventStoreUnavailable('the write was refused');
};

/** An event store as a process sees it that may die, and whose writes may get lost. */
export const storeSeenFrom = (store: MemoryEventStore, life: Life): EventStore => ({
  append: async (writes, completing = []) => {
    if (store.atomic)
      return life.write<readonly WriteOutcome[]>(
        () => store.append(writes, completing),
        () => writes.map(() => unknown),
        refused,
      );
    const outcomes: WriteOutcome[] = [];
    for (const write of writes) {
      const failed = outcomes.some(({ kind }) => kind !== 'appended');
      outcomes.push(
        ...(failed
          ? [{ kind: 'skipped' } as const]
          : await writeOne(store, life, write, outcomes.length === 0)),
      );
    }
    return outcomes;
  },
  readStream: (stream, from, limit) => life.call(() => store.readStream(stream, from, limit)),
  readLast: (stream) => life.call(() => store.readLast(stream)),
  readLog: (after, limit) => life.call(() => store.readLog(after, limit)),
  head: () => life.call(() => store.head()),
  positionBefore: (time) => store.positionBefore(time),
  markAt: (position) => life.call(() => store.markAt(position)),
  follow: async function* (after, options) {
    for await (const events of store.follow(after, options)) {
      await life.call(() => Promise.resolve());
      yield events;
    }
  },
});

export const keysSeenFrom = (keys: IdempotencyStore, life: Life, clock = keys.clock): IdempotencyStore => {
  const lost = (): never => {
    throw new IdempotencyUnavailable('the answer is lost');
  };
  return {
    clock,
    claim: (wanted) => life.write(() => keys.claim(wanted), lost),
    replace: (held, next) => life.write(() => keys.replace(held, next), lost),
    complete: (held) => life.write(() => keys.complete(held), lost),
    release: (held) => life.write(() => keys.release(held), lost),
  };
};

/** What a process has saved; all processes share it. */
export class MemoryCheckpoints implements Checkpoints {
  readonly #saved = new Map<string, ProcessCheckpoint>();

  async load(name: string): Promise<ProcessCheckpoint | null> {
    return this.#saved.get(name) ?? null;
  }

  async all(): ReturnType<Checkpoints['all']> {
    return [...this.#saved].map(([name, { position }]) => ({ name, position }));
  }

  async save(name: string, { position, state }: ProcessCheckpoint): Promise<void> {
    const known = this.#saved.get(name);
    if (known === undefined || known.position < position)
      this.#saved.set(name, { position, state: JSON.parse(JSON.stringify(state)) });
  }
}

export interface Process extends SendCardDeps, ReconcilerDeps {
  readonly life: Life;
}

export const reconcileAfter: Milliseconds = 60_000;

/**
 * A process over the stores of a world. `entropy`: given if the codes that it draws must be known in advance.
 */
export const startProcess = (
  world: World,
  life: Life,
  entropy: Entropy = world.entropy,
  checkpoints: Checkpoints = new MemoryCheckpoints(),
): Process => {
  const clock: Clock = {
    now: () => world.clock.now(),
    steady: () => world.clock.steady(),
    monotonic: () => world.clock.monotonic(),
    instant: () => world.clock.instant(),
    sleep: (time, signal) => life.call(() => world.clock.sleep(time, signal)),
  };
  const store = storeSeenFrom(world.store, life);
  const streams = new Streams(store, unsealed, { cacheSize: 200 });
  const writing = { store, streams, clock, entropy };
  return {
    ...writing,
    ...moneyOver(writing, { atomic: world.store.atomic, checkpoints }),
    organizations: organizationsOf(streams),
    idempotency: keysSeenFrom(world.idempotency, life),
    readYourWrites: world.readYourWrites,
    planning,
    claimTimeout: world.claimTimeout,
    checkpoints,
    reconcileAfter,
    life,
  };
};

export interface SendWish {
  readonly key: string | null;
  readonly message?: string;
  readonly design?: string;
}

export type CardWish =
  | 'cancel'
  | 'hold'
  | 'release'
  | 'queue'
  | 'start'
  | 'complete'
  | 'fail'
  | 'hold, then cancel'
  | 'release, then queue'
  | 'release, then hold';

type Decide = (state: Card) => readonly CardEvent[];

const setAside = hold('the operator wants to see it');

/** One decision of two events. */
const inOneDecision =
  (first: Decide, second: Decide): Decide =>
  (state) => {
    const events = first(state);
    return [...events, ...second(events.reduce(card.evolve, state))];
  };

const decisions: Readonly<Record<CardWish, Decide>> = {
  cancel,
  hold: setAside,
  release,
  queue,
  start: reportStep('card_stock_prepared', 'in_progress', null),
  complete: reportStep('card_stock_prepared', 'completed', null),
  fail: fail('the machine broke'),
  'hold, then cancel': inOneDecision(setAside, cancel),
  'release, then queue': inOneDecision(release, queue),
  'release, then hold': inOneDecision(release, setAside),
};

/**
 * The statuses of failures which say that nothing was made. An unknown outcome gets no response.
 * (docs/architecture.md#unknown-outcomes)
 */
const refusalOf = (error: unknown): Pick<Answer, 'status' | 'error'> | null => {
  if (error instanceof OutcomeUnknown) return null;
  if (error instanceof DomainError) return { status: statuses[error.code] ?? 422, error: error.code };
  if (error instanceof IdempotencyUnavailable) return { status: 400, error: 'invalid_idempotency_key' };
  if (
    error instanceof EventStoreUnavailable ||
    error instanceof TooContended ||
    error instanceof RequestOverdue
  )
    return { status: 500, error: 'order_failed' };
  throw error;
};

const statuses: Readonly<Record<string, number>> = {
  no_credits: 402,
  card_not_found: 404,
  request_in_progress: 409,
  too_late_to_cancel: 409,
  invalid_transition: 409,
  production_failed: 500,
};

const answered = async (
  request: string,
  does: Call['does'],
  life: Life,
  work: () => Promise<Answer>,
): Promise<Call> => {
  const gone = { org, does, requestId: null, answer: null };
  const done = work().then(
    (answer): Call => ({ org, does, requestId: request, answer }),
    (error: unknown): Call => {
      const refusal = refusalOf(error);
      return refusal === null
        ? gone
        : {
            org,
            does,
            requestId: request,
            answer: { card: null, refunded: null, replay: false, body: '', ...refusal },
          };
    },
  );
  return Promise.race([done, life.death.then(() => gone)]);
};

const commandOf = ({ entropy, clock }: Process): Command => {
  const id = CommandId.parse(entropy.uuid());
  return { id, org, actor: { kind: 'key', id: 'a-key' }, requestId: `req_${id}`, at: clock.instant() };
};

/** POST /api/v1/cards as a client sees it. */
export const sendAs = (
  process: Process,
  { key, message = 'Thank you, Ada.', design }: SendWish,
): Promise<Call> => {
  const command = commandOf(process);
  const payload = JSON.stringify({ message, design });
  const request: SendRequest = {
    org,
    command,
    source: { kind: 'api', id: 'a-key' },
    idempotency: key === null ? null : { key, body: payload, came: process.idempotency.clock.now() },
    draft: () => draft({ message: { value: message }, designId: { value: design ?? null } }),
  };
  return answered(`req_${command.id}`, { kind: 'send', key, payload }, process.life, async () => {
    const { code, event, replay } = await sendCard(process, request);
    return {
      status: 201,
      error: null,
      card: code,
      refunded: null,
      replay,
      body: JSON.stringify({ code, event }),
    };
  });
};

/** A purchase under a reference, and the balance that its buyer was told; null: no response, or a failure. */
export interface Purchased {
  readonly reference: string;
  readonly balance: number | null;
}

/** POST …/credits as its caller sees it. */
export const buyAs = (process: Process, reference: string, amount: number): Promise<Purchased> => {
  const untold = { reference, balance: null };
  const initiator = { actor: { kind: 'operator' as const, id: null }, requestId: null };
  const bought = addCredits(process, initiator, org, { amount, reason: null, reference }).then(
    (balance): Purchased => ({ reference, balance }),
    (error: unknown): Purchased => {
      const isUnanswered = [OutcomeUnknown, TooContended, RequestOverdue, EventStoreUnavailable].some(
        (expected) => error instanceof expected,
      );
      if (isUnanswered) return untold;
      throw error;
    },
  );
  return Promise.race([bought, process.life.death.then(() => untold)]);
};

/** DELETE /api/v1/cards/{code}, or what an operator does to a card, as the caller sees it. */
export const changeAs = (process: Process, wish: CardWish, code: CardCode): Promise<Call> => {
  const command = commandOf(process);
  return answered(
    `req_${command.id}`,
    { kind: wish === 'cancel' ? 'cancel' : 'change', card: code },
    process.life,
    async () => {
      const { creditsReturned }: ChangedCard = await changeCard(
        process,
        { code, org },
        command,
        decisions[wish],
      );
      return {
        status: 200,
        error: null,
        card: code,
        refunded: wish === 'cancel' ? creditsReturned : null,
        replay: false,
        body: '',
      };
    },
  );
};

/** What the log leaves to be done now. */
export const openWorkIn = async (world: World): Promise<OpenWork> => {
  const openWork = new OpenWork();
  for (const event of await world.store.readLog(0n, 1_000_000)) openWork.observe(event);
  return openWork;
};

/**
 * Lets two concurrent reconcilers, each with its own memory, close open work until none is left. Returns how
 * much they closed.
 */
export const reconcile = async (world: World, first: Process, second: Process): Promise<number> => {
  let sum = 0;
  for (let round = 0; round < 20; round++) {
    const [known, knownToo] = [await openWorkIn(world), await openWorkIn(world)];
    await world.clock.advance(reconcileAfter);
    const done = await drive(
      world.clock,
      Promise.all([closeOpenWork(first, known), closeOpenWork(second, knownToo)]),
    );
    if (done === 'dead') throw new Error('a reconciler died');
    const errors = done.flatMap((one) => one.errors);
    if (errors.length > 0) throw new AggregateError(errors, 'a reconciler could not close everything');
    const closed = done.reduce((both, one) => both + one.closed, 0);
    if (closed === 0) return sum;
    sum += closed;
  }
  throw new Error('the reconcilers never came to an end');
};
