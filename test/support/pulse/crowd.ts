import { SystemEntropy } from '../../../adapters/system/entropy.js';
import { personalSeal } from '../../../application/personal/personal.js';
import type { DeliveryId } from '../../../application/ports/delivery-log.js';
import { noStream, type StreamWrite } from '../../../application/ports/event-store.js';
import type { Clock } from '../../../application/ports/system.js';
import { newCommand, service } from '../../../application/writing/execute.js';
import { Streams, type Loaded } from '../../../application/writing/streams.js';
import type { Engine } from '../../../bin/wiring/engine.js';
import { apiKey, issueKey, issueOperatorKey, scopes } from '../../../domain/api-key.js';
import { acceptHeld, card, schedule, type CardEvent, type Order } from '../../../domain/card.js';
import { cardCode } from '../../../domain/card-code.js';
import {
  collectionCard,
  handwriting,
  handwritingId,
  putCollectionCard,
  putHandwriting,
} from '../../../domain/catalogue.js';
import { contact, contactIdOf, saveContact } from '../../../domain/contact.js';
import { ledger, movementId, spend } from '../../../domain/credits.js';
import { addToDoNotMail, doNotMail, doNotMailId } from '../../../domain/do-not-mail.js';
import type { Aggregate, DomainEvent } from '../../../domain/events.js';
import { createHook, hook } from '../../../domain/hook.js';
import { derivedUuid, OrganizationId, streamName, type Uuid } from '../../../domain/ids.js';
import { house, members, type MembersEvent } from '../../../domain/members.js';
import { createOrganization, organization, type OrganizationEvent } from '../../../domain/organization.js';
import { deliveryIdOf } from '../../../domain/public-events.js';
import { webhookEndpoints, type WebhookEvent } from '../../../domain/webhook-endpoints.js';
import { eventually } from '../time/eventually.js';
import { anOrder, letter } from '../fixtures/world.js';

/** How many there are of what is not limited. */
export interface Crowding {
  readonly cards: number;
  readonly others: number;
}

/** Whose rows they are. */
export interface Crowded {
  readonly org: string;
  readonly design: string;
  readonly hook: string;
  readonly endpoint: string;
}

const together = 250;
/** As many as there may be. */
const [designs, endpoints, people] = [1_990, 990, 480];
const initiator = service('crowd');

const codeOf = (number: number) =>
  cardCode([25, 20, 15, 10, 5, 0].map((shift) => Math.floor(number / 2 ** shift) & 31));

const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, at) => at);

/** What has happened to a card. Of each four, one is held, one cancelled, one queued and one at work. */
const historyOf = (number: number, order: Order): readonly CardEvent[] => {
  const queued: CardEvent = { type: 'CardQueued', data: {} };
  const data = { step: 'card_stock_prepared', machine: 'm-1' } as const;
  switch (number % 4) {
    case 0:
      return [acceptHeld(order, letter, 'Look at it')];
    case 1:
      return [acceptHeld(order, letter, 'Look at it'), { type: 'CardCancelled', data: { owes: 0 } }];
    case 2:
      return [schedule(order, letter), queued];
    default:
      return [schedule(order, letter), queued, { type: 'StepStarted', data }];
  }
};

/** Writes what very many requests of an organization, and of others, would have written. */
export class Crowd {
  readonly #streams: Streams;
  readonly #entropy = new SystemEntropy();

  constructor(
    private readonly engine: Engine,
    private readonly clock: Clock,
  ) {
    const { sign } = engine.eventMacs;
    this.#streams = new Streams(engine.store, { ...personalSeal(engine.personalKeys, this.#entropy), sign });
  }

  async make({ org: id, design, hook, endpoint }: Crowded, { cards, others }: Crowding): Promise<void> {
    const org = OrganizationId.parse(id);
    await this.#cards(org, design as Uuid, cards);
    await this.#contacts(org, cards);
    await this.#many(others, (at) => this.#otherThings(org, at));
    await this.#onLongStreams(org, design as Uuid, others);
    await this.#deliveries(org, endpoint as Uuid, cards);
    await this.#records(org, hook as Uuid, others);
    const { position } = await this.engine.store.head();
    const areShown = () =>
      this.engine.projector.status().projections.every(({ checkpoint }) => checkpoint >= position);
    await eventually(() => Promise.resolve(areShown()), { within: 300_000 });
  }

