import { keysPath, openPersonalKeys } from '../../adapters/sqlite/keys/personal-keys.js';
import { keyRing } from '../../application/personal/key-ring.js';
import { openedEvents, personalSeal } from '../../application/personal/personal.js';
import { join } from 'node:path';
import { masterKeys } from '../../bin/settings/secret-files.js';
import { SystemClock } from '../../adapters/system/clock.js';
import { SystemEntropy } from '../../adapters/system/entropy.js';
import { sqliteDeliveries } from '../../adapters/sqlite/records/deliveries.js';
import { openEventsFile, type EventsFile } from '../../adapters/sqlite/log/events-file.js';
import { stockCatalogue, type AdministrationDeps } from '../../application/organizations/administer.js';
import { makeDemo } from '../../application/organizations/demo.js';
import { Authenticator } from '../../application/access/authenticate.js';
import { Suspensions } from '../../application/organizations/suspensions.js';
import { newCommand } from '../../application/writing/execute.js';
import { LedgerQueue } from '../../application/money/ledger-queue.js';
import type { DeliveryId, NewDelivery } from '../../application/ports/delivery-log.js';
import type { EventStore, StreamWrite } from '../../application/ports/event-store.js';
import { Streams, type Loaded } from '../../application/writing/streams.js';
import type { PersonalSeal } from '../../application/log/hash-chain.js';
import type { Front } from '../../domain/artwork.js';
import { arrivalWindow, dueDay } from '../../domain/calendar.js';
import { card, cardStream, schedule, steps, type Card, type CardEvent } from '../../domain/card.js';
import { cardCode, type CardCode } from '../../domain/card-code.js';
import { ledger, movementId, purchase, spend, type Ledger } from '../../domain/credits.js';
import { derivedUuid, LocalDate, OrganizationId, type Milliseconds, type Uuid } from '../../domain/ids.js';
import { deliveryIdOf } from '../../domain/public-events.js';
import { organization, saveDesign } from '../../domain/organization.js';
import { signerFrom } from '../../domain/signed-note.js';
import { register, webhookEndpoints } from '../../domain/webhook-endpoints.js';
import type { WebhookUrl } from '../../domain/webhook-url.js';
import { writeLogKey } from '../support/fixtures/log-key.js';
import { anOrder, letter, nothingProjected } from '../support/fixtures/world.js';
import { MemoryKeyUses } from '../support/memory/key-uses.js';
import { eventMacs } from '../../domain/event-mac.js';
import { sqliteCheckpoints } from '../../adapters/sqlite/records/records.js';

/** How many steps are done of each quarter of the cards on the floor: it has all four statuses there are. */
const stepsOnTheFloor = [0, 1, 2, 4];

/** How many steps of the cards of a wave are done; null if they have not come to the floor. */
const stepsDone = (produced: Seeding['produced'], wave: number): number | null => {
  if (produced === 'to the floor') return stepsOnTheFloor[wave] ?? null;
  return produced ? steps.length : null;
};

const planning = { timeZone: 'America/New_York', productionDays: 2, mailDays: 5 };
const together = 250;

export interface Seeded {
  readonly key: string;
  readonly org: string;
  readonly events: number;
  /** The endpoint of the deliveries; null if there are none. */
  readonly endpoint: Uuid | null;
}

export interface Seeding {
  /** Takes the cards through all their steps, in waves of 5,000, or leaves them on the floor. */
  readonly produced: boolean | 'to the floor';
  /** How many deliveries one endpoint of the organization has. */
  readonly deliveries?: number;
  /** The fronts of the designs that the organization has saved; null for one without a picture. */
  readonly fronts?: readonly (Front | null)[];
  /** How personal data is protected; absent: it is sealed. */
  readonly sealing?: PersonalSeal;
}

/**
 * Fills a data directory with cards that one organization sent, as its sends would have written them: its
 * ledger has a movement per card. The relay is at the head of the log. Nine of ten deliveries are pending and
 * due in six hours, so that none is sent during a measurement; the others are dropped.
 */
