import { readCardDays } from '../../../../application/cards/card-days.js';
import { offSince } from '../../../../application/webhooks/endpoints-off.js';
import { readAccount, readBalance } from '../../../../application/organizations/read-accounts.js';
import { listCards } from '../../../../application/cards/read-cards.js';
import { listKeys } from '../../../../application/access/read-keys.js';
import { listDeliveries, listEndpoints } from '../../../../application/webhooks/webhooks.js';
import type { CardStatus } from '../../../../domain/card.js';
import { may } from '../../../../domain/permissions.js';
import { isActive } from '../../../../domain/webhook-endpoints.js';
import { Empty } from '../../web/parts.js';
import { CardsTable } from '../cards-table.js';
import { Credits, FirstSteps, LastDays } from '../home-parts.js';
import { maxHeldListed, NeedsYou } from '../needs-you.js';
import { type OrgContext, page } from '../page.js';

const latest = 5;
const week = 7;
/** How many dead letters are read: only their presence matters. */
const maxDeadLetters = 50;

const someCards = ({ deps, org }: OrgContext, status: CardStatus | null, limit: number) =>
  listCards(deps, org, { limit, status, reference: null, startingAfter: null });

/** Dead letters of the last days. Older ones are no news. */
const deadLetters = async ({ deps, org }: OrgContext) => {
  const filter = { endpoint: null, status: 'exhausted', type: null, card: null } as const;
  const dead = await listDeliveries(deps.webhooks, org, filter, {
    startingAfter: null,
    limit: maxDeadLetters,
  });
  const since = deps.clock.now() - week * 24 * 60 * 60 * 1000;
  return dead.filter(({ occurredAt }) => occurredAt >= since);
};

/**
 * The cards and endpoints that need a person: held cards, disabled endpoints, and deliveries that failed for
 * good.
 */
const needsAttention = async (context: OrgContext) => {
  const { deps, org } = context;
  const failing = (await listEndpoints(deps.webhooks, org)).filter(({ endpoint }) => !isActive(endpoint));
  return {
    held: await someCards(context, 'blocked', maxHeldListed + 1),
    failing,
    since: await offSince(
      deps,
      org,
      failing.map(({ endpoint }) => endpoint),
    ),
    dead: await deadLetters(context),
  };
};

export const homePage = page({
  path: 'home',
  may: 'cards.read',
  load: async (context) => {
    const { deps, org, role, timeZone } = context;
    const wanted = { now: deps.clock.instant(), timeZone, days: week };
    const [balance, days, needs, cards, keys, owner] = await Promise.all([
      readBalance(deps, org),
      readCardDays(deps, org, wanted),
      needsAttention(context),
      someCards(context, null, latest),
      listKeys(deps, org, 1, null),
      readAccount(deps, org),
    ]);
    const steps = {
      hasKey: (keys ?? []).length > 0,
      hasDesign: owner.designs.length > 0,
      hasCard: cards.length > 0,
    };
    return { balance, days, needs, cards, owner, steps, mayManage: may(role, 'webhooks.manage') };
  },
  title: () => 'Home',
  view: ({ balance, days, needs, cards, owner, steps, mayManage }, context) => {
    const { org, url } = context;
    return (
      <>
        <h1 class="hidden">Home</h1>
        <div class="grid">
          <Credits balance={balance} days={days} statement={url('credits', { org })} />
          <LastDays days={days} />
        </div>
        <NeedsYou {...needs} mayManage={mayManage} owner={owner} context={context} />
        <FirstSteps {...steps} context={context} />
        <section aria-labelledby="latest">
          <div class="head">
            <h2 id="latest">Latest cards</h2>
            {cards.length === 0 ? null : <a href={url('cards', { org })}>All cards</a>}
          </div>
          {cards.length === 0 ? (
            <Empty title="No card has been sent yet">
              Make a key, save a design, and send the first one:{' '}
              <a href={`${url('/docs')}#first-card`}>your first card</a>.
            </Empty>
          ) : (
            <CardsTable cards={cards} owner={owner} />
          )}
        </section>
      </>
    );
  },
});
