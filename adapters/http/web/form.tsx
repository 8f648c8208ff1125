import type { ComponentChildren, ComponentProps } from 'preact';
import type { Url } from './url.js';

interface FormProps {
  /** What the form does: the name of its action. */
  readonly action: string;
  /** An id of its own, with which it has one effect however often it is sent. */
  readonly id: string;
  /** Where it is sent; the page's own address if it is left out. */
  readonly to?: Url;
  readonly children: ComponentChildren;
}

/** A form that is sent to a page. */
export const Form = ({ action, id, to, children }: FormProps) => (
  <form method="post" {...(to !== undefined && { action: to })} class="form">
    <input type="hidden" name="do" value={action} />
    <input type="hidden" name="form" value={id} />
    {children}
  </form>
);

interface FieldProps {
  readonly name: string;
  readonly label: string;
  readonly type?: 'text' | 'email' | 'password' | 'search';
  readonly value?: string;
  readonly hint?: string;
  readonly autocomplete?: string;
  readonly required?: boolean;
  /** Why it was refused. */
  readonly error?: string | null;
}

type Facts = Omit<ComponentProps<'input'>, 'type' | 'role' | 'list'>;

const inputOf = (type: NonNullable<FieldProps['type']>, facts: Facts) => {
  switch (type) {
    case 'text':
      return <input {...facts} type="text" />;
    case 'email':
      return <input {...facts} type="email" />;
    case 'password':
      return <input {...facts} type="password" />;
    case 'search':
      return <input {...facts} type="search" />;
  }
};

/** A field with its label, its hint and what is wrong with it. */
export const Field = ({
  name,
  label,
  type = 'text',
  value = '',
  hint,
  autocomplete = 'off',
  required = true,
  error = null,
}: FieldProps) => {
  const id = `field-${name}`;
  const notes = [hint === undefined ? null : `${id}-hint`, error === null ? null : `${id}-error`];
  const described = notes.filter((note) => note !== null).join(' ');
  return (
    <p class="field">
      <label for={id}>{label}</label>
      {hint === undefined ? null : (
        <span id={`${id}-hint`} class="hint">
          {hint}
        </span>
      )}
      {error === null ? null : (
        <span id={`${id}-error`} class="error">
          {error}
        </span>
      )}
      {inputOf(type, {
        id,
        name,
        value,
        autocomplete,
        required,
        spellcheck: false,
        ...(described !== '' && { 'aria-describedby': described }),
        ...(error !== null && { 'aria-invalid': 'true' as const }),
      })}
    </p>
  );
};

/** Why a form was refused: it gets the focus, and leads to the field at fault. */
export const Refusal = ({
  refused,
}: {
  readonly refused: { readonly message: string; readonly field: string | null } | null;
}) =>
  refused === null ? null : (
    <p class="alert" role="alert" tabIndex={-1} autofocus>
      {refused.message}
    </p>
  );
