import { LazyLru } from '../memory/lazy-lru.js';
import { DomainError } from '../../domain/errors.js';
import type { Milliseconds, OrganizationId } from '../../domain/ids.js';
import { organization, type Organization } from '../../domain/organization.js';
import { organizations as projected } from '../../projections/organizations.js';
import type { ReadModels } from '../ports/read-models.js';
import type { Clock } from '../ports/system.js';
import { waitTimeout } from '../projecting/projection-board.js';
import type { ReadYourWrites } from '../projecting/read-your-writes.js';
import type { Loaded, Streams } from '../writing/streams.js';
import { withTimeout } from '../timing/with-timeout.js';

/** An organization's state. A cached state may accept a request, but never refuse one. */
export interface SeenOrganization {
  readonly owner: Loaded<Organization>;
  readonly isRemembered: boolean;
}

/** The states of organizations that sends are decided on. */
export interface Organizations {
  /** With every change that was acknowledged before the call. Throws EventStoreUnavailable. */
  current(org: OrganizationId): Promise<SeenOrganization>;
  /** From its stream. Throws EventStoreUnavailable. */
  read(org: OrganizationId): Promise<Loaded<Organization>>;
}

/** For an event store in this process, where a look at the stream costs next to nothing. */
export const organizationsOf = (streams: Streams): Organizations => ({
  current: async (org) => ({ owner: await streams.load(organization, org), isRemembered: false }),
  read: (org) => streams.load(organization, org),
});

/**
 * Decides on a state that may be cached. A refusal is decided again on the stream: never refuse on stale
 * state.
 */
export const decideFor = async <T>(
  organizations: Organizations,
  org: OrganizationId,
  { owner, isRemembered }: SeenOrganization,
  decide: (owner: Loaded<Organization>) => Promise<T>,
): Promise<T> => {
  if (!isRemembered) return decide(owner);
  try {
    return await decide(owner);
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    return decide(await organizations.read(org));
  }
};

interface CachedOrganization {
  /**
   * The position of the row that was there before the stream was read: the state has all changes up to it.
   */
  readonly row: bigint;
  readonly readAt: Milliseconds;
}

const maxRemembered = 10_000;
const readTimeout: Milliseconds = 300;
/** How long rows are not looked at after a look that failed. */
const pauseAfterFailure: Milliseconds = 1_000;

/**
 * For an event store in a server. A change is acknowledged after the read models have it, so one look at the
 * organization's row, which is shared with concurrent requests, shows whether the state in memory is good.
 * The stream is read if the row is newer, missing or unreliable. (decision 34: reads show acknowledged
 * writes)
 *
 * A write whose projections are late is acknowledged without them after `waitTimeout`. Therefore no cached
 * state is older than that.
 */
export class RememberedOrganizations implements Organizations {
  readonly #known = new LazyLru<OrganizationId, CachedOrganization>(maxRemembered);
  /** Reads under way, and the rows that were there before them. */
  readonly #reading = new Map<
    OrganizationId,
    { readonly row: bigint; readonly owner: Promise<Loaded<Organization>> }
  >();
  #noLookUntil: Milliseconds = -Infinity;

  constructor(
    private readonly streams: Streams,
    private readonly readModels: Pick<ReadModels, 'get'>,
    private readonly readYourWrites: Pick<ReadYourWrites, 'rowsMayBeLate'>,
    private readonly clock: Clock,
  ) {}

  async current(org: OrganizationId): Promise<SeenOrganization> {
    const row = await this.#look(org);
    const known = this.#known.get(org);
    const remembered = this.streams.lastKnown(organization, org);
    if (known !== undefined && known.row === row && remembered !== null && this.#isRecent(known))
      return { owner: remembered, isRemembered: true };
    if (row === null) return { owner: await this.streams.load(organization, org), isRemembered: false };
    // That read began after a look at the same row, so it has all that this one needs.
    const reading = this.#reading.get(org);
    if (reading?.row === row) return { owner: await reading.owner, isRemembered: true };
    return { owner: await this.#readAfter(org, row), isRemembered: false };
  }

  async #readAfter(org: OrganizationId, row: bigint): Promise<Loaded<Organization>> {
    const readAt = this.clock.monotonic();
    const reading = { row, owner: this.streams.load(organization, org) };
    this.#reading.set(org, reading);
    try {
      const owner = await reading.owner;
      this.#known.set(org, { row, readAt });
      return owner;
    } finally {
      if (this.#reading.get(org) === reading) this.#reading.delete(org);
    }
  }

  async read(org: OrganizationId): Promise<Loaded<Organization>> {
    const known = this.#known.get(org);
    const readAt = this.clock.monotonic();
    const owner = await this.streams.load(organization, org);
    if (known !== undefined && this.#known.get(org) === known) this.#known.set(org, { ...known, readAt });
    return owner;
  }

  #isRecent({ readAt }: CachedOrganization): boolean {
    return this.clock.monotonic() - readAt < waitTimeout;
  }

  /** The position of the organization's row; null if nothing follows from it. */
  async #look(org: OrganizationId): Promise<bigint | null> {
    if (this.readYourWrites.rowsMayBeLate() || this.clock.monotonic() < this.#noLookUntil) return null;
    const failed = 'failed';
    const asked = this.readModels.get(projected, org).catch(() => failed);
    const row = await withTimeout(this.clock, readTimeout, asked, () => failed);
    if (typeof row === 'string') {
      this.#noLookUntil = this.clock.monotonic() + pauseAfterFailure;
      return null;
    }
    return row === null || this.readYourWrites.rowsMayBeLate() ? null : row.position;
  }
}
