import { type ComponentChildren, type ComponentProps, createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { Panel } from './parts.js';
import type { Url } from './paths.js';
import type { Html } from './prose.js';
import { type ShownRefusal, useVisit } from './visit.js';

/** The text of a refusal, with fields called by their labels: `` `zip` `` becomes “ZIP”. */
export const RefusalText = ({ message }: { readonly message: string }) => {
  const { labels } = useVisit();
  const labelled = (code: string, name: string): string => {
    const label = labels.get(name);
    return label === undefined ? code : `“${label}”`;
  };
  return <>{message.replaceAll(/`([^`]+)`/g, labelled)}</>;
};

/** The actions of the form around a field. */
const Actions = createContext<readonly string[]>([]);

/** The refusal of the form around a field; null if it wasn't refused. */
const useRefusal = (): ShownRefusal | null => {
  const { refused } = useVisit();
  const actions = useContext(Actions);
  return refused !== null && actions.includes(refused.action) ? refused : null;
};

/** The content that a field had in the form around it, if that was refused. */
export const useSent = (name: string): string | undefined => useRefusal()?.sent(name);

/** The id of a field, to which refusals lead. */
const idOf = (name: string): string => `field-${name}`;

interface FormProps {
  /** The form's action, or those that its buttons name. */
  readonly action: string | readonly string[];
  /** An id of its own, with which it has one effect however often it is sent: a new one if it is left out. */
  readonly id?: string;
  /** Where it is sent; the page's own address if it is left out. */
  readonly to?: Url | undefined;
  /** The form has a file, which comes last. */
  readonly hasFile?: boolean;
  /** Fields that nothing shows. */
  readonly fields?: Readonly<Record<string, string>>;
  /** The words of its button. Left out if its content has buttons of its own. */
  readonly button?: Html;
  /** The kind of its button. `second`: beside a more important one; `bad`: for irreversible actions. */
  readonly kind?: 'second' | 'bad' | undefined;
  /** The words of its button for those who don't see what is around it. */
  readonly label?: string;
  readonly children?: ComponentChildren;
}

/** A form that is sent to a page. */
export const Form = ({ action, to, hasFile = false, button, kind, label, ...about }: FormProps) => {
  const { newForm } = useVisit();
  const { id = newForm(), fields = {}, children } = about;
  return (
    <form method="post" action={to} enctype={hasFile ? 'multipart/form-data' : undefined} class="form">
      {typeof action === 'string' ? <input type="hidden" name="do" value={action} /> : null}
      <input type="hidden" name="form" value={id} />
      {Object.entries(fields).map(([name, value]) => (
        <input type="hidden" name={name} value={value} />
      ))}
      <Actions.Provider value={[action].flat()}>{children}</Actions.Provider>
      {button === undefined ? null : (
        <button type="submit" class={kind} aria-label={label}>
          {button}
        </button>
      )}
    </form>
  );
};

type FormPanelProps = Omit<FormProps, 'id'> & Omit<ComponentProps<typeof Panel>, 'children'>;

/** A part of a page that is one form, for those who may send it. */
export const FormPanel = ({ id, title, ...form }: FormPanelProps) =>
  useVisit().mayAct ? (
    <Panel id={id} title={title}>
      <Form {...form} />
    </Panel>
  ) : null;

interface Labelled {
  readonly name: string;
  readonly label: string;
  readonly hint?: Html;
}

/** Notes on a control, why it was refused, and hints; and the facts of a control to which they belong. */
const useNotes = ({ name, label, hint }: Labelled) => {
  useVisit().labels.set(name, label);
  const id = idOf(name);
  const refused = useRefusal();
  const error = refused?.field === name ? refused.message : null;
  const ids = [...(hint === undefined ? [] : [`${id}-hint`]), ...(error === null ? [] : [`${id}-error`])];
  const facts = {
    id,
    name,
    'aria-describedby': ids.length === 0 ? undefined : ids.join(' '),
    'aria-invalid': error === null ? undefined : true,
  };
  const notes = (
    <>
      {hint === undefined ? null : (
        <span id={`${id}-hint`} class="hint">
          {hint}
        </span>
      )}
      {error === null ? null : (
        <span id={`${id}-error`} class="error">
          <RefusalText message={error} />
        </span>
      )}
    </>
  );
  return { facts, notes };
};

interface LabelledProps extends Labelled {
  /** The control itself. */
  readonly children: (facts: ReturnType<typeof useNotes>['facts']) => Html;
}

/** A control with its label, its hint and its refusal. */
export const LabelledControl = ({ children, ...about }: LabelledProps) => {
  const { facts, notes } = useNotes(about);
  return (
    <p class="field">
      <label for={facts.id}>{about.label}</label>
      {notes}
      {children(facts)}
    </p>
  );
};

interface FieldProps extends Labelled {
  readonly type?: 'text' | 'email' | 'password' | 'search' | 'number';
  readonly value?: string;
  readonly autocomplete?: string;
  readonly optional?: boolean;
}

/** A field of one line. After a refusal it keeps what was typed, but for a password. */
export const Field = ({
  type = 'text',
  value: known = '',
  autocomplete = 'off',
  optional = false,
  ...label
}: FieldProps) => {
  const sent = useSent(label.name);
  const value = type === 'password' ? known : (sent ?? known);
  // The types of elements know a role for each type of input, and so no input of several types.
  const required = !optional;
  const given = { value, autocomplete, required, spellcheck: false, type } as ComponentProps<'input'>;
  return (
    <LabelledControl {...label}>
      {(facts) => <input {...facts} {...given} min={type === 'number' ? 1 : undefined} />}
    </LabelledControl>
  );
};

/** Looks for something: a field alone, whose value becomes part of the address. */
export const Search = (field: Omit<FieldProps, 'type'>) => (
  <form method="get" class="search" role="search">
    <Field {...field} type="search" />
    <button type="submit" class="second">
      Find
    </button>
  </form>
);

/** A file of the visitor's machine. */
export const FileField = ({ accept, ...label }: Labelled & { readonly accept: string }) => (
  <LabelledControl {...label}>
    {(facts) => <input {...facts} type="file" accept={accept} required />}
  </LabelledControl>
);

interface TextAreaProps extends Labelled {
  readonly value: string;
  readonly rows: number;
  readonly isCode?: boolean;
}

/** A field of several lines, which may stay empty. */
export const TextArea = ({ value, rows, isCode = false, ...label }: TextAreaProps) => (
  <LabelledControl {...label}>
    {(facts) => (
      <textarea
        {...facts}
        {...(isCode && { class: 'code' })}
        rows={rows}
        autocomplete="off"
        spellcheck={false}
      >
        {value}
      </textarea>
    )}
  </LabelledControl>
);

interface ChoiceProps extends Labelled {
  readonly value: string;
  readonly options: readonly { readonly value: string; readonly name: string }[];
}

/** One of several. */
export const Choice = ({ value: known, options, ...label }: ChoiceProps) => {
  const chosen = useSent(label.name) ?? known;
  return (
    <LabelledControl {...label}>
      {(facts) => (
        <select {...facts} autocomplete="off">
          {options.map(({ value, name }) => (
            <option value={value} selected={value === chosen}>
              {name}
            </option>
          ))}
        </select>
      )}
    </LabelledControl>
  );
};

interface GroupProps extends Omit<Labelled, 'label'> {
  readonly legend: string;
  readonly children: ComponentChildren;
}

export const Group = ({ legend, children, ...about }: GroupProps) => {
  const { facts, notes } = useNotes({ ...about, label: legend });
  return (
    <fieldset id={facts.id} class="field" aria-describedby={facts['aria-describedby']}>
      <legend>{legend}</legend>
      {notes}
      {children}
    </fieldset>
  );
};

interface ChecksProps extends Omit<GroupProps, 'children'> {
  readonly options: readonly { readonly name: string; readonly label: Html }[];
  /** The names of those that are ticked at first. */
  readonly ticked: readonly string[];
}

/** Any of several, each a field of its own. */
export const Checks = ({ options, ticked, ...group }: ChecksProps) => {
  const refused = useRefusal();
  const isTicked = (name: string) => (refused === null ? ticked.includes(name) : refused.sent(name) !== '');
  return (
    <Group {...group}>
      {options.map(({ name, label }) => (
        <label class="check">
          <input type="checkbox" name={name} value="on" checked={isTicked(name)} />
          <span>{label}</span>
        </label>
      ))}
    </Group>
  );
};

/** Why a form was refused: it gets the focus, and leads to the field at fault. */
export const Refusal = () => {
  const { refused } = useVisit();
  if (refused === null) return null;
  const text = <RefusalText message={refused.message} />;
  return (
    <p class="alert" role="alert" tabIndex={-1} autofocus>
      {refused.field === null ? text : <a href={`#${idOf(refused.field)}`}>{text}</a>}{' '}
      <a class="quiet" href={refused.meaning}>
        What this means
      </a>
    </p>
  );
};
