import 'reflect-metadata';
import { setMaxListeners } from 'node:events';
import { Readable } from 'node:stream';
import { pino } from 'pino';
import type { AdministrationDeps } from '../../../../application/organizations/administer.js';
import { BufferedRequests } from '../../../../application/requests/request-log.js';
import { Unreadable } from '../../../../application/personal/unreadable.js';
import { keyRing } from '../../../../application/personal/key-ring.js';
import { runNotary } from '../../../../application/log/notarize.js';
import { openedEvents } from '../../../../application/personal/personal.js';
import { DeliveriesUnavailable, type Deliveries } from '../../../../application/ports/deliveries.js';
import type { DeliveryQueue } from '../../../../application/ports/delivery-queue.js';
import { IdempotencyUnavailable } from '../../../../application/ports/idempotency-store.js';
import { PersonalKeysUnavailable } from '../../../../application/ports/personal-keys.js';
import { PublicStreamUnavailable } from '../../../../application/ports/public-stream.js';
import { larger } from '../../../../application/ports/event-store.js';
import { ReadModelsUnavailable } from '../../../../application/ports/read-models.js';
import { maxDrift, type Clock, type Entropy } from '../../../../application/ports/system.js';
import { ProjectionBoard, watchHead } from '../../../../application/projecting/projection-board.js';
import { Projector } from '../../../../application/projecting/project.js';
import { steadyClock } from '../../time/steady-clock.js';
import { untilAborted } from '../../../../application/timing/until-aborted.js';
import { readsWait, writesWait } from '../../../../application/projecting/read-your-writes.js';
import { watchClock } from '../../../../adapters/mongodb/client/clock-watch.js';
import type { HttpServer } from '../../../../adapters/http/server/server.js';
import { part, wire } from '../../../../bin/wiring/container.js';
import { cheapPasswords } from '../../fixtures/cheap-passwords.js';
import { measureLag } from '../../../../bin/metrics/projection-lag.js';
import { patientParts } from '../../../../bin/wiring/projection-parts.js';
import { EngineCalls } from '../../../../bin/metrics/engine-calls.js';
import type { Engine } from '../../../../bin/wiring/engine.js';
import { processesOf } from '../../../../bin/wiring/processes.js';
import { checkpointText } from '../../../../domain/signed-note.js';
import type { Instant } from '../../../../domain/ids.js';
import type { MemoryReadModels } from '../../memory/read-models.js';
import { Life, type Fate } from '../life.js';
import { Machine } from '../machine.js';
import { keysSeenFrom, storeSeenFrom } from '../processes.js';
import { Dice } from './dice.js';
import type { House } from './house.js';
import { exclusivelyIn } from './leases.js';
import { masters, operatorToken, settings } from './settings.js';
import { seen } from './seen.js';
import type { Part } from './weather.js';
import { macs } from '../../fixtures/seal-events.js';

/** One process of the service, with everything that it runs. */
export interface Process {
  readonly name: string;
  readonly life: Life;
  readonly server: HttpServer;
  readonly administration: AdministrationDeps;
  readonly machine: Machine;
  /** Sets its clock this many ms ahead of the true time. */
  readonly setClock: (ahead: number) => void;
}

const minute = 60_000;

const fateOf = (house: House, dice: Dice): Fate => {
  const { deaths, losses, late, refusals } = house.weather;
  if (dice.chance(deaths)) return dice.chance(500) ? 'die-before' : 'die-after';
  if (dice.chance(refusals)) return 'refuse';
  if (house.embedded) return 'arrive';
  if (dice.chance(losses)) return dice.chance(500) ? 'lose' : 'lose-answer';
  return dice.chance(late) ? { late: house.clock.sleep(dice.below(3 * minute)) } : 'arrive';
};

/** The fate of a write to a store that promises that nothing was changed where it throws. */
const plainFate = (fate: Fate): Fate => (fate === 'lose-answer' || typeof fate === 'object' ? 'lose' : fate);

