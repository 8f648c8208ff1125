import { createContext, type ComponentChildren } from 'preact';
import { useContext } from 'preact/hooks';
import { Refusal } from './form.js';
import { block, type Html } from './prose.js';
import type { Url } from './url.js';

/** The colour of a state, in addition to its words. */
export type Tone = 'good' | 'busy' | 'warn' | 'bad' | 'idle';

/** A state in a word or two. */
export const Badge = ({ tone, children }: { readonly tone: Tone; readonly children: ComponentChildren }) => (
  <span class={`badge ${tone}`}>{children}</span>
);

interface HeadProps {
  readonly title: string;
  /** The page above this one, and its name. */
  readonly above?: readonly [name: string, to: Url];
  /** The name of this page below that one, if it is not the title. */
  readonly here?: Html;
  /** Right of the title: a badge, a link that leads on. */
  readonly children?: ComponentChildren;
}

const Notices = createContext<string | null>(null);

/** Wraps a page with the confirmation of the form before it. */
export const WithNotice = Notices.Provider;

/** Says of the last form of a page that it is done, or why it was refused. */
export const LastForm = () => {
  const notice = useContext(Notices);
  return (
    <>
      {notice === null ? null : (
        <p class="done" role="status">
          {notice}
        </p>
      )}
      <Refusal />
    </>
  );
};

/** The heading of a page, and the outcome of its last form. */
export const PageHeading = ({ title, above, here = title, children }: HeadProps) => (
  <>
    {above === undefined ? null : (
      <p class="crumbs">
        <a href={above[1]}>{above[0]}</a> › {here}
      </p>
    )}
    <div class="head">
      <h1>{title}</h1>
      {children}
    </div>
    <LastForm />
  </>
);

interface PanelProps {
  readonly id: string;
  readonly title: Html;
  readonly children: ComponentChildren;
}

/** A part of a page, which its heading names. */
export const Panel = ({ id, title, children }: PanelProps) => (
  <section class="panel" aria-labelledby={id}>
    <h2 id={id}>{title}</h2>
    {children}
  </section>
);

interface EmptyProps {
  readonly title: string;
  readonly children: ComponentChildren;
  /** A line for a terminal that does it. */
  readonly sample?: string | undefined;
}

/** Takes the place of an empty list. */
export const Empty = ({ title, children, sample }: EmptyProps) => (
  <div class="empty">
    <strong>{title}</strong>
    <p>{children}</p>
    {sample === undefined ? null : block(sample)}
  </div>
);

export interface Column<Row> {
  readonly name: string;
  readonly cell: (row: Row) => Html;
  /** `head`: the subject of the row, which comes first. `number`: digits are aligned. */
  readonly kind?: 'head' | 'number';
}

interface TableProps<Row> {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
}

/** A table, whose rows are small cards with the names of their columns on a telephone. */
export const Table = <Row,>({ label, columns, rows }: TableProps<Row>) => (
  <div class="scroll" role="region" aria-label={label} tabIndex={0}>
    <table>
      <thead>
        <tr>
          {columns.map(({ name, kind }) => (
            <th scope="col" {...(kind === 'number' && { class: 'number' })}>
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr>
            {columns.map(({ name, cell, kind }) =>
              kind === 'head' ? (
                <th scope="row">{cell(row)}</th>
              ) : (
                <td data-label={name} {...(kind === 'number' && { class: 'number' })}>
                  {cell(row)}
                </td>
              ),
            )}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);

interface ButtonLinkProps {
  readonly to: string;
  readonly words: string;
  /** `second`: beside a more important one. */
  readonly kind?: 'second' | 'second end';
  /** Its words for those who don't see what is around it. */
  readonly label?: string;
}

/** A link that leads on, as a button. */
export const ButtonLink = ({ to, words, kind, label }: ButtonLinkProps) => (
  <a class={kind === undefined ? 'button' : `button ${kind}`} href={to} aria-label={label}>
    {words}
  </a>
);

/** The same on a line of its own. */
export const ActionLink = (link: ButtonLinkProps) => (
  <p class="actions">
    <ButtonLink {...link} />
  </p>
);

/** The way to the older rows of a list, if there are any. */
export const Older = ({ to }: { readonly to: Url | undefined }) =>
  to === undefined ? null : <ActionLink kind="second" to={to} words="Older" />;

/** Things and their values. Those that are null are left out. */
export const Facts = ({ of }: { readonly of: Readonly<Record<string, Html>> }) => (
  <dl class="facts">
    {Object.entries(of).map(([name, value]) =>
      value === null ? null : (
        <>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </>
      ),
    )}
  </dl>
);

/** Folds away irreversible actions, with the consequences. */
export const Danger = ({ label, children }: { readonly label: string; readonly children: Html }) => (
  <details class="danger">
    <summary>{label}</summary>
    {children}
  </details>
);

/** A secret that is shown only once: a click selects all of it, and where scripts run, a button copies it. */
export const Secret = ({ text }: { readonly text: string }) => (
  <div class="secret">
    <code tabIndex={0}>{text}</code>
  </div>
);
