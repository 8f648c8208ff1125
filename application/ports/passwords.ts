import { NamedError } from '../../domain/errors.js';

/** Too many passwords are being checked, or too many of one network: try again in some seconds. */
export class TooManySignIns extends NamedError {}

/** A network, or the known browsers of an account: these have signed in before, and go before all others. */
export interface PasswordClient {
  readonly from: string;
  readonly isKnown?: boolean;
}

/**
 * Slow hashes of passwords. Each client has few places, and the one that was served least recently goes
 * first. Both throw TooManySignIns.
 */
export interface Passwords {
  /**
   * A text that holds the hash, its salt and its cost. It shares the salt of the hashes that it is `like`,
   * unless hashes cost more today: so equal passwords have equal hashes.
   */
  hash(password: string, like: readonly string[], client: PasswordClient): Promise<string>;
  /**
   * Which of the hashes a password belongs to; null if to none. It takes as long for none as for any number
   * of hashes that share their salt. `isOutdated`: today's hashes cost more.
   */
  check(
    password: string,
    hashes: readonly string[],
    client: PasswordClient,
  ): Promise<{ readonly hash: string; readonly isOutdated: boolean } | null>;
}

/** Judges new passwords away from the thread that answers. */
export interface PasswordJudge {
  /**
   * Explains, in sentences for the person who chose it, why a password would soon be guessed; null if it
   * would not. `known`: facts about the person. Throws TooManySignIns if too many wait, or it takes too long.
   */
  judge(password: string, known: readonly string[], client: PasswordClient): Promise<string | null>;
}
