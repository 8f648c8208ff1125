import { listCards, lookUpCard } from '../../../../application/cards/read-cards.js';
import { readAccount } from '../../../../application/organizations/read-accounts.js';
import type { Page } from '../../../../application/ports/read-models.js';
import { parseCardCode } from '../../../../domain/card-code.js';
import { cardStatuses } from '../../../../domain/card.js';
import { Search } from '../../web/form.js';
import { Empty, Older } from '../../web/parts.js';
import { nullFor, RedirectTo } from '../admit.js';
import { CardsTable } from '../card-parts.js';
import { statuses } from '../card-words.js';
import { page } from '../page.js';
import { filteredBy, partOf } from '../paging.js';

export const cardsPage = page({
  path: 'cards',
  may: 'cards.read',
  query: ['status', 'q', 'before'],
  load: async ({ deps, org, query, url }) => {
    const noCard = nullFor('card_not_found');
    const q = query('q');
    const status = cardStatuses.find((known) => known === query('status')) ?? null;
    const parsed = parseCardCode(q);
    if (parsed.kind === 'code' && (await lookUpCard(deps, parsed.code, org).catch(noCard)) !== null)
      throw new RedirectTo(url('card', { code: parsed.code }));
    const list = (part: Page) => listCards(deps, org, { ...part, status, reference: q || null });
    const [cards, owner] = await Promise.all([partOf(query, list), readAccount(deps, org)]);
    return { status, q, ...cards, owner };
  },
  title: () => 'Cards',
  view: ({ status, q, shown, last, owner }, context) => (
    <>
      <Search name="q" label="Code or reference" value={q} optional />
      <ul class="filters" aria-label="Status">
        {[null, ...cardStatuses].map((each) => (
          <li>
            <a
              href={context.url('cards', {}, each === null ? {} : { status: each })}
              aria-current={each === status ? 'true' : undefined}
            >
              {each === null ? 'All' : statuses[each].word}
            </a>
          </li>
        ))}
      </ul>
      <CardsTable cards={shown} owner={owner}>
        {q === '' && status === null ? (
          <Empty title="No card has been sent yet">
            Cards that are sent over the API or by a hook stand here.{' '}
            <a href={`${context.url('/docs')}#first-card`}>Send your first card</a>.
          </Empty>
        ) : (
          <Empty title="No card is like this">Codes and references are compared whole.</Empty>
        )}
      </CardsTable>
      <Older to={last && filteredBy(context, ['status', 'q'], { before: last.code })} />
    </>
  ),
});
