import { countTries } from '../../../application/access/count-tries.js';
import type { Credential } from '../../../application/access/credentials.js';
import type { Device } from '../../../application/access/devices.js';
import type { Chosen } from '../../../application/access/people.js';
import { accountWith, triesPerMinute } from '../../../application/access/sign-in.js';
import { mailboxIdOf } from '../../../domain/account.js';
import { DomainError } from '../../../domain/errors.js';
import { derivedUuid, type Uuid } from '../../../domain/ids.js';
import { countCharacters } from '../../../domain/text.js';
import { household, isOneTooMany } from '../server/caller.js';
import { Field } from '../web/form.js';
import type { Context, Sent } from './page.js';
import { deviceCookie, devicesIn, sessionCookie } from './visitor.js';

type Browser = Pick<Context, 'deps' | 'address' | 'browser' | 'requestId'>;

/** Whom a line of the log is about: an account, or an e-mail address of which no account signs in. */
type About = { readonly account: string } | { readonly mailbox: string };

/**
 * Logs changes of sessions. They are no events, which would make the streams grow with use. Ids stand for
 * accounts and for e-mail addresses.
 */
export const tell = (
  { deps, address, browser, requestId }: Browser,
  about: About,
  what: 'signed in' | 'signed out' | 'signed out elsewhere' | 'sign-in refused',
): void => deps.log.info({ ...about, address, browser, request: requestId }, what);

/** Opens a session of `root`, or of an account. Returns the cookie that holds it. */
export const sessionOf = async (
  context: Context,
  account: string,
  epoch: string | null = null,
): Promise<string> => {
  const { deps, origin, browser } = context;
  const token = await deps.sessions.open(account, browser, epoch);
  tell(context, { account }, 'signed in');
  return sessionCookie(origin, token);
};

/** The cookie by which this browser shows from now on that it has signed in to an account. */
export const knownDevice = ({ deps, origin }: Context, device: Device): string =>
  deviceCookie(origin, device.account, deps.devices.sign(device));

/** Opens a session of an account with its password. Returns the cookies of a browser that is signed in. */
export const signedIn = async (context: Context, device: Device): Promise<readonly string[]> => [
  await sessionOf(context, device.account, device.epoch),
  knownDevice(context, device),
];

/** Counts a link that leads nowhere as a failure of its address. Returns the refusal. */
export const unknownLink = async ({ deps, address }: Browser, message: string): Promise<DomainError> => {
  const isThrottled = await isOneTooMany(deps, address).catch((error: unknown) => {
    deps.log.error({ err: error }, 'failed attempts are not counted');
    return false;
  });
  return isThrottled
    ? new DomainError(
        'rate_limited',
        'There were too many tries to sign in from your network. Wait a minute.',
      )
    : new DomainError('not_found', message);
};

/** Where this browser has signed in: before, by its cookies, and now. */
const devicesOf = ({ deps, origin, cookies, visitor }: Context): readonly Device[] => {
  const known = devicesIn(deps.devices, origin, cookies);
  if (visitor.kind !== 'member' || visitor.session.epoch === null) return known;
  return [...known, { account: visitor.account, epoch: visitor.session.epoch }];
};

/**
 * The account of an e-mail address and its password. Throws `invalid_parameter` with this message if they
 * don't match, and `rate_limited`, TooManySignIns, SignInUnavailable. (decision 72: who may try passwords)
 */
export const accountBy = async (
  context: Context,
  email: string,
  password: string,
  refusal: string,
  field = 'password',
): Promise<Credential> => {
  try {
    const trier = { network: household(context.address), devices: devicesOf(context) };
    const credential = await accountWith(context.deps, email, password, trier);
    if (credential !== null) return credential;
    throw new DomainError('invalid_parameter', refusal, field);
  } catch (error) {
    if (error instanceof DomainError) tell(context, { mailbox: mailboxIdOf(email) }, 'sign-in refused');
    throw error;
  }
};

const minLength = 12;
const maxLength = 256;
/**
 * How many new passwords are judged in a clock minute. Of an e-mail address as many as are tried to sign in:
 * a password of another account of it is refused, which tells something about that password.
 */
export const judgedPerMinute = { address: 30, link: 10, account: 20, mailbox: triesPerMinute.mailbox };

interface Chooser {
  readonly email: string;
  readonly name: string;
  /** The account that it is for; null where that is only made with it. */
  readonly account: Uuid | null;
  /** The token of the link by which it is chosen; null for an account that is signed in. */
  readonly link: string | null;
}

/**
 * A password that is neither short nor easily guessed. Every judgement counts, whatever its result. Throws
 * `invalid_parameter` for its field, `rate_limited` and TooManySignIns.
 */
export const goodPassword = async (
  { deps, address }: Pick<Context, 'deps' | 'address'>,
  sent: Sent,
  { email, name, account, link }: Chooser,
  field = 'password',
): Promise<Chosen> => {
  const password = sent(field);
  const refusal = (message: string): DomainError => new DomainError('invalid_parameter', message, field);
  const characters = countCharacters(password);
  if (characters < minLength || characters > maxLength)
    throw refusal(`A password has ${minLength} to ${maxLength} characters.`);
  const network = household(address);
  await countTries(deps, {
    [`password from ${network}`]: judgedPerMinute.address,
    ...(link !== null && { [`password by ${derivedUuid('link', link)}`]: judgedPerMinute.link }),
    ...(account !== null && { [`password of ${account}`]: judgedPerMinute.account }),
    [`password of ${mailboxIdOf(email)}`]: judgedPerMinute.mailbox,
  });
  const weakness = await deps.judge.judge(password, [email, name], { from: network });
  if (weakness !== null) throw refusal(weakness);
  return { password, param: field, network };
};

/** Tells the browser's password manager which account a password belongs to; it is hidden. */
export const WhosePassword = ({ email }: { readonly email: string }) => (
  <input type="text" name="username" autocomplete="username" value={email} readOnly hidden />
);

interface NewProps {
  readonly name: string;
  readonly label: string;
  /** Other effects of setting it. */
  readonly more?: string;
}

/** The field for a password that is chosen. */
export const NewPassword = ({ name, label, more = '' }: NewProps) => (
  <Field
    name={name}
    label={label}
    type="password"
    autocomplete="new-password"
    hint={`At least ${minLength} characters, and hard to guess. ${more}`.trim()}
  />
);
