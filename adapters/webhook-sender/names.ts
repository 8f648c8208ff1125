import { codeOf, NamedError } from '../../domain/errors.js';
import { Resolver } from 'node:dns/promises';
import { LazyLru } from '../../application/memory/lazy-lru.js';
import { mayTake } from '../../application/webhooks/schedule.js';
import type { Clock } from '../../application/ports/system.js';
import { withTimeout } from '../../application/timing/with-timeout.js';
import type { Milliseconds, OrganizationId } from '../../domain/ids.js';
import { hostsFile, type ResolvedAddress } from './hosts-file.js';
import { NotSent } from './plain-words.js';

/** All addresses of a host name. Rejects if there are none. */
export type Resolve = (hostname: string) => Promise<readonly ResolvedAddress[]>;

/** Lookups at a time, in all and of one organization. The others wait. */
const slots = 500;
const slotsPerOrganization = 8;
/** How long a lookup may take, however many name servers it asks. */
const defaultLookupTimeout: Milliseconds = 5_000;
const queryLimits = { timeout: 2_000, tries: 2 };
const serversTtl: Milliseconds = 60_000;
const failureTtl: Milliseconds = 1_000;
/** Attempts that begin soon after each other share a lookup. */
const successTtl: Milliseconds = 30_000;
const namesKept = 10_000;

/** There are too many lookups: this one could not begin in time. Nothing is known of the name. */
export class TooManyLookups extends NamedError {}

type Addresses = readonly [ResolvedAddress, ...ResolvedAddress[]];

interface Known {
  readonly found: Addresses | Error;
  /** The addresses that were found last. */
  readonly last: readonly ResolvedAddress[];
  readonly until: Milliseconds;
}

export interface NamesOptions {
  readonly clock: Clock;
  readonly resolve?: Resolve | undefined;
  readonly lookupTimeout?: Milliseconds | undefined;
}

/**
 * Resolves host names, each once at a time, however many ask for it. Lookups are shared fairly between
 * organizations: one whose names never resolve delays only itself. Failures are remembered for a second.
 */
export class Names {
  readonly #clock: Clock;
  readonly #resolve: Resolve;
  readonly #known = new LazyLru<string, Known>(namesKept);
  readonly #underWay = new Map<string, Promise<Known>>();
  readonly #waiting = new Set<{ readonly org: OrganizationId; readonly begin: () => void }>();
  readonly #held = new Map<OrganizationId, number>();
  readonly #lookupTimeout: Milliseconds;
  #used = 0;

  constructor({ clock, resolve = resolverOf(clock), lookupTimeout = defaultLookupTimeout }: NamesOptions) {
    this.#clock = clock;
    this.#resolve = resolve;
    this.#lookupTimeout = lookupTimeout;
  }

  /** The addresses that were found last, however long ago; none if the name was never resolved. */
  lastAddressesOf(hostname: string): readonly ResolvedAddress[] {
    return this.#known.get(hostname)?.last ?? [];
  }

  /** The next delivery that needs the name looks it up again. One that has done so may still connect. */
  forget(hostname: string): void {
    const known = this.#known.get(hostname);
    if (known !== undefined) this.#known.set(hostname, { ...known, until: -Infinity });
  }

