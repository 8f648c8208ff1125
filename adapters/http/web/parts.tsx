import type { ComponentChildren } from 'preact';
import type { Front } from '../../../domain/artwork.js';
import type { Milliseconds } from '../../../domain/ids.js';
import { pathOfPicture, type Url } from './paths.js';
import { block, type Html } from './prose.js';
import { useVisit } from './visit.js';

/** The colour of a state, in addition to its words. */
export type Tone = 'good' | 'busy' | 'warn' | 'bad' | 'idle';

/** A state in a word or two. */
export const Badge = ({ tone, children }: { readonly tone: Tone; readonly children: ComponentChildren }) => (
  <span class={`badge ${tone}`}>{children}</span>
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

/** The columns of a table by their names, with the content of their cells. */
export type Columns<Row> = Readonly<Record<string, (row: Row) => Html>>;

interface TableProps<Row> {
  readonly label: string;
  readonly columns: Columns<Row>;
  readonly rows: readonly Row[];
  /** The column of the row's subject; the first one if it is left out. */
  readonly head?: string;
  /** The columns whose digits are aligned. */
  readonly numbers?: readonly string[];
  /** Takes the place of a table without rows. */
  readonly children?: Html;
}

/** A table, whose rows are small cards with the names of their columns on a telephone. */
export const Table = <Row,>({ label, columns, rows, head, numbers = [], children }: TableProps<Row>) => {
  if (rows.length === 0 && children !== undefined) return <>{children}</>;
  const cells = Object.entries(columns);
  const kindOf = (name: string) => numbers.includes(name) && { class: 'number' };
  return (
    <div class="scroll" role="region" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {cells.map(([name]) => (
              <th scope="col" {...kindOf(name)}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr>
              {cells.map(([name, cell], at) =>
                name === head || (head === undefined && at === 0) ? (
                  <th scope="row">{cell(row)}</th>
                ) : (
                  <td data-label={name} {...kindOf(name)}>
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
};

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

interface OlderProps extends Partial<Pick<ButtonLinkProps, 'words'>> {
  readonly to: Url | undefined;
}

/** The way to the older rows of a list, if there are any. */
export const Older = ({ to, words = 'Older' }: OlderProps) =>
  to === undefined ? null : <ActionLink kind="second" to={to} words={words} />;

/** A number for people. */
export const count = (value: number): string => value.toLocaleString('en-US');

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

/**
 * By time zone: to make one takes a hundred times as long as to use it, and a page of a list shows a hundred.
 */
const formatters = new Map<string, Intl.DateTimeFormat>();

const formatterFor = (zone: string): Intl.DateTimeFormat => {
  const formatter =
    formatters.get(zone) ??
    new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      year: 'numeric',
      month: 'short',
      day: 'numeric',
      hour: '2-digit',
      minute: '2-digit',
      hourCycle: 'h23',
      timeZoneName: 'short',
    });
  formatters.set(zone, formatter);
  return formatter;
};

interface TimeProps {
  readonly at: string | Milliseconds | null;
  /** The words before it; without a time, they are left out, too. */
  readonly before?: string;
}

/** A time in the time zone of the service, with its name, and its year unless that is the present one. */
export const Time = ({ at, before }: TimeProps) => {
  const { timeZone, year } = useVisit();
  if (at === null) return null;
  const time = new Date(at);
  return (
    <>
      {before}
      <time dateTime={typeof at === 'string' ? at : time.toISOString()}>
        {formatterFor(timeZone).format(time).replace(`, ${year},`, ',')}
      </time>
    </>
  );
};

const days = new Intl.DateTimeFormat('en-US', { month: 'short', day: 'numeric', timeZone: 'UTC' });

/** A calendar day in words, without its year. */
export const dayName = (day: string): string => days.format(new Date(day));

/** A calendar day, with its year unless that is the present one. */
export const Day = ({ day }: { readonly day: string }) => {
  const year = day.slice(0, 4);
  return <time dateTime={day}>{`${dayName(day)}${year === useVisit().year ? '' : `, ${year}`}`}</time>;
};

export interface CoverProps {
  readonly title: string;
  readonly artwork: Front | null;
  readonly size?: 'thumbnail' | 'preview';
  /** The title stands in the same label. */
  readonly isNamed?: boolean;
  readonly isErased?: boolean;
}

/** The front of a card; its title on blank paper, in place of a picture. */
export const Cover = ({
  title,
  artwork,
  size = 'thumbnail',
  isNamed = false,
  isErased = false,
}: CoverProps) => {
  const { url } = useVisit();
  if (artwork === null) {
    const none = isErased ? 'Picture erased' : 'No picture yet';
    const label = { role: 'img', 'aria-label': `${title}: ${none.toLowerCase()}` } as const;
    return (
      <span class="cover blank" {...(isNamed ? { 'aria-hidden': true } : label)}>
        <span class="elegant">{title}</span>
        <small>{none}</small>
      </span>
    );
  }
  return (
    <img
      class="cover"
      src={url(pathOfPicture(artwork, size))}
      alt={isNamed ? '' : `${title}: its picture`}
      width="240"
      height="336"
      loading="lazy"
    />
  );
};
