import { readBalance } from '../../../../application/read-accounts.js';
import { listCards } from '../../../../application/read-cards.js';
import { listEndpoints } from '../../../../application/webhooks.js';
import type { OrganizationId } from '../../../../domain/ids.js';
import { Badge, Empty } from '../../web/parts.js';
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
        <div class="grid">
          <section class="panel" aria-label="Credits">
            <p class="figure">
              <strong>{balance.toLocaleString('en-US')}</strong>
              {balance === 1 ? 'credit' : 'credits'}, 1 for each card
            </p>
          </section>
        </div>
        {balance > 0 ? null : (
          <p class="alert">Without credits no card is sent, and held cards can’t be released.</p>
        )}
        {held.length + failing.length === 0 ? null : (
          <section class="panel" aria-labelledby="needs-you">
            <h2 id="needs-you">Needs you</h2>
            <ul class="rows">
              {held.map((card) => (
                <li>
                  <Badge tone="warn">Held</Badge>
                  <a href={url(paths.card, { code: card.code })}>{card.code}</a>
                  <span>{addressee(card)}</span>
                  <span class="quiet">{card.heldReason}</span>
                </li>
              ))}
              {failing.map(({ endpoint }) => (
                <li>
                  <Badge tone="bad">Switched off</Badge>
                  <span>{endpoint.url}</span>
                  <span class="quiet">{endpoint.disabledReason}</span>
                </li>
              ))}
            </ul>
          </section>
        )}
        <section aria-labelledby="latest">
          <div class="head">
            <h2 id="latest">Latest cards</h2>
            {cards.length === 0 ? null : <a href={url(paths.cards, { org })}>All cards</a>}
          </div>
          {cards.length === 0 ? (
            <Empty title="No card has been sent yet">
              Make a key, save a design, and send the first one:{' '}
              <a href={`${url('/docs')}#first-card`}>your first card</a>.
            </Empty>
          ) : (
            <CardsTable cards={cards} context={context} />
          )}
        </section>
      </>
    );
  },
});
