import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { announcedBy, PublicEvents } from '../../../application/webhooks/public-deliveries.js';
import type { LoggedEvent } from '../../../domain/events.js';
import { OrganizationId } from '../../../domain/ids.js';
import { cards, type CardDocument } from '../../../projections/cards.js';
import type { Cluster, Node } from './cluster.js';
import { eventually } from '../time/eventually.js';
import { violations, type Call } from '../simulation/invariants.js';
import { startReceiver, type Receiver } from '../http/receiver.js';
import { aCard, clientOf, type Client, type Fields, type Tenant } from '../http/service.js';

const patient = { within: 60_000 };

/**
 * Between two orders of a load: what matters is that some are under way at any time, not how many there are.
 */
const breath = 20;

/** A tenant whose webhooks go to a receiver of its own. */
export interface Party extends Tenant {
  readonly receiver: Receiver;
}

interface Order {
  readonly party: Party;
  /** Null: the order can't be repeated. */
  readonly key: string | null;
  readonly payload: string;
}

/** A public event of the log, which is due to every endpoint of its organization. */
interface Due {
  readonly org: string;
  readonly id: string;
}

export interface Load {
  /** Ends when every order under a key has its card. */
  readonly stop: () => Promise<void>;
  /** Ends it whatever becomes of its orders, after a test that has failed. */
  readonly abandon: () => void;
}

/** The names of the parts that are not ready; null if /readyz can't be reached. */
export const notReady = async (node: Node): Promise<readonly string[] | null> => {
  const answer = await fetch(`${node.baseUrl}/readyz`);
  const body: unknown = await answer.json();
  const parts: unknown = typeof body === 'object' && body !== null && 'parts' in body ? body.parts : null;
  if (!Array.isArray(parts)) return null;
  return parts.flatMap((part: { readonly name: string; readonly ready: boolean }) =>
    part.ready ? [] : [part.name],
  );
};

export const isReady = (node: Node): Promise<true> =>
  eventually(async () => (await notReady(node))?.length === 0, { ...patient, what: 'readiness' });

/** All pages of a list. */
const pages = async (client: Client, path: string): Promise<readonly Fields[]> => {
  const rows: Fields[] = [];
  for (let after = ''; ;) {
    const reply = await client(`${path}?limit=200${after}`);
    expect([path, reply.status]).to.deep.equal([path, 200]);
    rows.push(...reply.rows);
    const next = reply.body['next_cursor'];
    if (typeof next !== 'string') return rows;
    after = `&starting_after=${next}`;
  }
};

const folded = (log: readonly LoggedEvent[], org: string): readonly CardDocument[] => {
  const documents = new Map<string, CardDocument>();
  for (const event of log.filter(({ stream }) => stream.startsWith('card-'))) {
    const document = cards.evolve(documents.get(event.stream) ?? null, event);
    if (document?.org === org) documents.set(event.stream, document);
  }
  return [...documents.values()].reverse();
};

const balanceIn = (log: readonly LoggedEvent[], org: string): unknown => {
  const last = log.findLast(({ stream }) => stream === `credits-${org}`);
  return last !== undefined && 'balance' in last.data ? last.data.balance : 0;
};

/**
 * Clients of a cluster that remember their requests and responses, and the checks of what must hold
 * afterwards.
 */
export class Witness {
  readonly history: Call[] = [];
  readonly parties: Party[] = [];
  readonly #loads = new Set<Load>();
  readonly #orders: Order[] = [];
  readonly #publicEvents: PublicEvents;
  readonly #public: Due[] = [];
  #examined = 0;
  #known: readonly LoggedEvent[] = [];
  /** Deliveries of processes that died may have been sent without a record of it. */
  mayRepeat = false;

  constructor(readonly cluster: Cluster) {
    this.#publicEvents = new PublicEvents(cluster.store);
  }

  /** Resolves when this many more calls of a kind have ended, with a response or without. */
  async answered(count: number, counts: (call: Call) => boolean = () => true): Promise<void> {
    const place = this.history.length;
    for (let more = 1; more <= count; more += 1)
      await eventually(() => this.history.slice(place).filter(counts).length >= more, {
        ...patient,
        what: 'an answer',
      });
  }

