import { listCards } from '../../../application/cards/read-cards.js';
import { offSince, listDeliveries, listEndpoints } from '../../../application/webhooks/webhooks.js';
import { isActive } from '../../../domain/webhook-endpoints.js';
import type { OrganizationDocument } from '../../../projections/organizations.js';
import { Form } from '../web/form.js';
import { Badge, ButtonLink, Panel, Time } from '../web/parts.js';
import { useVisit } from '../web/visit.js';
import { CardLink, reasonInWords } from './card-words.js';
import { addressee, SmallFront } from './card-parts.js';
import { EndpointState } from './endpoint-parts.js';
import type { OrgContext } from './page.js';

/** How many held cards and endpoints are listed; the others are a click away. */
const maxListed = 5;
/** How many dead letters are read: only their presence matters. */
const maxDeadLetters = 50;
const week = 7 * 24 * 60 * 60 * 1000;

/** Dead letters of the last days. Older ones are no news. */
const deadLetters = async ({ deps, org }: OrgContext) => {
  const filter = { endpoint: null, status: 'exhausted', type: null, card: null } as const;
  const part = { startingAfter: null, limit: maxDeadLetters };
  const dead = await listDeliveries(deps.webhooks, org, filter, part);
  return dead.filter(({ occurredAt }) => occurredAt >= deps.clock.now() - week);
};

/**
 * The cards and endpoints that need a person: held cards, disabled endpoints, and deliveries that failed for
 * good.
 */
export const needsAttention = async (context: OrgContext) => {
  const { deps, org } = context;
  const held = { limit: maxListed + 1, status: 'blocked', reference: null, startingAfter: null } as const;
  const failing = (await listEndpoints(deps.webhooks, org))
    .map(({ endpoint }) => endpoint)
    .filter((endpoint) => !isActive(endpoint));
  return {
    held: await listCards(deps, org, held),
    failing,
    since: await offSince(deps, org, failing),
    dead: await deadLetters(context),
  };
};

interface NeedsProps extends Awaited<ReturnType<typeof needsAttention>> {
  readonly owner: OrganizationDocument;
}

export const NeedsYou = ({ held, failing, since, dead, owner }: NeedsProps) => {
  const { mayDo, url } = useVisit();
  if (held.length + failing.length + dead.length === 0) return null;
  return (
    <Panel id="needs-you" title="Needs attention">
      <ul class="rows">
        {held.slice(0, maxListed).map((card) => (
          <li>
            <Badge tone="warn">Held</Badge>
            <SmallFront card={card} owner={owner} />
            <CardLink code={card.code} />
            <span>{addressee(card)}</span>
            <span class="quiet">
              {reasonInWords(card.heldReason)} · sent <Time at={card.createdAt} />
            </span>
          </li>
        ))}
        {held.length <= maxListed ? null : (
          <li>
            <Badge tone="warn">Held</Badge>
            <a href={url('cards', {}, { status: 'blocked' })}>All held cards</a>
          </li>
        )}
        {failing.slice(0, maxListed).map((endpoint) => (
          <li>
            <span>
              {endpoint.url}
              <br />
              <EndpointState endpoint={endpoint} since={since} />
            </span>
            <span class="actions end">
              <ButtonLink
                to={url('deliveries', {}, { endpoint: endpoint.id })}
                kind="second"
                words="Deliveries"
              />
              {mayDo('webhooks.manage') ? (
                <Form action="enable" to={url('endpoint', { endpoint: endpoint.id })} button="Switch on" />
              ) : null}
            </span>
          </li>
        ))}
        {failing.length <= maxListed ? null : (
          <li>
            <a href={url('webhooks')}>All endpoints</a>
          </li>
        )}
        {dead.slice(0, 1).map(({ occurredAt }) => (
          <li>
            <Badge tone="bad">Dead letters</Badge>
            <span>
              {dead.length === 1 ? '1 failed delivery' : `${dead.length} failed deliveries`}, the last at{' '}
              <Time at={occurredAt} />
            </span>
            <span class="actions end">
              <ButtonLink
                to={url('deliveries', {}, { status: 'exhausted' })}
                kind="second"
                words="Send again"
              />
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  );
};