export const seed = async (
  directory: string,
  cards: number,
  { produced, deliveries = 0, fronts = [], sealing }: Seeding,
): Promise<Seeded> => {
  const clock = new SystemClock();
  const entropy = new SystemEntropy();
  const fail = (error: unknown): void => {
    throw error;
  };
  await writeLogKey(directory, signerFrom('seeded/log', 'note', entropy.bytes(32)));
  const file = await openEventsFile({ directory, clock, onUnknownOutcome: fail, onDamage: fail });
  const keys = openPersonalKeys(keysPath(directory));
  try {
    const masters = masterKeys(join(directory, 'personal.key'), entropy, true, 'PERSONAL_KEY_FILE');
    const ring = keyRing({ store: keys, masters, clock, entropy });
    const store = openedEvents(file.eventStore, ring, clock);
    const { sign } = eventMacs(masterKeys(join(directory, 'event.key'), entropy, true, 'EVENT_KEY_FILE'));
    const streams = new Streams(store, { ...(sealing ?? personalSeal(ring, entropy)), sign });
    const writing = { store, streams, clock, entropy };
    const office: AdministrationDeps = {
      ...writing,
      ledgers: new LedgerQueue(writing, { savesCalls: false, readYourWrites: nothingProjected }),
      readYourWrites: nothingProjected,
      authenticator: new Authenticator(streams, clock, new MemoryKeyUses(), new Suspensions(streams, clock)),
    };
    await stockCatalogue(office);
    const demo = await makeDemo(office);
    const org = OrganizationId.parse(derivedUuid('demo organization'));
    const seeder = new Seeder(
      store,
      streams,
      org,
      () => ring.ready(),
      () => newCommand(office, { actor: { kind: 'system', id: 'seed' }, requestId: null }, org),
    );
    // More than it spends: what is measured sends cards beside it.
    await seeder.buy(cards + 1_000_000);
    await seeder.save(fronts);
    const wave = produced === 'to the floor' ? Math.ceil(cards / stepsOnTheFloor.length) : 5_000;
    for (let done = 0; done < cards; done += wave)
      await seeder.wave(done, Math.min(wave, cards - done), stepsDone(produced, done / wave));
    const { position } = await store.head();
    await sqliteCheckpoints(file).save('relay', {
      position,
      state: { rebuiltTo: '0' },
    });
    const endpoint =
      deliveries === 0
        ? null
        : await seeder.register(masterKeys(join(directory, 'secret.key'), entropy, true)[0].id);
    if (endpoint !== null) await insertDeliveries(file, { org, endpoint, cards, count: deliveries });
    return { key: demo?.secret ?? '', org, events: Number((await store.head()).position), endpoint };
  } finally {
    keys.close();
    await file.close();
  }
};

/** The log of a seeded data directory, with the personal data of its events opened. */
export const openSeededLog = async (
  directory: string,
): Promise<{ readonly log: EventStore; close(): Promise<void> }> => {
  const clock = new SystemClock();
  const entropy = new SystemEntropy();
  const fail = (error: unknown): void => {
    throw error;
  };
  const file = await openEventsFile({ directory, clock, onUnknownOutcome: fail, onDamage: fail });
  const keys = openPersonalKeys(keysPath(directory));
  const masters = masterKeys(join(directory, 'personal.key'), entropy, true, 'PERSONAL_KEY_FILE');
  const ring = keyRing({ store: keys, masters, clock, entropy });
  return {
    log: openedEvents(file.eventStore, ring, clock),
    close: async () => {
      keys.close();
      await file.close();
    },
  };
};

/** The code of the card with a number. */
export const seededCode = (number: number): CardCode =>
  cardCode([25, 20, 15, 10, 5, 0].map((shift) => Math.floor(number / 2 ** shift) & 31));

const stride = 618_033;

/** The card, out of `cards`, that the event with this number moves: neighbours are far apart. */
export const movedCard = (index: number, cards: number): CardCode => seededCode((index * stride) % cards);

/** The first event of the card with a number. */
export const scheduledCard = (org: OrganizationId, number: number): CardEvent => {
  const latest = LocalDate.parse('2031-06-20');
  return schedule(
    anOrder({
      org,
      request: derivedUuid('seed', number),
      window: arrivalWindow(latest),
      due: dueDay(latest, planning),
      reference: `order-${number}`,
    }),
    {
      ...letter,
      message: 'Thank you for everything, Ada. It was a pleasure to work with you this year.',
    },
  );
};

const hour: Milliseconds = 3_600_000;
const types = ['card.created', 'card.written', 'card.mailed'];

const insertDeliveries = async (
  file: EventsFile,
  {
    org,
    endpoint,
    cards,
    count,
  }: {
    readonly org: OrganizationId;
    readonly endpoint: Uuid;
    readonly cards: number;
    readonly count: number;
  },
): Promise<void> => {
  const deliveries = sqliteDeliveries(file);
  const now = new SystemClock().now();
  const rowOf = (number: number): NewDelivery => {
    const event = `evt_${number}`;
    const type = types[number % types.length] ?? '';
    return {
      id: deliveryIdOf(event, endpoint) as DeliveryId,
      org,
      endpoint,
      event,
      type,
      card: seededCode(number % cards),
      position: BigInt(number + 1),
      occurredAt: now,
      body: JSON.stringify({ id: event, type }),
      due: now + 6 * hour,
      allowed: 6,
      expires: now + 24 * hour,
      dropReason: number % 10 === 0 ? 'dropped by the benchmark' : null,
    };
  };
  for (let first = 0; first < count; first += 2_000)
    await deliveries.log.insert(
      Array.from({ length: Math.min(2_000, count - first) }, (_, index) => rowOf(first + index)),
    );
};

