import { LocalRateLimiter } from '../../../../adapters/system/rate-limiter.js';
import { InProcessDeliveryQueue } from '../../../../adapters/memory/delivery-queue.js';
import type { AdministrationDeps } from '../../../../application/organizations/administer.js';
import { rawOf } from '../../../../application/log/hash-chain.js';
import type { RawLog } from '../../../../application/ports/raw-log.js';
import { messageOf } from '../../../../domain/errors.js';
import type { LoggedEvent } from '../../../../domain/events.js';
import type { Milliseconds } from '../../../../domain/ids.js';
import { allProjections } from '../../../../projections/all.js';
import type { Projection } from '../../../../projections/projection.js';
import { MemoryCheckpoints } from '../../memory/checkpoints.js';
import { VirtualClock } from '../../memory/clock.js';
import { MemoryDeliveries } from '../../memory/deliveries.js';
import { MemoryEventStore } from '../../memory/event-store.js';
import { MemoryHookCalls } from '../../memory/hook-calls.js';
import { MemoryIdempotencyStore } from '../../memory/idempotency-store.js';
import { MemoryKeyUses } from '../../memory/key-uses.js';
import { MemoryLogTiles } from '../../memory/log-tiles.js';
import { MemoryPersonalKeys } from '../../memory/personal-keys.js';
import { MemoryReadModels } from '../../memory/read-models.js';
import { memoryRequests } from '../../memory/requests.js';
import { MemoryArtwork } from '../../memory/artwork.js';
import { MemoryImportRecords, MemorySignInRecords } from '../../memory/records.js';
import { Dice } from './dice.js';
import type { Lease } from './leases.js';
import { startProcess, type Process } from './processes.js';
import { Feeding } from './feeding.js';
import { Receivers } from './receivers.js';
import { settings } from './settings.js';
import { fair, maxSuspension, type Part, type Weather } from './weather.js';

export interface HouseOptions {
  readonly seed: number;
  readonly weather: Weather;
  /** One process, whose store commits several streams at once. */
  readonly embedded: boolean;
}

/** The same port; what it is given is noted as text. */
const noting = <Port extends object>(port: Port, given: string[]): Port =>
  new Proxy(port, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      return (...args: readonly unknown[]): unknown => {
        given.push(`${String(name)} ${JSON.stringify(args)}`);
        return Reflect.apply(member, target, args);
      };
    },
  });

/** Everything that the processes of a simulated service share, and the processes themselves. */
export class House {
  readonly seed: number;
  readonly embedded: boolean;
  readonly clock = new VirtualClock();
  readonly idempotency = new MemoryIdempotencyStore(this.clock);
  readonly store: MemoryEventStore;
  readonly readModels = new MemoryReadModels();
  readonly checkpoints = new MemoryCheckpoints();
  readonly deliveries = new MemoryDeliveries({ clock: this.clock, lasts: 35_000 });
  readonly queue = new InProcessDeliveryQueue();
  /** What the logs of calls and requests and the records of imports were given. */
  readonly recorded: string[] = [];
  readonly hookCalls = noting(new MemoryHookCalls(), this.recorded);
  readonly keyUses = new MemoryKeyUses();
  readonly requests = noting(memoryRequests(), this.recorded);
  readonly signInRecords = new MemorySignInRecords(this.clock);
  readonly importRecords = noting(new MemoryImportRecords(this.clock), this.recorded);
  readonly artwork = new MemoryArtwork(this.clock);
  readonly personalKeys = new MemoryPersonalKeys();
  readonly rateLimiter = new LocalRateLimiter();
  readonly tiles = new MemoryLogTiles();
  readonly leases = new Map<string, Lease>();
  readonly projection = new Feeding(this.clock);
  /** The largest position that a process has told the others to miss. */
  missed = 0n;
  readonly receivers: Receivers;
  readonly drawnCodes: Buffer[] = [];
  /** What was published to other services, and when a process had it in hand. */
  readonly published: { readonly event: LoggedEvent; readonly at: Milliseconds }[] = [];
  /** What was found while the run went on. */
  readonly problems: string[] = [];
  readonly places: Process[] = [];
  readonly #dice: Dice;
  /** What troubles it while it is not calm. */
  readonly troubles: Weather;
  readonly #away = new Set<string>();
  #isCalm = true;
  /** Aborts when it is calm again. */
  #calmed = new AbortController();
  #isOver = false;
  #isOld: boolean;
  #started = 0;
  #skipped: Milliseconds = 0;

  constructor({ seed, weather, embedded }: HouseOptions) {
    this.seed = seed;
    this.embedded = embedded;
    this.troubles = weather;
    this.#isOld = weather.release;
    this.#dice = new Dice(seed, 'house');
    const others = new Dice(seed, 'others');
    this.store = new MemoryEventStore({
      atomic: embedded,
      ...(embedded
        ? { completeClaim: (claim) => this.idempotency.completeNow(claim) }
        : { bytesPerEvent: 137, others: () => others.below(weather.others + 1) }),
    });
    if (!embedded && weather.others > 0) void this.#writeAsOthers(others);
    this.receivers = new Receivers(
      this.clock,
      settings.webhooks.timeout,
      () => this.weather,
      new Dice(seed, 'receivers'),
    );
  }

