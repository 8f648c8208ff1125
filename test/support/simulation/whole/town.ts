import type { OrganizationId } from '../../../../domain/ids.js';
import type { Answer, Call } from '../invariants.js';
import { ask, type Asked, type Reply } from './connection.js';
import { Dice } from './dice.js';
import type { House } from './house.js';
import type { Process } from './processes.js';
import { operatorToken } from './settings.js';

/** A send under a key, to be made again. */
export interface Wish {
  readonly key: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** On which day: keys are remembered for 24 hours. */
  readonly day: number;
}

interface Customer {
  readonly org: OrganizationId;
  readonly key: string;
}

/** The customer that everything is done with. */
interface WholeCustomer extends Customer {
  /** A key that may only read. */
  readonly readKey: string;
  readonly hook: string;
}

const allScopes = ['cards:send', 'cards:read', 'contacts:write', 'contacts:read', 'webhooks:manage'];
const patience = 90_000;

/** The customers and the operator of a simulated service, and what all of them remember. */
export class Town {
  readonly history: Call[] = [];
  readonly wishes: Wish[] = [];
  readonly codes: string[] = [];
  readonly contacts: string[] = [];
  /** Deliveries that were made due by hand, whatever had become of them. */
  readonly retried = new Set<string>();
  /** Endpoints whose events were replayed. */
  readonly replayed = new Set<string>();
  /** Endpoints by URL, and when the DELETE of each deleted one was answered. */
  readonly endpoints = new Map<string, string>();
  readonly deletedAt = new Map<string, number>();
  /** What buyers were told of purchases under a reference. */
  readonly purchases: { readonly reference: string; readonly balance: number }[] = [];
  /** How many are suspending the other customer now. */
  suspending = 0;
  asked = 0;
  made = 0;

  /** Chance for looks that are made beside what a client does. */
  readonly beside: Dice;

  private constructor(
    readonly house: House,
    readonly acme: WholeCustomer,
    readonly beta: Customer,
  ) {
    this.beside = new Dice(house.seed, 'beside');
  }

  /** In calm weather. */
  static async open(house: House, dice: Dice): Promise<Town> {
    const must = async (path: string, body: unknown, token = operatorToken): Promise<Reply> => {
      const process = house.process(dice);
      const reply = process && (await send(house, process, { method: 'POST', path, body, token }));
      if (reply?.status !== 201) throw new Error(`${path} in calm weather: ${reply?.status} ${reply?.text}`);
      return reply;
    };
    const pathOf = (org: OrganizationId): string => `/operator/v1/organizations/${org}`;
    const keyWith = async (org: OrganizationId, scopes: readonly string[]): Promise<string> =>
      String((await must(`${pathOf(org)}/keys`, { scopes })).body['key']);
    const customer = async (name: string): Promise<Customer> => {
      const org = String((await must('/operator/v1/organizations', { name })).body['id']) as OrganizationId;
      await must(`${pathOf(org)}/credits`, { amount: 6 });
      await must(`${pathOf(org)}/designs`, { name: 'Thanks' });
      return { org, key: await keyWith(org, allScopes) };
    };
    const acme = await customer('Acme');
    const readKey = await keyWith(acme.org, ['cards:read']);
    const template = 'Dear {{first_name}}, thank you.';
    const hook = String((await must(`${pathOf(acme.org)}/hooks`, { template })).body['token']);
    const town = new Town(house, { ...acme, readKey, hook }, await customer('Beta'));
    for (const url of ['https://one.test/', 'https://two.test/']) {
      const { body } = await must('/api/v1/webhooks', { url }, town.acme.key);
      town.endpoints.set(url, String(body['id']));
    }
    return town;
  }

  /** Asks a process, or any. Null: no response within a while. */
  async ask(
    dice: Dice,
    asked: Asked,
    process: Process | null = this.house.process(dice),
  ): Promise<Reply | null> {
    this.asked += 1;
    if (process !== null) return send(this.house, process, asked);
    await this.house.clock.sleep(1_000);
    return null;
  }

  /** Asks another process than this one, if there is another. */
  async askElsewhere(asked: Asked, by: Process | null): Promise<Reply | null> {
    const others = this.house.places.filter((each) => each !== by && !each.life.signal.aborted);
    return this.ask(this.beside, asked, this.beside.pick(others) ?? by);
  }

  asOperator(dice: Dice, method: string, path: string, body?: unknown): Promise<Reply | null> {
    return this.ask(dice, { method, path: `/operator/v1${path}`, body, token: operatorToken });
  }

  note(does: Call['does'], reply: Reply | null, { org }: Customer = this.acme): void {
    const refunded = reply?.body['credits_refunded'];
    const answer: Answer | null = reply && {
      status: reply.status,
      error: reply.code,
      card: typeof reply.body['id'] === 'string' ? reply.body['id'] : null,
      refunded: typeof refunded === 'number' ? refunded : null,
      replay: reply.headers.get('idempotent-replay') === 'true',
      body: reply.status === 201 ? reply.text : '',
    };
    const requestId = reply?.headers.get('x-request-id') ?? null;
    this.history.push({ org, does, requestId, answer });
  }
}

const send = async (house: House, { server, life }: Process, asked: Asked): Promise<Reply | null> => {
  const answered = new AbortController();
  const gone = Promise.race([life.death, house.clock.sleep(patience, answered.signal)]);
  try {
    await Promise.race([life.awake(), gone]);
    return await ask(server, asked, gone);
  } finally {
    answered.abort('answered');
  }
};