class Seeder {
  #account: Loaded<Ledger> | null = null;

  constructor(
    private readonly store: EventStore,
    private readonly streams: Streams,
    private readonly org: OrganizationId,
    private readonly ready: () => Promise<void>,
    private readonly command: () => ReturnType<typeof newCommand>,
  ) {}

  async buy(amount: number): Promise<void> {
    const at = await this.streams.load(ledger, this.org);
    const command = this.command();
    const decided = [
      {
        event: purchase(command.id, amount, 'seed')(at.state),
        command,
        id: movementId(this.org, 'CreditsPurchased', command.id),
      },
    ];
    const write = this.streams.write(ledger, at, decided);
    await this.store.append([write]);
    this.#account = this.streams.appended(ledger, at, decided, write, null);
  }

  async save(fronts: readonly (Front | null)[]): Promise<void> {
    if (fronts.length === 0) return;
    const at = await this.streams.load(organization, this.org);
    const decided = fronts.map((artwork, index) => {
      const [event] = saveDesign({
        id: derivedUuid('bench design', index),
        name: `Design ${index}`,
        slug: null,
        artwork,
      })(at.state);
      if (event === undefined) throw new Error(`design ${index} is there already`);
      return { event, command: this.command() };
    });
    await this.store.append([this.streams.write(organization, at, decided)]);
  }

  /** Registers an endpoint that nothing can reach. */
  async register(key: string): Promise<Uuid> {
    const at = await this.streams.load(webhookEndpoints, this.org);
    const command = this.command();
    const id = derivedUuid('bench endpoint');
    const url = 'https://receiver.invalid/cards' as WebhookUrl;
    const wanted = { id, url, events: [], description: null, key, at: command.at, most: 100 };
    const decided = register(wanted)(at.state).map((event) => ({ event, command }));
    await this.store.append([this.streams.write(webhookEndpoints, at, decided)]);
    return id;
  }

  /** Cards from number `first` on: sent together, then taken through each step that is done together. */
  async wave(first: number, count: number, done: number | null): Promise<void> {
    let wave = Array.from({ length: count }, (_, index) => this.#empty(first + index));
    wave = await this.#advance(wave, (_, index) => [scheduledCard(this.org, first + index)], true);
    if (done === null) return;
    wave = await this.#advance(wave, () => [{ type: 'CardQueued', data: {} }]);
    for (const step of steps.slice(0, done)) {
      wave = await this.#advance(wave, () => [{ type: 'StepStarted', data: { step, machine: 'm-1' } }]);
      wave = await this.#advance(wave, () => [{ type: 'StepCompleted', data: { step, machine: 'm-1' } }]);
    }
  }

  #empty(number: number): Loaded<Card> {
    return {
      stream: cardStream(seededCode(number)),
      state: card.initial,
      revision: -1,
      hash: null,
      at: null,
      position: null,
    };
  }

  /** One event more for each card, in groups as a busy service commits them. */
  async #advance(
    wave: readonly Loaded<Card>[],
    next: (at: Loaded<Card>, index: number) => CardEvent[],
    paid = false,
  ): Promise<Loaded<Card>[]> {
    const after: Loaded<Card>[] = [];
    const appends: Promise<unknown>[] = [];
    for (let from = 0; from < wave.length; from += together) {
      const writes: StreamWrite[] = [];
      await this.ready();
      const group = wave.slice(from, from + together).map((at, index) => {
        const command = this.command();
        const decided = next(at, from + index).map((event) => ({ event, command }));
        const write = this.streams.write(card, at, decided);
        writes.push(write);
        after.push({
          ...at,
          revision: at.revision + decided.length,
          hash: write.events.at(-1)?.metadata.hash ?? at.hash,
        });
        return { at, command };
      });
      if (paid) writes.unshift(this.#spends(group));
      appends.push(this.store.append(writes));
    }
    await Promise.all(appends);
    return after;
  }

  #spends(
    group: readonly { readonly at: Loaded<Card>; readonly command: ReturnType<typeof newCommand> }[],
  ): StreamWrite {
    const from = this.#account;
    if (from === null) throw new Error('buy first');
    let balance = from.state;
    const decided = group.map(({ at, command }) => {
      const slot = { card: at.stream.slice('card-'.length), revision: 0, command: command.id };
      const event = spend(slot)(balance);
      balance = ledger.evolve(balance, event);
      return { event, command, id: movementId(this.org, 'CreditSpent', slot) };
    });
    const write = this.streams.write(ledger, from, decided);
    this.#account = {
      ...from,
      state: balance,
      revision: from.revision + decided.length,
      hash: write.events.at(-1)?.metadata.hash ?? null,
    };
    return write;
  }
}
