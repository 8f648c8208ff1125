import { LRUCache } from 'lru-cache';
import { DomainError } from '../domain/errors.js';
import type { Milliseconds, OrganizationId } from '../domain/ids.js';
import { organization } from '../domain/organization.js';
import type { Clock } from './ports/system.js';
import type { Streams } from './streams.js';

const trustedFor: Milliseconds = 4_000;
const mostRemembered = 10_000;

/**
 * Tells which organizations are suspended. An answer is trusted for 4 s: a suspension works at once in the
 * process that made it, and within 5 s in the others. While the event store is away, the last known state counts.
 */
export class Suspensions {
  readonly #checked = new LRUCache<
    OrganizationId,
    { readonly isSuspended: boolean; readonly at: Milliseconds }
  >({ max: mostRemembered });

  constructor(
    private readonly streams: Streams,
    private readonly clock: Clock,
  ) {}

  /** Throws EventStoreUnavailable if this process has never seen the organization. */
  async isSuspended(org: OrganizationId): Promise<boolean> {
    const now = this.clock.monotonic();
    const known = this.#checked.get(org);
    const remembered = this.#remembered(org);
    if (known !== undefined && now - known.at < trustedFor) return remembered ?? known.isSuspended;
    try {
      const { state } = await this.streams.load(organization, org);
      const isSuspended = state.status === 'created' && state.isSuspended;
      this.#checked.set(org, { isSuspended, at: now });
      return isSuspended;
    } catch (error) {
      const last = remembered ?? known?.isSuspended;
      if (last === undefined) throw error;
      return last;
    }
  }

  /** Throws `suspended`. */
  async assertActive(org: OrganizationId): Promise<void> {
    if (await this.isSuspended(org)) throw suspended();
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
