import type { Chosen } from '../../../application/access/people.js';
import { countTries } from '../../../application/access/count-tries.js';
import { triesPerMinute } from '../../../application/access/sign-in.js';
import { mailboxIdOf } from '../../../domain/account.js';
import { DomainError } from '../../../domain/errors.js';
import { derivedUuid, type Uuid } from '../../../domain/ids.js';
import { countCharacters } from '../../../domain/text.js';
import { household } from '../server/caller.js';
import { Field } from '../web/form.js';
import type { Context } from './page.js';

const minLength = 12;
const maxLength = 256;
/**
 * How many new passwords are judged in a clock minute. Of an e-mail address as many as are tried to sign in:
 * a password of another account of it is refused, which tells something about that password.
 */
export const judgedPerMinute = { address: 30, link: 10, account: 20, mailbox: triesPerMinute.mailbox };

interface ChosenPassword {
  readonly password: string;
  /** The field that holds it. */
  readonly field: string;
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
  { password, field, email, name, account, link }: ChosenPassword,
): Promise<Chosen> => {
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
  const weakness = await deps.judge.judge(password, [email, name]);
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