  /** Before the weather begins and after it has calmed down: stores answer at once. */
  get isCalm(): boolean {
    return this.#isCalm;
  }

  get weather(): Weather {
    return this.#isCalm ? fair : this.troubles;
  }

  /** Lets time pass in which nothing runs. */
  skip(time: Milliseconds): void {
    this.#skipped += time;
    this.clock.skip(time);
  }

  /** For how long clocks have been running. */
  get running(): Milliseconds {
    return this.clock.monotonic() - this.#skipped;
  }

  /** Whether projections and processes keep up all the time, so that reads and refusals are never late. */
  get isPrompt(): boolean {
    const { slowest, away, release, backlog, ...others } = this.troubles;
    const { deaths, stalls, days, refusals, losses, late, suspensions } = others;
    const troubles = [deaths, stalls, days, refusals, losses, late, suspensions, Object.keys(away).length];
    return slowest <= fair.slowest && troubles.every((each) => each === 0) && !release && !backlog;
  }

  get raw(): RawLog {
    return {
      readStored: async (after, limit) =>
        (await this.store.readLog(after, limit)).map((event) => ({
          ...rawOf(event),
          position: event.position,
        })),
      readStoredStream: async (stream, from, limit) =>
        (await this.store.readStream(stream, from, limit)).map((event) => ({
          ...rawOf(event),
          position: event.position,
        })),
    };
  }

  get projections(): readonly Projection<unknown>[] {
    return this.#isOld
      ? allProjections.map((each) => ({ ...each, version: each.version - 1 }))
      : allProjections;
  }

  /** The means of the operator in a process, for what has no request. */
  get administration(): AdministrationDeps {
    const [first] = this.places;
    if (first === undefined) throw new Error('no process was started');
    return first.administration;
  }

  isAway(part: string): boolean {
    return this.#away.has(part);
  }

  note(name: string, error: unknown): void {
    if (error instanceof TypeError || error instanceof RangeError)
      this.problems.push(`code: ${name} failed: ${messageOf(error)}`);
  }

  async publish(events: readonly LoggedEvent[], at: Milliseconds): Promise<void> {
    this.published.push(...events.map((event) => ({ event, at })));
  }

  /** Starts processes in this many places; where one dies, another takes its place. */
  start(places: number): void {
    for (let place = this.places.length; place < places; place++) this.#fill(place);
  }

  /** Any process that is alive. */
  process(dice: Dice): Process | null {
    return dice.pick(this.places.filter(({ life }) => !life.signal.aborted));
  }

  /** Other programs write into the same log at their own pace, also while the service rests. */
  async #writeAsOthers(dice: Dice): Promise<void> {
    while (!this.#isOver) {
      await this.clock.sleep(dice.below(20_000));
      this.store.passOver(1 + dice.below(40));
    }
  }

  #fill(place: number): void {
    if (this.#isOver) return;
    const process = startProcess(this, `process ${(this.#started += 1)}`);
    this.places[place] = process;
    void process.life.death.then(async () => {
      await this.clock.sleep(this.#isCalm ? 100 : 100 + this.#dice.below(5_000));
      // Not at once: what it was writing when it died completes its claims.
      if (this.embedded) this.idempotency.forgetRunning();
      this.#fill(place);
    });
  }

  /** The weather begins: what happens at some time does so within `span`. */
  begin(span: Milliseconds): void {
    this.#isCalm = false;
    this.#calmed = new AbortController();
    const { away, steps, farthest, suspensions, days, release, backlog } = this.troubles;
    const later = (work: () => void | Promise<void>): void =>
      void this.clock.sleep(this.#dice.below(span)).then(() => (this.#isCalm ? undefined : work()));
    for (const [part, times] of Object.entries(away))
      for (let time = 0; time < times; time++) later(() => this.#goAway([part], this.#dice.below(180_000)));
    for (let step = 0; step < steps; step++)
      later(() => this.process(this.#dice)?.setClock(this.#dice.below(2 * farthest) - farthest));
    for (let time = 0; time < suspensions; time++)
      later(() =>
        this.process(this.#dice)?.machine.suspend(this.#dice.below(maxSuspension), this.#calmed.signal),
      );
    for (let day = 0; day < days; day++) later(() => this.skip(86_400_000));
    if (backlog) void this.#goAway(['projector', 'relay'], 60_000);
    if (release)
      later(() => {
        this.#isOld = false;
        this.killAll();
      });
  }

  async #goAway(which: readonly string[], time: number): Promise<void> {
    for (const part of which) this.#setAway(part, true);
    await this.clock.sleep(time);
    for (const part of which) this.#setAway(part, false);
  }

  #setAway(part: string, isAway: boolean): void {
    if (isAway && !this.#isCalm) this.#away.add(part);
    else this.#away.delete(part);
    if (part === ('events' satisfies Part)) this.store.away = this.#away.has(part);
  }

  killAll(): void {
    for (const { life } of this.places) life.kill();
  }

  /** Everything works again, and clocks are right. */
  calm(): void {
    this.#isCalm = true;
    this.#calmed.abort();
    for (const part of this.#away) this.#setAway(part, false);
    for (const { setClock } of this.places) setClock(0);
    if (this.#isOld) this.killAll();
    this.#isOld = false;
  }

  end(): void {
    this.#isOver = true;
    this.killAll();
  }
}
