import { listCards } from '../../../../application/read-cards.js';
import { cardStatuses, type CardStatus } from '../../../../domain/card.js';
import { parseCardCode } from '../../../../domain/card-code.js';
import { Field } from '../../web/form.js';
import { Empty, Head, Older } from '../../web/parts.js';
import { CardsTable } from '../cards-table.js';
import { page } from '../page.js';
import { paths } from '../paths.js';
import { statusWords } from '../status.js';

const perPage = 50;

const statusFrom = (text: string): CardStatus | null => cardStatuses.find((known) => known === text) ?? null;

export const cardsPage = page({
  path: paths.cards,
  may: 'cards.read',
  query: ['status', 'q', 'before'],
  load: async ({ deps, org, query }) => {
    const [status, q, before] = [statusFrom(query('status')), query('q'), query('before')];
    const parsed = parseCardCode(q);
    const cards = await listCards(deps, org, {
      limit: perPage + 1,
      status,
      reference: q === '' || parsed.kind === 'code' ? null : q,
      startingAfter: before === '' ? null : before,
    });
    const found = parsed.kind === 'code' ? cards.filter(({ code }) => code === parsed.code) : cards;
    return { status, q, code: parsed.kind === 'code' ? parsed.code : null, cards: found };
  },
  title: () => 'Cards',
  view: ({ status, q, code, cards }, context) => {
    const { org, url } = context;
    const shown = cards.slice(0, perPage);
    const last = cards.length > perPage ? shown.at(-1) : undefined;
    return (
      <>
        <Head title="Cards" />
        <form method="get" class="search" role="search">
          <Field name="q" label="Code or reference" type="search" value={q} required={false} />
          <button type="submit" class="second">
            Find
          </button>
        </form>
        <ul class="filters" aria-label="Status">
          {[null, ...cardStatuses].map((each) => (
            <li>
              <a
                href={url(paths.cards, { org }, each === null ? {} : { status: each })}
                {...(each === status && { 'aria-current': 'true' as const })}
              >
                {each === null ? 'All' : statusWords[each]}
              </a>
            </li>
          ))}
        </ul>
        {code === null ? null : (
          <p>
            <a href={url(paths.card, { code })}>Open {code}</a>
          </p>
        )}
        {shown.length > 0 ? (
          <CardsTable cards={shown} context={context} />
        ) : q === '' && status === null ? (
          <Empty title="No card has been sent yet">
            Cards that are sent over the API or by a hook stand here.{' '}
            <a href={`${url('/docs')}#first-card`}>Send your first card</a>.
          </Empty>
        ) : (
          <Empty title="No card is like this">Codes and references are compared whole.</Empty>
        )}
        <Older
          to={
            last === undefined
              ? null
              : url(
                  paths.cards,
                  { org },
                  { before: last.code, ...(status !== null && { status }), ...(q !== '' && { q }) },
                )
          }
        />
      </>
    );
  },
});
