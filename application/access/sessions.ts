import { hash } from 'node:crypto';
import { z } from 'zod';
import { LazyLru } from '../memory/lazy-lru.js';
import { Instant, type Milliseconds } from '../../domain/ids.js';
import type { FoundSignInRecord } from '../ports/records.js';
import type { Clock, Entropy } from '../ports/system.js';
import { epochOf, type CredentialDeps } from './credentials.js';

/** The owner of sessions and links of the operator of the service, who has no account. */
export const root = 'root';

const hour: Milliseconds = 60 * 60 * 1000;
const idleTimeout: Milliseconds = 12 * hour;
const maxAge: Milliseconds = 14 * 24 * hour;
const maxOperatorAge: Milliseconds = 8 * hour;
/** How exactly is known when a session was used last. */
const touchInterval: Milliseconds = 60_000;
const cacheTtl: Milliseconds = 4_000;
const maxRemembered = 10_000;
/** Of one account: a page shows all of them. */
const maxSessions = 50;

const Kept = z.object({
  created: Instant,
  /** Exact to a minute. */
  seen: Instant,
  /** The browser, in words. */
  browser: z.string(),
  /** The epoch of the password that opened it; null without one. */
  epoch: z.string().nullable(),
});

export interface Session extends Readonly<z.infer<typeof Kept>> {
  /** SHA-256 of its token: knowing it doesn't let anyone in. */
  readonly id: string;
  /** An account, or `root`. */
  readonly owner: string;
}

export const hashOf = (token: string): string => hash('sha256', token);

/** 256 random bits that a browser holds, and that nothing keeps. */
export const newToken = (entropy: Entropy): string => entropy.bytes(32).toString('base64url');

const sessionOf = ({ id, owner, data }: FoundSignInRecord): Session => ({ id, owner, ...Kept.parse(data) });

export interface SessionsDeps extends CredentialDeps {
  readonly clock: Clock;
}

/**
 * Sessions of people who are signed in. A session ends after 12 hours without use, and after 14 days in any
 * case; the operator's after 8 hours. A new password ends all. A session is trusted for 4 s after it was
 * read: signing out takes effect at once in the process that does it, and within 5 s in others. All methods
 * throw SignInUnavailable.
 */
export class Sessions {
  readonly #known = new LazyLru<string, { readonly session: Session; readonly at: Milliseconds }>(
    maxRemembered,
  );
  /** Rises when sessions are ended: one that was read meanwhile may be over, and isn't remembered. */
  #ends = 0;

  constructor(private readonly deps: SessionsDeps) {}

  /**
   * Returns the token that the browser gets. `epoch`: that of the password which it is opened with. Of too
   * many of an account, those end that were not used for longest.
   */
  async open(owner: string, browser: string, epoch: string | null = null): Promise<string> {
    const { signInRecords, clock, entropy } = this.deps;
    if (owner !== root)
      for (const { id } of (await this.listOf(owner)).slice(maxSessions - 1)) await this.end(id);
    const token = newToken(entropy);
    const created = clock.instant();
    const data = { created, seen: created, browser, epoch };
    const ends = this.#end(owner, created);
    await signInRecords.add({ kind: 'session', id: hashOf(token), owner, data, ends });
    return token;
  }

  /** The session of a token, and, unless `touch` is false, that it was used now; null if there is none. */
  async use(token: string, { touch = true } = {}): Promise<Session | null> {
    const { signInRecords, clock } = this.deps;
    const id = hashOf(token);
    const known = this.#known.get(id);
    const isDue = ({ seen }: Session): boolean => touch && clock.now() - Date.parse(seen) >= touchInterval;
    if (known !== undefined && clock.monotonic() - known.at < cacheTtl && !isDue(known.session))
      return known.session;
    this.#known.delete(id);
    const [before, at] = [this.#ends, clock.monotonic()];
    const found = await signInRecords.find('session', id);
    if (found === null) return null;
    // A sign-in with the password that was right until just now may open one after all were ended.
    if (found.owner !== root && (await epochOf(this.deps, found.owner)) !== sessionOf(found).epoch)
      return null;
    const session = isDue(sessionOf(found)) ? await this.#touched(found) : sessionOf(found);
    if (before === this.#ends) this.#known.set(id, { session, at });
    return session;
  }

  async end(id: string): Promise<void> {
    try {
      await this.deps.signInRecords.remove('session', id);
    } finally {
      this.#ends += 1;
      this.#known.delete(id);
    }
  }

  /** Ends every session of an owner but for one, which goes on in an epoch. */
  async endAll(owner: string, except: Session | null, epoch: string | null): Promise<void> {
    const { signInRecords } = this.deps;
    try {
      for (let isKept = except === null; !isKept;) {
        const found = await signInRecords.find('session', except?.id ?? '');
        isKept =
          found === null || (await signInRecords.change(found, { ...found, data: { ...found.data, epoch } }));
      }
      await signInRecords.removeAllOf('session', owner, except?.id ?? null);
    } finally {
      this.#ends += 1;
      for (const [id, { session }] of this.#known.entries())
        if (session.owner === owner) this.#known.delete(id);
    }
  }

  /** The sessions of an owner, most recently used first. */
  async listOf(owner: string): Promise<readonly Session[]> {
    const found = (await this.deps.signInRecords.listOf('session', owner)).map(sessionOf);
    return found.toSorted((a, b) => (a.seen < b.seen ? 1 : -1));
  }

  async #touched(found: FoundSignInRecord): Promise<Session> {
    const { signInRecords, clock } = this.deps;
    const session = sessionOf(found);
    const { created, browser, epoch } = session;
    const data = { created, seen: clock.instant(), browser, epoch };
    // Another process may have touched it at the same moment: then that is as good. A full disk that refuses
    // it ends no session.
    await signInRecords.change(found, { data, ends: this.#end(found.owner, created) }).catch(() => false);
    return { ...session, seen: data.seen };
  }

  #end(owner: string, created: Instant): Milliseconds {
    const begun = Date.parse(created);
    if (owner === root) return begun + maxOperatorAge;
    return Math.min(this.deps.clock.now() + idleTimeout, begun + maxAge);
  }
}
