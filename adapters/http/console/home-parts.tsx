import type { CardDay } from '../../../application/cards/card-days.js';
import { Badge, count, Day, dayName, Panel, Table } from '../web/parts.js';
import { useVisit } from '../web/visit.js';

/** The top of a scale for a largest value: 1, 2 or 5 and zeros. */
const topFor = (largest: number): number => {
  let power = 1;
  while (power * 10 < largest) power *= 10;
  return [1, 2, 5, 10].map((step) => step * power).find((top) => top >= largest) ?? 10 * power;
};

const width = 280;
const height = 72;

const sums = (days: readonly CardDay[]): CardDay =>
  days.reduce((sum, { day, accepted, mailed, cancelled }) => ({
    day,
    accepted: sum.accepted + accepted,
    mailed: sum.mailed + mailed,
    cancelled: sum.cancelled + cancelled,
  }));

const inWords = ({ accepted, mailed, cancelled }: CardDay): string =>
  `${count(accepted)} sent · ${count(mailed)} mailed · ${count(cancelled)} cancelled`;

interface DaysProps {
  readonly days: readonly CardDay[];
  /** The name of every so many days stands below its bar: each has room for its own, or not. */
  readonly named: number;
}

/** Bars, each with its words, beside a table of the same figures. */
const Bars = ({ days, named }: DaysProps) => {
  const top = topFor(Math.max(1, ...days.map(({ accepted }) => accepted)));
  const step = width / days.length;
  const gap = Math.min(6, step / 6);
  const label = `Cards sent a day: ${inWords(sums(days))}`;
  return (
    <svg class="chart" viewBox={`0 0 ${width} ${height + 16}`} role="img" aria-label={label}>
      {days.map((each, at) => {
        const { day, accepted } = each;
        const tall = accepted === 0 ? 1 : Math.max(2, (accepted / top) * height);
        return (
          <g>
            <rect x={at * step + gap} y={height - tall} width={step - 2 * gap} height={tall} rx={gap / 2}>
              <title>{`${dayName(day)}: ${inWords(each)}`}</title>
            </rect>
            <text x={at * step + step / 2} y={height + 13} text-anchor="middle">
              {(at + 1) % named === 0 ? dayName(day) : ''}
            </text>
          </g>
        );
      })}
    </svg>
  );
};

/** The figures of a chart of days, as a table. */
const DaysTable = ({ days }: { readonly days: readonly CardDay[] }) => (
  <details>
    <summary>As a table</summary>
    <Table
      label="Cards a day"
      rows={days}
      columns={{
        Day: ({ day }) => <Day day={day} />,
        Sent: ({ accepted }) => accepted,
        Mailed: ({ mailed }) => mailed,
        Cancelled: ({ cancelled }) => cancelled,
      }}
      numbers={['Sent', 'Mailed', 'Cancelled']}
    />
  </details>
);

interface LastDaysProps extends Pick<DaysProps, 'named'> {
  readonly title: string;
  /** Null while the figures are being made. */
  readonly days: readonly CardDay[] | null;
}

/** The cards sent in the last days: as bars, and as a table. */
export const LastDays = ({ title, days, named }: LastDaysProps) => (
  <Panel id="sent" title={title}>
    {days === null ? (
      <p class="quiet">These figures are being made ready.</p>
    ) : (
      <>
        <Bars days={days} named={named} />
        <p class="quiet small">{inWords(sums(days))}</p>
        <DaysTable days={days} />
      </>
    )}
  </Panel>
);

/** Fewer than these are a reason to warn. */
const fewWeeks = 2;

export const Balance = ({ balance }: { readonly balance: number }) => (
  <p class="figure">
    <strong>{count(balance)}</strong>
    {balance === 1 ? 'credit' : 'credits'}, 1 for each card
  </p>
);

interface CreditsProps extends Pick<LastDaysProps, 'days'> {
  readonly balance: number;
}

/** How long the credits last, judged by the last days. */
export const Credits = ({ balance, days }: CreditsProps) => {
  const { url } = useVisit();
  const weekly = days === null ? 0 : sums(days).accepted;
  const weeks = Math.floor(balance / Math.max(1, weekly));
  return (
    <section class="panel" aria-label="Credits">
      <Balance balance={balance} />
      {weekly === 0 || balance <= 0 ? null : (
        <p class={weeks < fewWeeks ? 'note' : 'quiet'}>
          At {count(weekly)} a week, they last{' '}
          {weeks < 1 ? 'less than a week' : weeks === 1 ? '1 week' : `${count(weeks)} weeks`}.
        </p>
      )}
      {balance > 0 ? null : (
        <p class="alert">Without credits no card is sent, and held cards can’t be released.</p>
      )}
      <p>
        <a href={url('credits')}>Statement</a>
      </p>
    </section>
  );
};

interface FirstStepsProps {
  readonly hasKey: boolean;
  readonly hasDesign: boolean;
  readonly hasCard: boolean;
}

/** The way of a newcomer to the first card, until it is gone. */
export const FirstSteps = ({ hasKey, hasDesign, hasCard }: FirstStepsProps) => {
  const { mayDo, url } = useVisit();
  if (hasKey && hasDesign && hasCard) return null;
  const sending = mayDo('cards.send') ? url('send') : `${url('/docs')}#first-card`;
  const all = [
    { name: 'Make a key', to: url('keys'), isDone: hasKey },
    { name: 'Save a design', to: url('designs'), isDone: hasDesign },
    { name: 'Send a card', to: sending, isDone: hasCard },
  ];
  return (
    <Panel id="new-here" title="New here?">
      <ol class="rows">
        {all.map(({ name, to, isDone }) => (
          <li>
            <a href={to}>{name}</a>
            {isDone ? <Badge tone="good">Done</Badge> : null}
          </li>
        ))}
      </ol>
    </Panel>
  );
};
