import type {
  WebhookSender,
  AttemptResult,
  WebhookRequest,
} from '../../../../application/ports/webhook-sender.js';
import type { Clock } from '../../../../application/ports/system.js';
import type { Milliseconds } from '../../../../domain/ids.js';
import type { Dice } from './dice.js';
import type { Life } from '../life.js';
import type { Weather } from './weather.js';

/** One request that a receiver has got. */
export interface Received {
  readonly delivery: string;
  readonly url: string;
  readonly body: string;
  readonly began: Milliseconds;
  /** What the service was told; null if nothing. */
  readonly told: number | null;
  /** Of the process that sent it. */
  readonly life: Life;
}

/** Where receivers fail, this one always does; the others take every fourth delivery never. */
const deadUrl = 'https://two.test/';
/** Within this, what an attempt came to has been recorded, if the stores are there. */
const timeToRecord = 1_000;

/** The receivers of all webhooks. */
export class Receivers {
  readonly received: Received[] = [];
  /** How many attempts were under way at once at most, by process and URL. */
  readonly maxAtOnce = new Map<string, number>();
  readonly #underWay = new Map<string, number>();
  #sending = 0;
  #endedAt = -Infinity;

  constructor(
    private readonly clock: Clock,
    private readonly timeout: Milliseconds,
    private readonly weather: () => Weather,
    private readonly dice: Dice,
  ) {}

  /** How a process reaches them. */
  senderFor(process: string, life: Life): WebhookSender {
    const never = new Promise<never>(() => {});
    return {
      vet: () => Promise.resolve(),
      close: () => Promise.resolve(),
      send: async ({ url, headers, body, mayStart }, signal) => {
        await this.clock.sleep(this.dice.below(this.dice.chance(80) ? 3_000 : 30));
        await life.awake();
        if (life.signal.aborted) return never;
        if (signal?.aborted === true || !mayStart()) return 'withheld';
        const result = await this.#counted(`${process} ${url}`, () =>
          this.#receive({ url, headers, body }, life),
        );
        await life.awake();
        return life.signal.aborted ? never : result;
      },
    };
  }

  /** Whether an attempt is under way, or its outcome may not have been recorded yet. */
  get areAtWork(): boolean {
    return this.#sending > 0 || this.clock.now() < this.#endedAt + timeToRecord;
  }

  async #counted<T>(name: string, work: () => Promise<T>): Promise<T> {
    const now = (this.#underWay.get(name) ?? 0) + 1;
    this.#underWay.set(name, now);
    this.maxAtOnce.set(name, Math.max(now, this.maxAtOnce.get(name) ?? 0));
    this.#sending += 1;
    try {
      return await work();
    } finally {
      this.#underWay.set(name, (this.#underWay.get(name) ?? 0) - 1);
      this.#sending -= 1;
      this.#endedAt = this.clock.now();
    }
  }

  async #receive(
    { url, headers, body }: Pick<WebhookRequest, 'url' | 'headers' | 'body'>,
    life: Life,
  ): Promise<AttemptResult> {
    const { failing, hanging, lying } = this.weather();
    const delivery = headers['service-delivery'] ?? '';
    const began = this.clock.now();
    const note = (told: number | null): void =>
      void this.received.push({ delivery, url, body, began, told: life.signal.aborted ? null : told, life });
    if (this.dice.chance(hanging)) {
      await this.clock.sleep(this.timeout);
      note(null);
      return { httpStatus: null, error: 'no response in time', body: null, duration: this.timeout };
    }
    const duration = this.dice.below(200);
    await this.clock.sleep(duration);
    const isHopeless = failing > 0 && (url === deadUrl || /[0-3]$/.test(delivery));
    const status = isHopeless || this.dice.chance(failing) ? (this.dice.chance(500) ? 500 : 302) : 200;
    const told = this.dice.chance(lying) ? (status === 200 ? 503 : 204) : status;
    note(told);
    return { httpStatus: told, error: null, body: `as the receiver says of ${body}`, duration };
  }
}
