import { LazyLru } from '../memory/lazy-lru.js';
import { apiKey, keyIdOf, type ApiKey, type KeyScope } from '../../domain/api-key.js';
import { DomainError } from '../../domain/errors.js';
import type { Milliseconds, OrganizationId, Uuid } from '../../domain/ids.js';
import type { KeyUses } from './buffered-key-uses.js';
import type { Clock } from '../ports/system.js';
import type { Loaded, Streams } from '../writing/streams.js';
import type { Suspensions } from '../organizations/suspensions.js';

/** The API key of a request, and its organization. */
export interface KeyHolder {
  readonly keyId: Uuid;
  readonly org: OrganizationId;
  readonly label: string | null;
  readonly scopes: readonly KeyScope[];
  readonly requestsPerMinute: number | null;
  readonly isSuspended: boolean;
}

const cacheTtl: Milliseconds = 4_000;
const maxRemembered = 10_000;

/**
 * Finds the holder of an API key. A key's state is trusted for 4 s after it was read. A revocation therefore
 * takes effect at once in the process that makes it, and within 5 s in the others. While the event store is
 * unavailable, the last known state counts. (decision 51: the form of a key, and how it is refused)
 */
export class Authenticator {
  readonly #ids = new LazyLru<string, Uuid>(maxRemembered);
  readonly #checked = new LazyLru<Uuid, { readonly state: ApiKey; readonly at: Milliseconds }>(maxRemembered);
  readonly #reading = new Map<Uuid, Promise<ApiKey>>();

  constructor(
    private readonly streams: Streams,
    private readonly clock: Clock,
    private readonly uses: KeyUses,
    private readonly suspensions: Pick<Suspensions, 'refuses'>,
  ) {}

  /**
   * Throws `invalid_key`, `revoked_key` (also for a key that has expired), and EventStoreUnavailable if this
   * process hasn't seen the key before.
   */
  async authenticate(secret: string): Promise<KeyHolder> {
    const keyId = this.#idOf(secret);
    const state = await this.#stateOf(keyId);
    if (state.status === 'none')
      throw new DomainError('invalid_key', 'This API key is unknown. Check that you copied all of it.');
    if (state.status === 'revoked')
      throw new DomainError('revoked_key', 'This API key was revoked. Use another one.');
    if (state.expiresAt !== null && state.expiresAt <= this.clock.instant())
      throw new DomainError('revoked_key', `This API key expired at ${state.expiresAt}. Use another one.`);
    this.uses.used(keyId, this.clock.instant());
    return {
      keyId,
      org: state.org,
      label: state.label,
      scopes: state.scopes,
      requestsPerMinute: state.requestsPerMinute,
      isSuspended: await this.suspensions.refuses(state.org),
    };
  }

  /** Makes the next request with this key read its stream. */
  forget(keyId: Uuid): void {
    this.#checked.delete(keyId);
    this.#reading.delete(keyId);
  }

  #idOf(secret: string): Uuid {
    const known = this.#ids.get(secret);
    if (known !== undefined) return known;
    const id = keyIdOf(secret);
    this.#ids.set(secret, id);
    return id;
  }

  async #stateOf(keyId: Uuid): Promise<ApiKey> {
    const now = this.clock.monotonic();
    const known = this.#checked.get(keyId);
    if (known !== undefined && now - known.at < cacheTtl)
      return this.streams.lastKnown(apiKey, keyId)?.state ?? known.state;
    const reading =
      this.#reading.get(keyId) ?? this.#read(keyId, known?.state).finally(() => this.#reading.delete(keyId));
    this.#reading.set(keyId, reading);
    return reading;
  }

  async #read(keyId: Uuid, known: ApiKey | undefined): Promise<ApiKey> {
    const at = this.clock.monotonic();
    const { state } = await this.streams
      .load(apiKey, keyId)
      .catch((error: unknown): Pick<Loaded<ApiKey>, 'state'> => {
        if (known === undefined) throw error;
        return { state: known };
      });
    if (state.status !== 'none') this.#checked.set(keyId, { state, at });
    return state;
  }
}
