import { mailboxIdOf } from '../../domain/account.js';
import { DomainError, insteadOf } from '../../domain/errors.js';
import { countTries } from './count-tries.js';
import { credentialsOf, strengthenCredential, type Credential } from './credentials.js';
import type { Device } from './devices.js';
import type { PeopleDeps } from './people.js';
import type { PasswordClient } from '../ports/passwords.js';
import type { RateLimiter } from '../ports/rate-limiter.js';

export interface SignInDeps extends Pick<PeopleDeps, 'signInRecords' | 'passwords' | 'clock'> {
  readonly rateLimiter: RateLimiter;
}

/**
 * How many passwords are tried in a clock minute: of a network for all, and for one e-mail address; of all
 * networks for one e-mail address, after which each still has its first ones; and of the browsers that have
 * signed in to one account.
 */
export const triesPerMinute = { network: 60, mailboxOfNetwork: 20, mailbox: 500, first: 3, devices: 20 };

export interface Trier {
  /** The address that they come from. */
  readonly network: string;
  /** Where their browser has signed in before. */
  readonly devices: readonly Device[];
}

/**
 * Which of the accounts of an e-mail address a password opens; null if none, which costs the same however
 * many there are. Each try counts before it costs anything. A browser that has signed in to one of them has
 * tries of its own at that one, which others don't use up. Throws `rate_limited`, TooManySignIns,
 * SignInUnavailable.
 */
export const accountWith = async (
  deps: SignInDeps,
  email: string,
  password: string,
  { network, devices }: Trier,
): Promise<Credential | null> => {
  const { passwords } = deps;
  const mailbox = mailboxIdOf(email);
  const credentials = await credentialsOf(deps, mailbox);
  const amongst = async (
    tried: readonly Credential[],
    client: PasswordClient,
    countTry: () => Promise<unknown>,
  ): Promise<Credential | null> => {
    await countTry();
    const hashes = tried.map(({ hash }) => hash);
    const matched = await passwords.check(password, hashes, client);
    const credential = tried.find(({ hash }) => hash === matched?.hash) ?? null;
    if (credential !== null && matched?.isOutdated === true) {
      const like = credentials.map(({ hash }) => hash);
      await strengthenCredential(deps, credential, await passwords.hash(password, like, client));
    }
    return credential;
  };
  const counted = (limits: Readonly<Record<string, number>>) =>
    countTries(deps, limits, 'There were too many tries to sign in. Wait a minute.');
  const ofNetwork = async (): Promise<void> => {
    const [, tries = 0] = await counted({
      [`sign-in from ${network}`]: triesPerMinute.network,
      [`sign-in to ${mailbox} from ${network}`]: triesPerMinute.mailboxOfNetwork,
    });
    const isFirst = tries <= triesPerMinute.first;
    await counted({ [`sign-in to ${mailbox}`]: isFirst ? Infinity : triesPerMinute.mailbox });
  };
  const own = credentials.find(({ account, epoch }) =>
    devices.some((device) => device.account === account && device.epoch === epoch),
  );
  if (own === undefined) return amongst(credentials, { from: network }, ofNetwork);
  const from = `devices of ${own.account}`;
  const opened = await amongst([own], { from, isKnown: true }, () =>
    counted({ [`sign-in by ${from}`]: triesPerMinute.devices }),
  );
  if (opened !== null) return opened;
  // Wrong for the account that the browser knows; if it is refused, the others are under attack.
  return amongst(credentials, { from: network }, ofNetwork).catch(insteadOf(DomainError, null));
};