const pauseOf = (house: House, dice: Dice): Promise<void> => {
  if (house.isCalm) return Promise.resolve();
  const { stalls, slowest } = house.weather;
  const time = dice.below(dice.chance(stalls) ? 3 * minute : slowest);
  return time === 0 ? Promise.resolve() : house.clock.sleep(time);
};

/** `drift`: out of a thousand. */
const mortalClock = (
  house: House,
  { life, machine }: Pick<Process, 'life' | 'machine'>,
  drift: number,
  ahead: () => number,
): Clock => {
  const never = new Promise<never>(() => {});
  let agreed: { readonly by: number; readonly drift: number } | null = null;
  const faster = (): number => Math.floor((house.running * drift) / 1_000);
  const monotonic = (): number => house.clock.monotonic() - machine.suspended + faster();
  const wall = (): number => house.clock.now() + ahead() + faster();
  const apart = (): number => wall() - monotonic();
  const now = (): number => (agreed === null ? wall() : agreed.by + monotonic());
  const began = apart();
  return {
    now,
    steady: () => (agreed?.by ?? began) + monotonic(),
    agree: (by) => void (agreed = { by: (agreed?.by ?? apart()) + by, drift: apart() }),
    isAgreed: () => agreed === null || Math.abs(apart() - agreed.drift) < maxDrift,
    drift: apart,
    monotonic,
    instant: () => new Date(now()).toISOString() as Instant,
    sleep: async (time, signal) => {
      const end = monotonic() + time;
      let left = time;
      do {
        await house.clock.sleep(drift === 0 ? left : Math.ceil(left / (1 + drift / 1_000)), signal);
        await machine.awake();
        left = end - monotonic();
      } while (machine.suspended > 0 && left > 0 && signal?.aborted !== true);
      if (life.signal.aborted) await never;
    },
  };
};

/** Draws codes of cards that were drawn before, now and then: only these are six bytes. */
const entropyOf = (house: House, dice: Dice): Entropy => ({
  uuid: () => dice.entropy.uuid(),
  below: (limit) => dice.entropy.below(limit),
  bytes: (count) => {
    if (count !== 6) return dice.entropy.bytes(count);
    const again = dice.chance(house.weather.codes) ? dice.pick(house.drawnCodes.slice(-8)) : null;
    const code = again ?? dice.entropy.bytes(count);
    house.drawnCodes.push(code);
    return code;
  },
});

const hintsThrough = (house: House, dice: Dice): DeliveryQueue => ({
  listen: (notify, signal) => house.queue.listen(notify, signal),
  announce: async (hints) => {
    for (const hint of hints) {
      const fate = dice.chance(house.weather.hints) ? dice.pick(['lost', 'late', 'twice'] as const) : 'heard';
      const arrive = () => house.queue.announce([hint]);
      if (fate === 'late') void house.clock.sleep(dice.below(10_000)).then(arrive);
      if (fate === 'heard' || fate === 'twice') await arrive();
      if (fate === 'twice') await arrive();
    }
  },
});

/** An error of the code itself is a finding, whoever takes it for a reason to try again. */
const logOf = (house: House, name: string) =>
  pino(
    { level: 'error', base: null },
    {
      write: (line: string) => {
        if (/"type":"(TypeError|RangeError|ReferenceError|SyntaxError|AssertionError|ZodError)"/.test(line))
          house.problems.push(`code: ${name} logged ${line.slice(0, 900)}`);
      },
    },
  );

/**
 * Saves documents, and then how far they are, as MongoDB does: what fails in between leaves documents that
 * are ahead.
 */
const savingInTwo = (store: MemoryReadModels): MemoryReadModels => {
  const save: MemoryReadModels['save'] = async (batches) => {
    await store.save(batches.map((batch) => ({ ...batch, checkpoint: 0n })));
    await store.save(batches.map((batch) => ({ ...batch, documents: [] })));
  };
  return new Proxy(store, {
    get: (target, name) => (name === 'save' ? save : Reflect.get(target, name, target)),
  });
};

const unpublished = (): never => {
  throw new PublicStreamUnavailable('the broker has not confirmed');
};