  #command(org: OrganizationId | null) {
    return newCommand({ clock: this.clock, entropy: this.#entropy }, initiator, org);
  }

  /** The first events of a stream. */
  #begun<State, Event extends DomainEvent>(
    aggregate: Aggregate<State, Event>,
    id: string,
    org: OrganizationId | null,
    events: readonly Event[],
  ): StreamWrite {
    const at = {
      stream: streamName(aggregate.category, id),
      state: aggregate.initial,
      revision: noStream,
      hash: null,
      at: null,
      position: null,
    };
    const command = this.#command(org);
    return this.#streams.write(
      aggregate,
      at,
      events.map((event) => ({ event, command })),
    );
  }

  async #append(writes: readonly StreamWrite[]): Promise<void> {
    await this.engine.store.append(writes);
    await this.#streams.ready();
  }

  async #many(count: number, make: (at: number) => readonly StreamWrite[]): Promise<void> {
    await this.#streams.ready();
    let writes: StreamWrite[] = [];
    for (const at of numbers(count)) {
      writes.push(...make(at));
      if (writes.length < together && at < count - 1) continue;
      await this.#append(writes);
      writes = [];
    }
  }

  /** Further events of one stream. */
  async #long<State, Event extends DomainEvent>(
    aggregate: Aggregate<State, Event>,
    id: OrganizationId,
    events: readonly Event[],
  ): Promise<void> {
    let at = await this.#streams.load(aggregate, id);
    for (let from = 0; from < events.length; from += together) {
      const decided = events
        .slice(from, from + together)
        .map((event) => ({ event, command: this.#command(id) }));
      const write = this.#streams.write(aggregate, at, decided);
      await this.#append([write]);
      at = this.#after(at, write);
    }
  }

  #after<State>(at: Loaded<State>, { events }: StreamWrite): Loaded<State> {
    return { ...at, revision: at.revision + events.length, hash: events.at(-1)?.metadata.hash ?? at.hash };
  }

  async #cards(org: OrganizationId, design: Uuid, count: number): Promise<void> {
    let account = await this.#streams.load(ledger, org);
    for (let from = 0; from < count; from += together) {
      await this.#streams.ready();
      const writes: StreamWrite[] = [];
      const spends = [];
      for (const number of numbers(Math.min(together, count - from)).map((at) => from + at)) {
        const order = anOrder({
          org,
          request: derivedUuid('crowd', number),
          design: { id: design, slug: null, copied: false, front: null },
          contact: contactIdOf(org, 'crowd-0'),
          reference: `crowd-${number}`,
        });
        writes.push(this.#begun(card, codeOf(number), org, historyOf(number, order)));
        if (number % 4 < 2) continue;
        const command = this.#command(org);
        const slot = { card: codeOf(number), revision: 0, command: command.id };
        const event = spend(slot)(account.state);
        account = { ...account, state: ledger.evolve(account.state, event) };
        spends.push({ event, command, id: movementId(org, 'CreditSpent', slot) });
      }
      const paid = this.#streams.write(ledger, account, spends);
      account = this.#after(account, paid);
      await this.#append([paid, ...writes]);
    }
  }

  #contacts(org: OrganizationId, count: number): Promise<void> {
    const at = this.#command(org).at;
    return this.#many(count, (number) => {
      const externalId = `crowd-${number}`;
      const { name, ...address } = letter.recipient;
      const details = {
        externalId,
        name,
        firstName: 'Ada',
        lastName: 'Lovelace',
        company: 'Analytical Engines',
        jobTitle: null,
        email: 'ada@example.com',
        phone: null,
        address: { ...address, country: 'US' as const },
        birthday: null,
        workAnniversary: null,
      };
      const id = contactIdOf(org, externalId);
      return [this.#begun(contact, id, org, saveContact(org, details, at)(null))];
    });
  }

  /** One of each thing that is not limited. */
  #otherThings(org: OrganizationId, at: number): readonly StreamWrite[] {
    const other = OrganizationId.parse(derivedUuid('crowd', 'organization', at));
    const key = { label: `Key ${at}`, requestsPerMinute: null };
    const hookSettings = { label: `Hook ${at}`, design: null, template: 'Dear {{name}}', signedBy: null };
    const email = `person-${at}@example.com`;
    return [
      this.#begun(
        organization,
        other,
        other,
        createOrganization(`Organization ${at}`, 'Everyday')({ status: 'none' }),
      ),
      this.#begun(ledger, other, other, [
        {
          type: 'CreditsPurchased',
          data: { amount: 10, cause: this.#command(other).id, balance: 10, reason: null },
        },
      ]),
      this.#begun(
        apiKey,
        derivedUuid('crowd', 'key', at),
        org,
        issueKey({ org, ...key, scopes: [...scopes] })({ status: 'none' }),
      ),
      this.#begun(
        apiKey,
        derivedUuid('crowd', 'operator key', at),
        house,
        issueOperatorKey({ label: key.label, scopes: [], expiresAt: null })({ status: 'none' }),
      ),
      this.#begun(
        hook,
        derivedUuid('crowd', 'hook', at),
        org,
        createHook(org, hookSettings)({ status: 'none' }),
      ),
      this.#begun(doNotMail, doNotMailId(org, email), org, addToDoNotMail(email)(doNotMail.initial)),
      this.#begun(collectionCard, `crowd-${at}`, null, putCollectionCard(`Card ${at}`, true, null)(null)),
      this.#begun(handwriting, handwritingId(`Hand ${at}`), null, putHandwriting(`Hand ${at}`, true)(null)),
    ];
  }

  /** The most designs, endpoints and people, each changed again and again. */
  async #onLongStreams(org: OrganizationId, design: Uuid, changes: number): Promise<void> {
    const saved = numbers(designs).map((at): OrganizationEvent => ({
      type: 'DesignSaved',
      data: {
        design: { id: derivedUuid('crowd', 'design', at), name: `Design ${at}`, slug: null, artwork: null },
      },
    }));
    const renamed = numbers(changes).map((at): OrganizationEvent => ({
      type: 'DesignRenamed',
      data: { id: design, name: `Name ${at}` },
    }));
    await this.#long(organization, org, [...saved, ...renamed]);
    const { at } = this.#command(org);
    const endpointId = (at: number) => derivedUuid('crowd', 'endpoint', at);
    const registered = numbers(endpoints).map((number): WebhookEvent => ({
      type: 'EndpointRegistered',
      data: {
        id: endpointId(number),
        url: `https://receiver.invalid/${number}`,
        events: [],
        description: null,
        secret: { key: 'crowd', generation: number },
        at,
      },
    }));
    const switchedOff = numbers(endpoints).map((number): WebhookEvent => ({
      type: 'EndpointDisabled',
      data: { id: endpointId(number), reason: 'It did not answer.' },
    }));
    const changed = numbers(changes).map((number): WebhookEvent => ({
      type: 'EndpointChanged',
      data: { id: endpointId(number % endpoints), events: [], description: `Change ${number}` },
    }));
    await this.#long(webhookEndpoints, org, [...registered, ...switchedOff, ...changed]);
    for (const [of, role] of [
      [org, 'viewer'],
      [house, 'floor'],
    ] as const) {
      const memberId = (at: number) => derivedUuid('crowd', 'member', of, at);
      const invited = numbers(people).map((number): MembersEvent => ({
        type: 'MemberInvited',
        data: {
          id: memberId(number),
          role,
          invitation: derivedUuid('crowd', 'invitation', of, number),
          expires: at,
          personal: { email: `member-${number}@example.com`, name: `Member ${number}` },
        },
      }));
      const moved = numbers(changes).map((number): MembersEvent => ({
        type: 'RoleChanged',
        data: { id: memberId(number % people), role },
      }));
      await this.#long(members, of, [...invited, ...moved]);
    }
  }

  async #deliveries(org: OrganizationId, endpoint: Uuid, count: number): Promise<void> {
    const now = this.clock.now();
    for (let from = 0; from < count; from += 2_000)
      await this.engine.deliveries.log.insert(
        numbers(Math.min(2_000, count - from)).map((at) => {
          const event = `evt_crowd${from + at}`;
          return {
            id: deliveryIdOf(event, endpoint) as DeliveryId,
            org,
            endpoint,
            event,
            type: 'card.created',
            card: codeOf(from + at),
            position: BigInt(from + at + 1),
            occurredAt: now,
            body: JSON.stringify({ id: event, type: 'card.created' }),
            due: now + 6 * 3_600_000,
            allowed: 6,
            expires: now + 24 * 3_600_000,
            dropReason: at % 4 === 0 ? null : 'It was dropped.',
          };
        }),
      );
  }

  /** Calls of a hook, and requests of the operator about the organization. */
  async #records(org: OrganizationId, hook: Uuid, count: number): Promise<void> {
    const at = this.#command(org).at;
    await Promise.all(
      numbers(count).map((number) =>
        this.engine.hookCalls.record({
          id: derivedUuid('crowd', 'call', number),
          hook,
          org,
          at,
          status: 422,
          code: 'missing_name',
          card: null,
          requestId: `req_call${number}`,
        }),
      ),
    );
    for (const number of numbers(count))
      this.engine.requests.record({
        id: `req_crowd${number}`,
        at,
        method: 'GET',
        route: '/operator/v1/organizations/{org}',
        status: 200,
        code: null,
        ms: 1,
        actor: { kind: 'operator', id: null },
        org,
        address: '127.0.0.1',
        idempotencyKey: null,
        wrote: [],
        subjects: [org],
      });
  }
}
