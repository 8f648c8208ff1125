import { Field } from '../web/form.js';

interface Props {
  readonly name: string;
  readonly label: string;
  /** Other effects of setting it. */
  readonly more?: string;
}

/** Tells the browser's password manager which account a password belongs to; it is hidden. */
export const WhosePassword = ({ email }: { readonly email: string }) => (
  <input type="text" name="username" autocomplete="username" value={email} readOnly hidden />
);

/** The field for a password that is chosen; assertGoodPassword judges it. */
export const NewPassword = ({ name, label, more = '' }: Props) => (
  <Field
    name={name}
    label={label}
    type="password"
    autocomplete="new-password"
    hint={`At least 12 characters, and hard to guess. ${more}`.trim()}
  />
);
