import type { ComponentChildren, ComponentProps } from 'preact';
import type { Html } from './prose.js';
import type { Url } from './url.js';

interface FormProps {
  /** What the form does: the name of its action. Left out if each of its buttons says so. */
  readonly action?: string;
  /** An id of its own, with which it has one effect however often it is sent. */
  readonly id: string;
  /** Where it is sent; the page's own address if it is left out. */
  readonly to?: Url;
  readonly children: ComponentChildren;
}

/** A form that is sent to a page. */
export const Form = ({ action, id, to, children }: FormProps) => (
  <form method="post" {...(to !== undefined && { action: to })} class="form">
    {action === undefined ? null : <input type="hidden" name="do" value={action} />}
    <input type="hidden" name="form" value={id} />
    {children}
  </form>
);

interface Labelled {
  readonly name: string;
  readonly label: string;
  readonly hint?: Html;
  /** Why it was refused. */
  readonly error?: string | null;
}

/** What a control says about itself. */
interface ControlFacts {
  readonly id: string;
  readonly name: string;
  readonly 'aria-describedby'?: string;
  readonly 'aria-invalid'?: 'true';
}

/** A control with its label, its hint and what is wrong with it. */
const labelled = (
  { name, label, hint, error = null }: Labelled,
  control: (facts: ControlFacts) => Html,
): Html => {
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
      {control({
        id,
        name,
        ...(described !== '' && { 'aria-describedby': described }),
        ...(error !== null && { 'aria-invalid': 'true' as const }),
      })}
    </p>
  );
};

interface FieldProps extends Omit<Labelled, 'hint'> {
  readonly hint?: string;
  readonly type?: 'text' | 'email' | 'password' | 'search' | 'number';
  readonly value?: string;
  readonly autocomplete?: string;
  readonly required?: boolean;
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
    case 'number':
      return <input {...facts} type="number" min={1} />;
  }
};

/** A field of one line. */
export const Field = ({
  type = 'text',
  value = '',
  autocomplete = 'off',
  required = true,
  ...label
}: FieldProps) => (
  <>
    {labelled(label, (facts) =>
      inputOf(type, { ...facts, value, autocomplete, required, spellcheck: false }),
    )}
  </>
);

interface TextAreaProps extends Labelled {
  readonly value: string;
  readonly rows: number;
  readonly isCode?: boolean;
}

/** A field of several lines, which may stay empty. */
export const TextArea = ({ value, rows, isCode = false, ...label }: TextAreaProps) => (
  <>
    {labelled(label, (facts) => (
      <textarea
        {...facts}
        {...(isCode && { class: 'code' })}
        rows={rows}
        autocomplete="off"
        spellcheck={false}
      >
        {value}
      </textarea>
    ))}
  </>
);

interface ChoiceProps extends Labelled {
  readonly value: string;
  readonly options: readonly { readonly value: string; readonly name: string }[];
}

/** One of several. */
export const Choice = ({ value: chosen, options, ...label }: ChoiceProps) => (
  <>
    {labelled(label, (facts) => (
      <select {...facts} autocomplete="off">
        {options.map(({ value, name }) => (
          <option value={value} selected={value === chosen}>
            {name}
          </option>
        ))}
      </select>
    ))}
  </>
);

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
