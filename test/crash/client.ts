import type { SeededEntropy } from '../support/memory/entropy.js';
import type { OrganizationId } from '../../domain/ids.js';
import type { Answer, Call } from '../support/simulation/invariants.js';

interface Fields {
  readonly id?: string;
  readonly credits_refunded?: number;
  readonly error?: { readonly code?: string };
}

/** A send that can be repeated: the same key with the same body. */
interface Wish {
  readonly key: string | null;
  readonly body: string;
}

export interface Organization {
  readonly id: OrganizationId;
  readonly key: string;
  readonly operatorToken: string;
}

/** Clients of one organization that remember every call and its response. */
export class Clients {
  readonly history: Call[] = [];
  readonly #wishes: Wish[] = [];
  readonly #cards: string[] = [];
  #stopped = false;

  constructor(
    private readonly url: string,
    readonly organization: Organization,
    private readonly dice: SeededEntropy,
  ) {}

  /**
   * Runs `count` clients at once, each of which makes random calls one after the other until it is stopped or
   * gets no response.
   */
  async work(count: number): Promise<void> {
    this.#stopped = false;
    const client = async (): Promise<void> => {
      while (!this.#stopped && (await this.#anything()).answer !== null);
    };
    await Promise.all(Array.from({ length: count }, client));
  }

  stop(): void {
    this.#stopped = true;
  }

  /** Repeats every send with a key that has no card yet, as a client does that was cut off. */
  async findOut(): Promise<void> {
    const answered = this.#answeredKeys();
    await Promise.all(
      this.#wishes.filter(({ key }) => key !== null && !answered.has(key)).map((wish) => this.#send(wish)),
    );
  }

  /** The keys that never got a card and whose last response doesn't report an empty balance either. */
  get stuck(): readonly string[] {
    const answered = this.#answeredKeys();
    const last = new Map(
      this.history.flatMap(({ does, answer }) =>
        does.kind === 'send' && does.key !== null ? [[does.key, answer] as const] : [],
      ),
    );
    return [...last].flatMap(([key, answer]) =>
      answered.has(key) || answer?.status === 402 ? [] : [`${key}: ${answer?.status} ${answer?.error}`],
    );
  }

  #answeredKeys(): ReadonlySet<string> {
    return new Set(
      this.history.flatMap(({ does, answer }) =>
        does.kind === 'send' && does.key !== null && answer?.status === 201 ? [does.key] : [],
      ),
    );
  }

  /** The codes of all cards and their statuses as the list shows them, newest first. */
  async list(): Promise<readonly (readonly [code: string, status: string])[]> {
    const rows: (readonly [string, string])[] = [];
    for (let after: string | null = ''; after !== null;) {
      const response: Response = await fetch(`${this.url}/api/v1/cards?limit=200&starting_after=${after}`, {
        headers: this.#headers,
      });
      const page = (await response.json()) as {
        readonly data: readonly { readonly id: string; readonly status: string }[];
        readonly next_cursor: string | null;
      };
      rows.push(...page.data.map(({ id, status }) => [id, status] as const));
      after = page.next_cursor;
    }
    return rows;
  }

  get #headers(): Readonly<Record<string, string>> {
    return { authorization: `Bearer ${this.organization.key}`, 'content-type': 'application/json' };
  }

  #chance(percent: number): boolean {
    return this.dice.below(100) < percent;
  }

  #anything(): Promise<Call> {
    const card = this.#cards[this.#cards.length - 1 - this.dice.below(8)];
    if (card !== undefined && this.#chance(20)) return this.#cancel(card);
    if (card !== undefined && this.#chance(20))
      return this.#operate(card, this.#chance(50) ? 'hold' : 'release');
    const again = this.#wishes[this.#wishes.length - 1 - this.dice.below(12)];
    if (again !== undefined && again.key !== null && this.#chance(25)) return this.#send(again);
    const recipient = {
      name: 'Ada Lovelace',
      line1: '12 Analytical Way',
      city: 'Springfield',
      state: 'IL',
      zip: '62701',
    };
    const body = JSON.stringify({
      recipient,
      message: this.#chance(15) ? 'Great work 🎉' : 'Thank you, Ada.',
      ...(this.#chance(20) && { design_id: 'card:thank-you-classic' }),
    });
    const wish = { key: this.#chance(75) ? `key-${this.#wishes.length}` : null, body };
    this.#wishes.push(wish);
    return this.#send(wish);
  }

  async #send({ key, body }: Wish): Promise<Call> {
    const headers = { ...this.#headers, ...(key !== null && { 'idempotency-key': key }) };
    const call = await this.#call({ kind: 'send', key, payload: body }, '/api/v1/cards', {
      method: 'POST',
      headers,
      body,
    });
    if (call.answer?.status === 201 && call.answer.card !== null) this.#cards.push(call.answer.card);
    return call;
  }

  #cancel(card: string): Promise<Call> {
    return this.#call({ kind: 'cancel', card }, `/api/v1/cards/${card}`, {
      method: 'DELETE',
      headers: this.#headers,
    });
  }

  #operate(card: string, verb: 'hold' | 'release'): Promise<Call> {
    const headers = { ...this.#headers, authorization: `Bearer ${this.organization.operatorToken}` };
    const body = JSON.stringify(verb === 'hold' ? { reason: 'somebody wants to see it' } : {});
    return this.#call({ kind: 'change', card }, `/operator/v1/cards/${card}/${verb}`, {
      method: 'POST',
      headers,
      body,
    });
  }

  async #call(does: Call['does'], path: string, request: RequestInit): Promise<Call> {
    const call = await this.#answerOf(does, path, request);
    this.history.push(call);
    return call;
  }

  async #answerOf(does: Call['does'], path: string, request: RequestInit): Promise<Call> {
    const org = this.organization.id;
    try {
      const response = await fetch(`${this.url}${path}`, { ...request, signal: AbortSignal.timeout(20_000) });
      const body = await response.text();
      const fields = JSON.parse(body) as Fields;
      const answer: Answer = {
        status: response.status,
        error: fields.error?.code ?? null,
        card: fields.id ?? null,
        refunded: fields.credits_refunded ?? null,
        replay: response.headers.get('idempotent-replay') === 'true',
        body,
      };
      return { org, does, requestId: response.headers.get('x-request-id'), answer };
    } catch {
      return { org, does, requestId: null, answer: null };
    }
  }
}