  async party(node: Node, credits = 1_000): Promise<Party> {
    const tenant = await node.tenant({ credits });
    const receiver = await startReceiver();
    const party = { ...tenant, receiver };
    this.parties.push(party);
    expect((await party.api('/api/v1/webhooks', { body: { url: receiver.url } })).status).to.equal(201);
    return party;
  }

  /** Sends a card, under a key or without one. The same key is the same order. */
  async send(node: Node, party: Party, key: string | null = null): Promise<Call> {
    const order = { party, key, payload: JSON.stringify(aCard({ reference: key })) };
    this.#orders.push(order);
    return this.#send(node, order);
  }

  cancel(node: Node, party: Party, card: string): Promise<Call> {
    return this.#call(
      clientOf(node.baseUrl, party.key),
      party,
      { kind: 'cancel', card },
      `/api/v1/cards/${card}`,
      { method: 'DELETE' },
    );
  }

  hold(node: Node, party: Party, card: string): Promise<Call> {
    const body = { reason: 'somebody wants to see it' };
    return this.#call(node.operator, party, { kind: 'change', card }, `/operator/v1/cards/${card}/hold`, {
      method: 'POST',
      body,
    });
  }

  /**
   * Orders, some of them under keys that are repeated until there is a card, and cancels and holds now and
   * then. The nodes take turns.
   */
  load(nodes: readonly Node[], party: Party, workers = 2): Load {
    let stopped = false;
    let abandoned = false;
    const node = (): Node => {
      if (abandoned) throw new Error('the load was abandoned');
      return this.#turn(nodes);
    };
    const work = async (worker: number): Promise<void> => {
      for (let number = 0; !stopped; number += 1) {
        const { answer } = await (number % 3 === 2
          ? this.send(node(), party)
          : this.ordered(node, party, `${worker}-${number}`));
        const made = answer?.status === 201 ? answer.card : null;
        if (made !== null && number % 5 === 1) await this.cancel(node(), party, made);
        if (made !== null && number % 5 === 3) await this.hold(node(), party, made);
        await pause(breath);
      }
    };
    const ended = Promise.all(Array.from({ length: workers }, (_, worker) => work(worker)));
    // If the test fails before it stops the load, nobody else is there to hear of it.
    ended.catch(() => undefined);
    const load = {
      stop: async () => {
        stopped = true;
        this.#loads.delete(load);
        await ended;
      },
      abandon: () => {
        stopped = true;
        abandoned = true;
      },
    };
    this.#loads.add(load);
    return load;
  }

  /** Ends every load that a failed test has left: it would fail those after it. */
  abandonLoads(): void {
    for (const load of this.#loads) load.abandon();
    this.#loads.clear();
  }

  /** Sends under a key until there is a card, as a client should. */
  ordered(node: () => Node, party: Party, key: string): Promise<Call> {
    const settle = async (): Promise<Call | null> => {
      const call = await this.send(node(), party, key);
      return call.answer?.status === 201 ? call : null;
    };
    return eventually(settle, { ...patient, what: `a card for ${key}` });
  }

  /**
   * The responses to calls since a place in the history, without repeats: `201`, `500 order_failed`, `none`.
   */
  answersSince(place: number): ReadonlySet<string> {
    return new Set(
      this.history
        .slice(place)
        .map(({ answer }) =>
          answer === null ? 'none' : [answer.status, answer.error].filter((part) => part !== null).join(' '),
        ),
    );
  }

  /**
   * Waits until everything has drained and holds, as a process shows it: keys, log, lists, balances,
   * deliveries.
   */
  async settled(node: Node, parties: readonly Party[] = this.parties): Promise<void> {
    await isReady(node);
    for (const order of this.#orders)
      if (order.key !== null && !this.#isMade(order)) await this.ordered(() => node, order.party, order.key);
    await eventually(async () => {
      const found = violations(await this.log(), this.history, { settled: true });
      if (found.length > 0) throw new Error(found.join('\n'));
      return true;
    }, patient);
    for (const party of parties) {
      const client = clientOf(node.baseUrl, party.key);
      await eventually(async () => {
        const listed = (await pages(client, '/api/v1/cards')).map((row) => [row['id'], row['status']]);
        const log = await this.log();
        expect(listed).to.deep.equal(folded(log, party.org).map(({ code, status }) => [code, status]));
        expect((await client('/api/v1/credits')).body['balance']).to.equal(balanceIn(log, party.org));
        return true;
      }, patient);
      await this.#delivered(node, party);
    }
  }

  async close(): Promise<void> {
    this.abandonLoads();
    for (const { receiver } of this.parties) await receiver.close();
  }

  /**
   * One delivery for every public event, which ended with a 2xx; the receiver got each once, or the same
   * bytes again if that is allowed.
   */
  async #delivered(node: Node, { org, receiver }: Party): Promise<void> {
    await eventually(async () => {
      const due = (await this.#due()).flatMap((each) => (each.org === org ? [each.id] : []));
      const rows = await pages(node.operator, `/operator/v1/organizations/${org}/deliveries`);
      expect(rows.filter((row) => row['status'] !== 'delivered')).to.deep.equal([]);
      expect(rows.map((row) => row['event'])).to.have.members(due);
      const bodies = new Map<string, string[]>();
      for (const { headers, body } of receiver.received) {
        const id = String(headers['service-delivery']);
        bodies.set(id, [...(bodies.get(id) ?? []), body]);
      }
      expect([...bodies.keys()]).to.have.members(rows.map((row) => row['id']));
      for (const same of bodies.values()) expect(new Set(same).size).to.equal(1);
      if (!this.mayRepeat) expect(receiver.received.length).to.equal(rows.length);
      return true;
    }, patient);
  }

  /** The log so far. Nothing in it ever changes, so only what is new is read. */
  async log(): Promise<readonly LoggedEvent[]> {
    const known = this.#known;
    const more = await this.cluster.store.readLog(known.at(-1)?.position ?? 0n, 1_000_000);
    if (known === this.#known) this.#known = [...known, ...more];
    return this.#known;
  }

  /** The public events of the log so far. */
  async #due(): Promise<readonly Due[]> {
    const log = await this.log();
    for (const logged of log.slice(this.#examined)) {
      const announced = logged.stream.startsWith('card-') ? announcedBy(logged) : null;
      const published = announced && (await this.#publicEvents.of(announced));
      if (published) this.#public.push({ org: published.org, id: published.event });
      this.#examined += 1;
    }
    return this.#public;
  }

  #isMade({ party, key }: Order): boolean {
    return this.history.some(
      ({ org, does, answer }) =>
        org === party.org && does.kind === 'send' && does.key === key && answer?.status === 201,
    );
  }

  #turns = 0;
  #turn(nodes: readonly Node[]): Node {
    const node = nodes[(this.#turns += 1) % nodes.length];
    if (node === undefined) throw new Error('there is no node');
    return node;
  }

  #send(node: Node, { party, key, payload }: Order): Promise<Call> {
    const headers = key === null ? {} : { 'idempotency-key': key };
    return this.#call(
      clientOf(node.baseUrl, party.key),
      party,
      { kind: 'send', key, payload },
      '/api/v1/cards',
      { method: 'POST', headers, body: payload },
    );
  }

  async #call(
    client: Client,
    party: Party,
    does: Call['does'],
    path: string,
    send: Parameters<Client>[1],
  ): Promise<Call> {
    const org = OrganizationId.parse(party.org);
    const reply = await client(path, send).catch((error: unknown) => {
      // The connection was dropped.
      if (error instanceof TypeError) return null;
      throw error;
    });
    const refunded = reply?.body['credits_refunded'];
    const answer = reply && {
      status: reply.status,
      error: reply.code,
      card: reply.id === '' ? null : reply.id,
      refunded: typeof refunded === 'number' ? refunded : null,
      replay: reply.headers.get('idempotent-replay') === 'true',
      // These processes have no BASE_URL in common: each writes its own address into the card's URL.
      body: reply.text.replace(/"url":"http:\/\/[^/]+/, '"url":"'),
    };
    const call = { org, does, requestId: reply?.headers.get('x-request-id') ?? null, answer };
    this.history.push(call);
    return call;
  }
}
