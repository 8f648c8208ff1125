/** Too many passwords are being checked: try again in some seconds. */
export class TooManySignIns extends Error {
  override readonly name = 'TooManySignIns';
}

/** Slow hashes of passwords. Both throw TooManySignIns. */
export interface Passwords {
  /** A text that holds the hash, its salt and its cost. */
  hash(password: string): Promise<string>;
  /**
   * Whether a password belongs to a hash; null is the hash of nobody, which takes as long and matches
   * nothing. `isOutdated`: it matches, and today's hashes cost more.
   */
  check(
    password: string,
    hash: string | null,
  ): Promise<{ readonly matches: boolean; readonly isOutdated: boolean }>;
}