const engineOf = (
  house: House,
  {
    name,
    life,
    machine,
    clock,
    entropy,
    dice,
  }: {
    readonly name: string;
    readonly life: Life;
    readonly machine: Machine;
    readonly clock: Clock;
    readonly entropy: Entropy;
    readonly dice: Dice;
  },
): Engine => {
  // Writes to these stores change nothing where they throw.
  const plain = new Life(
    () => plainFate(fateOf(house, dice)),
    () => pauseOf(house, dice),
    machine,
  );
  void life.death.then(() => plain.kill());
  void plain.death.then(() => life.kill());
  const away = (part: Part, Unavailable: new (message: string) => Error) => () => {
    if (house.isAway(part)) throw new Unavailable(`${part} away`);
  };
  const keysAway = away('personalKeys', PersonalKeysUnavailable);
  const personalKeyStore = seen(house.personalKeys, plain, {
    writes: ['first', 'add', 'replace', 'saveMark'],
    assertThere: keysAway,
    Unavailable: PersonalKeysUnavailable,
  });
  const personalKeys = keyRing({ store: personalKeyStore, masters, clock, entropy });
  const raw = storeSeenFrom(house.store, life);
  let head = house.store.length;
  const store = openedEvents(
    {
      ...raw,
      append: async (writes, completing) => {
        const outcomes = await raw.append(writes, completing);
        head = house.store.length;
        return outcomes;
      },
    },
    personalKeys,
    clock,
  );
  const board = new ProjectionBoard(clock, { isShared: !house.embedded });
  const seenModels = seen(house.readModels, plain, {
    writes: ['save', 'startBuild', 'activate'],
    assertThere: away('readModels', ReadModelsUnavailable),
    Unavailable: ReadModelsUnavailable,
  });
  const readModels = house.embedded ? seenModels : savingInTwo(seenModels);
  const deliveryStore = seen(house.deliveries.restarted(), plain, {
    writes: ['insert', 'upsertEndpoint', 'resetFailures', 'deleteEndpoint', 'hasten', 'record', 'dropExpired', 'removeEnded', 'retry', 'redrive', 'replay', 'erase', 'rememberEndpoints'],
    assertThere: away('deliveries', DeliveriesUnavailable),
    Unavailable: DeliveriesUnavailable,
    // With files, claims are in memory: giving one back can't fail. On servers, its time runs out.
    atOnce: ['mayStart', 'watch', ...(house.embedded ? ['release'] : [])],
  }); // prettier-ignore
  const deliveries: Deliveries = {
    log: deliveryStore,
    gates: deliveryStore,
    claims: deliveryStore,
    relayMemory: deliveryStore,
  };
  const idempotency = seen(
    keysSeenFrom(house.idempotency, life, house.embedded ? steadyClock(clock) : clock),
    new Life(() => 'arrive'),
    {
      writes: [],
      assertThere: away('keys', IdempotencyUnavailable),
      Unavailable: IdempotencyUnavailable,
    },
  );
  const checkpoints = seen(house.checkpoints, plain, {
    writes: ['save'],
    assertThere: away('deliveries', DeliveriesUnavailable),
    Unavailable: DeliveriesUnavailable,
  });
  const exclusively = exclusivelyIn(house, life, clock);
  const projector = new Projector({
    projections: house.projections,
    log: store,
    store: readModels,
    clock,
    reports: house.projection,
    fail: (error) => house.problems.push(`code: the projector of ${name} gave up: ${error.message}`),
  });
  const { raw: rawLog, tiles } = house;
  const [partsOf, measure] = [patientParts(clock), measureLag(store, clock)];
  house.projection.tell(board, house.embedded ? 0 : 5 + dice.below(50));
  if (!house.embedded) {
    void watchHead(board, store, clock, life.signal);
    void untilAborted({ clock, signal: life.signal, pause: 500, onError: () => undefined }, async () => {
      house.missed = larger(house.missed, board.missing());
      board.viewed(clock.monotonic(), false, house.missed);
    });
  }
  return {
    store,
    personalKeys,
    eventMacs: macs,
    personalKeyStore,
    unreadable: new Unreadable(store, personalKeys, ({ stream, revision }) =>
      house.problems.push(`code: ${stream}@${revision} can not be read`),
    ),
    idempotency,
    readModels,
    readYourWrites: house.embedded ? readsWait(board, () => BigInt(head)) : writesWait(board),
    checkpoints,
    keyUses: house.keyUses,
    hookCalls: house.hookCalls,
    signInRecords: house.signInRecords,
    importRecords: house.importRecords,
    artwork: house.artwork,
    requests: new BufferedRequests(house.requests, personalKeys, clock, () => undefined),
    deliveries,
    deliveryQueue: hintsThrough(house, dice),
    rateLimiter: house.rateLimiter,
    projector: {
      status: () => board.current(),
      rebuild: async (wanted) => house.projection.request(wanted),
    },
    publicStream: {
      publish: (events) => {
        const at = house.clock.now();
        return plain.write(() => house.publish(events, at), unpublished);
      },
    },
    project: (signal) =>
      exclusively('projector', signal, (held) =>
        house.projection.feed(projector, held, () => projector.run(held)),
      ),
    raw: rawLog,
    tiles,
    notarize: (signal) =>
      runNotary(
        {
          log: rawLog,
          tiles,
          macs,
          clock,
          sign: ({ size, root }) => checkpointText({ origin: 'cards.test/log', size, root }),
          scrubEvery: 3_600_000,
          restoreHint: 'the event store',
        },
        signal,
      ),
    hasServers: !house.embedded,
    rehearsal: () => null,
    exclusively,
    assertLog: () => Promise.resolve(),
    foreignEvents: () => 0,
    readiness: async () => {
      const status = board.current();
      return partsOf(status, await measure(status.projections.map(({ checkpoint }) => checkpoint)));
    },
    close: () => Promise.resolve(),
  };
};

