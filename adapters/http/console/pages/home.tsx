import { readBalance } from '../../../../application/read-accounts.js';
import { listCards } from '../../../../application/read-cards.js';
import { listEndpoints } from '../../../../application/webhooks.js';
import type { OrganizationId } from '../../../../domain/ids.js';
import { addressee, CardsTable } from '../cards-table.js';
import type { ConsoleDeps } from '../deps.js';
import { page } from '../page.js';
import { paths } from '../paths.js';

const latest = 5;

/** What a person has to look at: held cards, and endpoints that were switched off after failures. */
const needsAttention = async (deps: ConsoleDeps, org: OrganizationId) => {
  const held = await listCards(deps, org, {
    limit: latest,
    status: 'blocked',
    reference: null,
    startingAfter: null,
  });
  const endpoints = await listEndpoints(deps.webhooks, org);
  return { held, failing: endpoints.filter(({ endpoint }) => endpoint.disabledReason !== null) };
};

export const homePage = page({
  path: paths.home,
  may: 'cards.read',
  load: async ({ deps, org }) => ({
    balance: await readBalance(deps, org),
    ...(await needsAttention(deps, org)),
    cards: await listCards(deps, org, { limit: latest, status: null, reference: null, startingAfter: null }),
  }),
  title: () => 'Home',
  view: ({ balance, held, failing, cards }, context) => {
    const { org, url } = context;
    return (
      <>
        <h1 class="hidden">Home</h1>
        <p class="figure">
          <strong>{balance.toLocaleString('en-US')}</strong> {balance === 1 ? 'credit' : 'credits'}
        </p>
        {balance > 0 ? null : (
          <p class="alert">Without credits no card is sent, and held cards can’t be released.</p>
        )}
        {held.length + failing.length === 0 ? null : (
          <section aria-labelledby="needs-you">
            <h2 id="needs-you">Needs you</h2>
            <ul class="rows">
              {held.map((card) => (
                <li>
                  <a href={url(paths.card, { code: card.code })}>{card.code}</a>
                  <span>{addressee(card)}</span>
                  <span class="quiet">{card.heldReason}</span>
                </li>
              ))}
              {failing.map(({ endpoint }) => (
                <li>
                  <span>{endpoint.url}</span>
                  <span class="quiet">switched off: {endpoint.disabledReason}</span>
                </li>
              ))}
            </ul>
          </section>
        )}
        <section aria-labelledby="latest">
          <h2 id="latest">Latest cards</h2>
          {cards.length === 0 ? (
            <p class="empty">
              No card has been sent yet. Send the first one with an API key:{' '}
              <a href={`${url('/docs')}#first-card`}>your first card</a>.
            </p>
          ) : (
            <>
              <CardsTable cards={cards} context={context} />
              <p>
                <a href={url(paths.cards, { org })}>All cards</a>
              </p>
            </>
          )}
        </section>
      </>
    );
  },
});
