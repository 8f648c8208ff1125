import type { Delivery } from '../../../application/ports/delivery-log.js';
import type { ListedEndpoint } from '../../../application/webhooks/webhooks.js';
import type { Instant, Uuid } from '../../../domain/ids.js';
import type { CardDocument } from '../../../projections/cards.js';
import type { OrganizationDocument } from '../../../projections/organizations.js';
import { Form } from '../web/form.js';
import { Badge, Panel } from '../web/parts.js';
import { Time } from '../web/time.js';
import { addressee, SmallFront } from './cards-table.js';
import { EndpointState } from './endpoint-parts.js';
import type { OrgContext } from './page.js';
import { CardLink } from './links.js';
import { reasonInWords } from './happenings.js';

/** How many held cards home lists; the others are a click away. */
export const maxHeldListed = 5;

interface NeedsProps {
  readonly held: readonly CardDocument[];
  readonly failing: readonly ListedEndpoint[];
  readonly since: ReadonlyMap<Uuid, Instant>;
  readonly dead: readonly Delivery[];
  readonly mayManage: boolean;
  readonly owner: OrganizationDocument;
  readonly context: OrgContext;
}

export const NeedsYou = ({ held, failing, since, dead, mayManage, owner, context }: NeedsProps) => {
  const { org, url } = context;
  if (held.length + failing.length + dead.length === 0) return null;
  return (
    <Panel id="needs-you" title="Needs attention">
      <ul class="rows">
        {held.slice(0, maxHeldListed).map((card) => (
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
        {held.length <= maxHeldListed ? null : (
          <li>
            <Badge tone="warn">Held</Badge>
            <a href={url('cards', { org }, { status: 'blocked' })}>All held cards</a>
          </li>
        )}
        {failing.map(({ endpoint }) => (
          <li>
            <span>
              {endpoint.url}
              <br />
              <EndpointState endpoint={endpoint} since={since} />
            </span>
            <span class="actions end">
              <a class="button second" href={url('deliveries', { org }, { endpoint: endpoint.id })}>
                Deliveries
              </a>
              {mayManage ? (
                <Form
                  action="enable"
                  to={url('endpoint', { org, endpoint: endpoint.id })}
                  button="Switch on"
                />
              ) : null}
            </span>
          </li>
        ))}
        {dead.slice(0, 1).map(({ occurredAt }) => (
          <li>
            <Badge tone="bad">Dead letters</Badge>
            <span>
              {dead.length === 1 ? '1 failed delivery' : `${dead.length} failed deliveries`}, the last at{' '}
              <Time at={occurredAt} />
            </span>
            <span class="actions end">
              <a class="button second" href={url('deliveries', { org }, { status: 'exhausted' })}>
                Send again
              </a>
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  );
};
