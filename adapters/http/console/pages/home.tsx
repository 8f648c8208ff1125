import { listKeys } from '../../../../application/access/read-keys.js';
import { readCardDays } from '../../../../application/cards/card-days.js';
import { listCards } from '../../../../application/cards/read-cards.js';
import { readAccount, readBalance } from '../../../../application/organizations/read-accounts.js';
import { Empty } from '../../web/parts.js';
import { CardsTable } from '../card-parts.js';
import { Credits, FirstSteps, LastDays } from '../home-parts.js';
import { needsAttention, NeedsYou } from '../needs-you.js';
import { page } from '../page.js';

const latest = 5;
const week = 7;

export const homePage = page({
  path: 'home',
  may: 'cards.read',
  load: async (context) => {
    const { deps, org, timeZone } = context;
    const wanted = { now: deps.clock.instant(), timeZone, days: week };
    const [balance, days, needs, cards, keys, owner] = await Promise.all([
      readBalance(deps, org),
      readCardDays(deps, org, wanted),
      needsAttention(context),
      listCards(deps, org, { limit: latest, status: null, reference: null, startingAfter: null }),
      listKeys(deps, org, { limit: 1, startingAfter: null }),
      readAccount(deps, org),
    ]);
    return { balance, days, needs, cards, owner, hasKey: keys.length > 0 };
  },
  title: () => 'Home',
  heading: null,
  view: ({ balance, days, needs, cards, owner, hasKey }, { url }) => (
    <>
      <h1 class="hidden">Home</h1>
      <div class="grid">
        <Credits balance={balance} days={days} />
        <LastDays title="Sent, last 7 days" days={days} named={1} />
      </div>
      <NeedsYou {...needs} owner={owner} />
      <FirstSteps hasKey={hasKey} hasDesign={owner.designs.length > 0} hasCard={cards.length > 0} />
      <section aria-labelledby="latest">
        <div class="head">
          <h2 id="latest">Latest cards</h2>
          {cards.length === 0 ? null : <a href={url('cards')}>All cards</a>}
        </div>
        <CardsTable cards={cards} owner={owner}>
          <Empty title="No card has been sent yet">
            Make a key, save a design, and send the first one:{' '}
            <a href={`${url('/docs')}#first-card`}>your first card</a>.
          </Empty>
        </CardsTable>
      </section>
    </>
  ),
});
