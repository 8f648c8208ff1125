import { listCards, lookUpCard } from '../../../../application/cards/read-cards.js';
import type { ReadDeps } from '../../../../application/projecting/read-your-writes.js';
import { readAccount } from '../../../../application/organizations/read-accounts.js';
import { cardStatuses } from '../../../../domain/card.js';
import { parseCardCode, type CardCode } from '../../../../domain/card-code.js';
import { DomainError } from '../../../../domain/errors.js';
import type { OrganizationId } from '../../../../domain/ids.js';
import { Search } from '../../web/form.js';
import { Empty, PageHeading, Older } from '../../web/parts.js';
import { CardsTable } from '../cards-table.js';
import { RedirectTo } from '../admit.js';
import { page } from '../page.js';
import { shownPart, wantedPart } from '../paging.js';
import { statusWords } from '../status.js';

const isCardOf = async (deps: ReadDeps, org: OrganizationId, code: CardCode): Promise<boolean> => {
  try {
    await lookUpCard(deps, code, org);
    return true;
  } catch (error) {
    if (error instanceof DomainError && error.code === 'card_not_found') return false;
    throw error;
  }
};

export const cardsPage = page({
  path: 'cards',
  may: 'cards.read',
  query: ['status', 'q', 'before'],
  load: async ({ deps, org, query, url }) => {
    const q = query('q');
    const status = cardStatuses.find((known) => known === query('status')) ?? null;
    const parsed = parseCardCode(q);
    if (parsed.kind === 'code' && (await isCardOf(deps, org, parsed.code)))
      throw new RedirectTo(url('card', { code: parsed.code }));
    const wanted = { ...wantedPart(query), status, reference: q || null };
    const [cards, owner] = await Promise.all([listCards(deps, org, wanted), readAccount(deps, org)]);
    return { status, q, ...shownPart(cards), owner };
  },
  title: () => 'Cards',
  view: ({ status, q, shown, last, owner }, { org, url }) => (
    <>
      <PageHeading title="Cards" />
      <Search name="q" label="Code or reference" value={q} required={false} />
      <ul class="filters" aria-label="Status">
        {[null, ...cardStatuses].map((each) => (
          <li>
            <a
              href={url('cards', { org }, each === null ? {} : { status: each })}
              aria-current={each === status ? 'true' : undefined}
            >
              {each === null ? 'All' : statusWords[each]}
            </a>
          </li>
        ))}
      </ul>
      {shown.length > 0 ? (
        <CardsTable cards={shown} owner={owner} />
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
          last &&
          url(
            'cards',
            { org },
            { before: last.code, ...(status !== null && { status }), ...(q !== '' && { q }) },
          )
        }
      />
    </>
  ),
});