/** Starts a process that runs until it dies. */
export const startProcess = (house: House, name: string): Process => {
  const dice = new Dice(house.seed, name);
  const machine = new Machine(house.clock);
  const life = new Life(
    () => fateOf(house, dice),
    () => pauseOf(house, dice),
    machine,
  );
  const { skew, drift } = house.troubles;
  let ahead = skew === 0 ? 0 : dice.below(2 * skew) - skew;
  const pace = new Dice(house.seed, `the clock of ${name}`).below(2 * drift + 1) - drift;
  const clock = mortalClock(house, { life, machine }, pace, () => ahead);
  const entropy = entropyOf(house, dice);
  const database = { serverTime: () => Promise.resolve(new Date(house.clock.now())) };
  const ignore = (): void => undefined;
  if (!house.embedded) void watchClock({ database, clock, onSkew: ignore, onError: ignore }, life.signal);
  const engine = engineOf(house, { name, life, machine, clock, entropy, dice });
  const container = wire({
    settings,
    role: 'all',
    engine,
    calls: new EngineCalls(),
    clock,
    entropy,
    log: logOf(house, name),
    operatorToken,
    keys: masters,
    logKeys: null,
    witnesses: () => [],
    extraCertificates: [],
    timeouts: { sweep: 20_000 },
    passwordCost: cheapPasswords,
    judge: { judge: () => Promise.resolve(null) },
    pictureMaker: { make: () => Promise.reject(new Error('pictures are made by a process')) },
    sheetPrinter: { print: () => Readable.from([]) },
    sender: house.receivers.senderFor(name, life),
    fail: (error) => {
      house.problems.push(`code: ${name} gave up: ${String(error)}`);
      life.kill();
    },
    listening: () => [],
    baseUrl: () => 'http://cards.test',
    operatorAddress: () => 'http://cards.test',
    draining: () => false,
  });
  const { open: server } = part(container, 'listeners');
  // Everything that a process runs listens.
  setMaxListeners(0, life.signal);
  for (const run of processesOf('all', container)) void run(life.signal);
  if (engine.project !== null) void engine.project(life.signal);
  const administration = part(container, 'administration');
  return { name, life, machine, server, administration, setClock: (wanted) => (ahead = wanted) };
};
