import { LazyLru } from '../memory/lazy-lru.js';
import { DomainError } from '../../domain/errors.js';
import type { Milliseconds, OrganizationId } from '../../domain/ids.js';
import { organization } from '../../domain/organization.js';
import { organizationsOf, type Organizations } from './organizations.js';
import type { Clock } from '../ports/system.js';
import type { Streams } from '../writing/streams.js';

const cacheTtl: Milliseconds = 4_000;
const maxRemembered = 10_000;

/**
 * Knows which organizations are suspended. An answer is trusted for 4 s: a suspension works at once in the
 * process that made it, and within 5 s in the others; a refusal always follows a read of the stream. While
 * the event store is away, the last known state counts.
 */
export class Suspensions {
  readonly #checked = new LazyLru<
    OrganizationId,
    { readonly isSuspended: boolean; readonly at: Milliseconds }
  >(maxRemembered);
  readonly #reading = new Map<OrganizationId, Promise<boolean>>();

  constructor(
    private readonly streams: Streams,
    private readonly clock: Clock,
    private readonly organizations: Pick<Organizations, 'read'> = organizationsOf(streams),
  ) {}

  /** Throws EventStoreUnavailable if this process has never seen the organization. */
  async isSuspended(org: OrganizationId): Promise<boolean> {
    const known = this.#checked.get(org);
    if (known !== undefined && this.clock.monotonic() - known.at < cacheTtl)
      return this.#remembered(org) ?? known.isSuspended;
    const reading = this.#reading.get(org) ?? this.#read(org).finally(() => this.#reading.delete(org));
    this.#reading.set(org, reading);
    return reading;
  }

  /** Whether its requests are refused now. Throws as `isSuspended`. */
  async refuses(org: OrganizationId): Promise<boolean> {
    return (await this.isSuspended(org)) && (await this.#read(org));
  }

  /** Throws `suspended`. */
  async assertActive(org: OrganizationId): Promise<void> {
    if (await this.refuses(org)) throw suspended();
  }

  /** As far as this process knows, without a look at the store. */
  wasSuspended(org: OrganizationId): boolean {
    return this.#lastKnown(org) ?? false;
  }

  async #read(org: OrganizationId): Promise<boolean> {
    const at = this.clock.monotonic();
    try {
      const { state } = await this.organizations.read(org);
      const isSuspended = state.status === 'created' && state.isSuspended;
      this.#checked.set(org, { isSuspended, at });
      return isSuspended;
    } catch (error) {
      const last = this.#lastKnown(org);
      if (last === undefined) throw error;
      return last;
    }
  }

  #lastKnown(org: OrganizationId): boolean | undefined {
    return this.#remembered(org) ?? this.#checked.get(org)?.isSuspended;
  }

  #remembered(org: OrganizationId): boolean | null {
    const state = this.streams.lastKnown(organization, org)?.state;
    return state?.status === 'created' ? state.isSuspended : null;
  }
}

export const suspended = (): DomainError =>
  new DomainError(
    'suspended',
    'This organization is suspended: its keys and hooks do nothing, and its webhooks wait. Ask the people who run the service.',
  );
