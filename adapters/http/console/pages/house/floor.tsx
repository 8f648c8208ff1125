import { Field } from '../../../web/form.js';
import { ActionLink, Badge, Day, Empty, Table } from '../../../web/parts.js';
import { RedirectTo } from '../../admit.js';
import { SmallFront } from '../../card-parts.js';
import { Status, statuses, stepNames } from '../../card-words.js';
import { codeIn, floorList, nextOf } from '../../floor-data.js';
import { page } from '../../page.js';

const nextWords = (card: Parameters<typeof nextOf>[0]): string => {
  const next = nextOf(card);
  if (next.kind === 'start') return stepNames[next.step];
  return next.kind === 'done' ? `${stepNames[next.step]}: running` : '';
};

export const floorPage = page({
  path: 'floor',
  may: 'floor.work',
  query: ['code'],
  load: async (context) => {
    const scanned = context.query('code');
    const code = codeIn(scanned);
    if (code !== null) throw new RedirectTo(context.url('floorCard', { code }));
    return { scanned, ...(await floorList(context)) };
  },
  title: () => 'Floor',
  view: ({ scanned, counts, due: dueToday, today, first, owners }, { url }) => (
    <>
      {scanned === '' ? null : (
        <p class="alert" role="alert">
          This is no code of a card: HC- and seven characters.
        </p>
      )}
      <form method="get" class="scan">
        <Field name="code" label="Scan or type a code" value={scanned} />
        <button type="submit">Open the card</button>
      </form>
      <ul id="counts" class="filters" data-refresh>
        <li>
          <span class="count">Due today {dueToday}</span>
        </li>
        {counts.map(({ status, count }) => (
          <li>
            <span class="count">
              {statuses[status].word} {count}
            </span>
          </li>
        ))}
      </ul>
      <ActionLink kind="second" to={url('run')} words="Print today’s run" />
      {first.length === 0 ? (
        <Empty title="Nothing is on the floor">Cards come here on the day they are due.</Empty>
      ) : (
        <div id="first" data-refresh>
          <Table
            label="On the floor, those due and those that came first"
            rows={first}
            columns={{
              Card: (card) => (
                <>
                  <SmallFront card={card} owner={owners.get(card.org)} />{' '}
                  <a href={url('floorCard', { code: card.code })}>{card.code}</a>
                </>
              ),
              Status: ({ status }) => <Status status={status} />,
              Next: nextWords,
              Due: ({ due }) => (
                <>
                  <Day day={due} />{' '}
                  {due > today ? null : (
                    <Badge tone={due < today ? 'bad' : 'warn'}>{due < today ? 'late' : 'today'}</Badge>
                  )}
                </>
              ),
            }}
          />
        </div>
      )}
    </>
  ),
});
