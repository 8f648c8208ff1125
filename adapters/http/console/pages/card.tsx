import { readOrderPage } from '../../../../application/cards/card-record.js';
import { changeCard } from '../../../../application/cards/change-card.js';
import { codeFrom } from '../../../../application/cards/read-cards.js';
import { findDesign } from '../../../../application/organizations/read-accounts.js';
import { listDeliveries } from '../../../../application/webhooks/webhooks.js';
import { cancel } from '../../../../domain/card.js';
import { may } from '../../../../domain/permissions.js';
import { Form } from '../../web/form.js';
import { Danger, Day, Facts, Panel, Time } from '../../web/parts.js';
import { actorNames } from '../actor-name.js';
import { assertMay, orNothing, roleAt } from '../admit.js';
import { SentPiece } from '../card-parts.js';
import { gone, lineOf, reasonInWords, Status, Steps } from '../card-words.js';
import { DeliveriesTable, endpointsOf } from '../delivery-parts.js';
import { go, type KnownContext, page } from '../page.js';

/**
 * A card, if the visitor may see it. A code without a card, and another organization's card, get the same
 * response.
 */
const admittedCard = ({ deps, visitor, params, concerns }: KnownContext) =>
  orNothing(async () => {
    const withRecovered = visitor.kind === 'operator';
    const found = await readOrderPage(deps, codeFrom(params['code'] ?? ''), { withRecovered });
    const place = await roleAt(deps, visitor, found.order.org);
    concerns(place.org);
    return { ...found, ...place };
  });

/** A card has at most a few events, and an organization a few endpoints. */
const maxDeliveries = 50;

const cancellable = new Set(['pending', 'queued', 'blocked']);

export const cardPage = page({
  path: 'card',
  may: 'signed-in',
  load: async (context) => {
    const { deps, visitor } = context;
    const found = await admittedCard(context);
    const isOffered = may(found.role, 'cards.cancel') && cancellable.has(found.card.status);
    const filter = { endpoint: null, status: null, type: null, card: found.card.code };
    const part = { startingAfter: null, limit: maxDeliveries };
    const deliveries = await listDeliveries(deps.webhooks, found.org, filter, part);
    const endpoints = deliveries.length === 0 ? new Map() : await endpointsOf(deps.webhooks, found.org);
    const nameOf = actorNames(deps, visitor, found.org);
    const history = await Promise.all(
      found.history.map(async (happening) => ({ ...happening, by: await nameOf(happening.actor) })),
    );
    const { id, slug } = found.order.design;
    const saved = await findDesign(deps, found.org, id);
    const design = saved?.name ?? slug ?? 'one that was archived';
    const picture = { artwork: saved?.artwork ?? null, isErased: (saved?.erased ?? null) !== null };
    return { ...found, history, design, picture, deliveries, endpoints, isOffered };
  },
  title: ({ card }) => card.code,
  around: ({ org, role }) => ({ within: { org, role } }),
  heading: ({ card, org }, { url }) => ({
    words: `Card for ${card.recipient?.name ?? `a recipient who is ${gone(card.erasedAt)}`}`,
    above: ['Cards', url('cards', { org })],
    below: card.code,
    beside: (
      <span id="status" data-refresh>
        <Status status={card.status} />
      </span>
    ),
  }),
  view: ({ card, message, history, design, picture, org, role, deliveries, endpoints, isOffered }) => (
    <>
      <div id="held" data-refresh>
        {card.heldReason === null ? null : (
          <p class="note warning">
            <strong>Held, not charged.</strong> {reasonInWords(card.heldReason)}
          </p>
        )}
      </div>
      <section id="steps" class="panel" aria-labelledby="production" data-refresh>
        <h2 id="production">Production</h2>
        <Steps steps={card.steps} withTimes />
        <p class="quiet">
          Arrives between <Day day={card.window.earliest} /> and <Day day={card.window.latest} />: a window,
          not a promised date. What happens after the card is posted is not reported.
        </p>
      </section>
      <SentPiece card={card} message={message} design={design} {...picture} />
      <div class="grid wide">
        <section id="happenings" class="panel" aria-labelledby="history" data-refresh>
          <h2 id="history">History</h2>
          <ol class="trail">
            {history.map((happening) => (
              <li>
                <span class="what">{lineOf(happening)}</span>
                <Time at={happening.at} />
                <span class="quiet"> · {happening.by}</span>
                {happening.requestId === null ? null : (
                  <span class="quiet">
                    {' '}
                    · <code>{happening.requestId}</code>
                  </span>
                )}
              </li>
            ))}
          </ol>
        </section>
        <div>
          <Panel id="details" title="Details">
            <Facts
              of={{
                Code: <code data-copy>{card.code}</code>,
                Reference: card.reference ?? 'none',
                'Sent by': history[0]?.by,
                Design: design,
                'Due on the floor': <Day day={card.due} />,
              }}
            />
          </Panel>
          <div id="cancelling" data-refresh>
            {isOffered ? (
              <Danger label="Cancel this card">
                <p>
                  Possible until a machine starts on it.{' '}
                  {card.status === 'blocked' ? 'Nothing was charged.' : '1 credit comes back.'} No webhook is
                  sent.
                </p>
                <Form action="cancel" button="Cancel the card" />
              </Danger>
            ) : null}
          </div>
        </div>
      </div>
      {deliveries.length === 0 ? null : (
        <div id="told" data-refresh>
          <h2>Deliveries</h2>
          <DeliveriesTable
            deliveries={deliveries}
            endpoints={endpoints}
            org={org}
            leave="Card"
            mayRetry={may(role, 'webhooks.manage')}
          />
        </div>
      )}
    </>
  ),
  actions: {
    cancel: async (context) => {
      const { card, org, role } = await admittedCard(context);
      assertMay({ role, org }, 'cards.cancel');
      const { deps, command, url } = context;
      await changeCard(deps, { code: codeFrom(card.code), org }, { ...command(), org }, cancel);
      return go(url('card', { code: card.code }));
    },
  },
});