  /**
   * The addresses of a name. Throws NotSent if there are none, and TooManyLookups if the lookup could not
   * begin within `patience`.
   */
  async addressesOf(hostname: string, org: OrganizationId, patience: Milliseconds): Promise<Addresses> {
    const known = this.#known.get(hostname);
    const { found } =
      known !== undefined && this.#clock.monotonic() < known.until
        ? known
        : await (this.#underWay.get(hostname) ?? this.#lookUpInTurn(hostname, org, patience));
    if (found instanceof Error) throw found;
    return found;
  }

  async #lookUpInTurn(hostname: string, org: OrganizationId, patience: Milliseconds): Promise<Known> {
    await this.#slotFor(org, patience);
    // Another organization may have begun with the same name meanwhile.
    const lookup = this.#underWay.get(hostname) ?? this.#lookUp(hostname);
    this.#underWay.set(hostname, lookup);
    try {
      return await lookup;
    } finally {
      if (this.#underWay.get(hostname) === lookup) this.#underWay.delete(hostname);
      this.#giveBack(org);
    }
  }

  async #lookUp(hostname: string): Promise<Known> {
    const found = await this.#ask(hostname);
    const [last, keptFor] =
      found instanceof Error ? [this.lastAddressesOf(hostname), failureTtl] : [found, successTtl];
    const known = { found, last, until: this.#clock.monotonic() + keptFor };
    this.#known.set(hostname, known);
    return known;
  }

  async #ask(hostname: string): Promise<Addresses | Error> {
    try {
      const asked = this.#resolve(hostname);
      const [first, ...others] = await withTimeout(this.#clock, this.#lookupTimeout, asked, () => {
        throw new NotSent('the name server does not respond');
      });
      if (first !== undefined) return [first, ...others];
      return new NotSent('the host name does not resolve');
    } catch (error) {
      return error instanceof NotSent ? error : new NotSent(reasonOf(error));
    }
  }

  #mayBegin(org: OrganizationId): boolean {
    const held = this.#held.get(org) ?? 0;
    return held < slotsPerOrganization && mayTake(held, slots - this.#used, 1);
  }

  async #slotFor(org: OrganizationId, patience: Milliseconds): Promise<void> {
    if (this.#mayBegin(org)) return this.#take(org);
    let begin = (): void => undefined;
    const turn = new Promise<void>((resolve) => (begin = resolve));
    const waiting = { org, begin };
    this.#waiting.add(waiting);
    await withTimeout(this.#clock, patience, turn, () => {
      if (this.#waiting.delete(waiting)) throw new TooManyLookups(`too many names are being looked up`);
    });
  }

  #take(org: OrganizationId): void {
    this.#used++;
    this.#held.set(org, (this.#held.get(org) ?? 0) + 1);
  }

  #giveBack(org: OrganizationId): void {
    this.#used--;
    const left = (this.#held.get(org) ?? 1) - 1;
    if (left > 0) this.#held.set(org, left);
    else this.#held.delete(org);
    for (const waiting of this.#waiting) {
      if (this.#used >= slots) return;
      if (!this.#mayBegin(waiting.org)) continue;
      this.#waiting.delete(waiting);
      this.#take(waiting.org);
      waiting.begin();
    }
  }
}

/**
 * Asks the hosts file, then the name servers of this machine, for both families. The names are taken as they
 * are: search domains don't apply. (docs/engines.md#outbound-http-undici)
 */
const resolverOf = (clock: Clock): Resolve => {
  const inHostsFile = hostsFile(clock);
  /** A resolver knows the name servers that the machine had when the resolver was made. */
  let known = { madeAt: -Infinity, resolver: new Resolver(queryLimits) };
  const current = (): Resolver => {
    const now = clock.monotonic();
    if (now - known.madeAt >= serversTtl) known = { madeAt: now, resolver: new Resolver(queryLimits) };
    return known.resolver;
  };
  return async (hostname) => {
    const written = await inHostsFile(hostname);
    if (written.length > 0) return written;
    return addressesFrom(current(), hostname, clock);
  };
};

/** How long to wait for the second family: some name servers don't answer for one that a name lacks. */
const otherFamilyWithin: Milliseconds = 500;

/** The addresses of both families, or of the one that the name server answers for. */
export const addressesFrom = async (
  resolver: Pick<Resolver, 'resolve4' | 'resolve6'>,
  hostname: string,
  clock: Pick<Clock, 'sleep'>,
): Promise<readonly ResolvedAddress[]> => {
  const asked = [resolver.resolve4(hostname), resolver.resolve6(hostname)] as const;
  const late = Promise.any(asked)
    .then(() => clock.sleep(otherFamilyWithin))
    .then((): readonly string[] => []);
  const [four, six] = await Promise.allSettled(asked.map((one) => Promise.race([one, late])));
  if (four?.status === 'rejected' && six?.status === 'rejected') throw four.reason;
  return [
    ...(four?.status === 'fulfilled' ? four.value : []).map((address) => ({ address, family: 4 })),
    ...(six?.status === 'fulfilled' ? six.value : []).map((address) => ({ address, family: 6 })),
  ];
};

const unanswered: readonly unknown[] = ['ETIMEOUT', 'ECONNREFUSED', 'ECANCELLED'];
const refused: readonly unknown[] = ['ESERVFAIL', 'EREFUSED', 'EFORMERR', 'ENOTIMP', 'EBADRESP'];

const reasonOf = (error: unknown): string => {
  const code = codeOf(error);
  if (unanswered.includes(code)) return 'the name server does not respond';
  return refused.includes(code) ? 'the name server reports a failure' : 'the host name does not resolve';
};
