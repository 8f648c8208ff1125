import type { Delivery } from '../../../application/ports/delivery-log.js';
import { listDeliveries, listEndpoints } from '../../../application/webhooks/webhooks.js';
import type { Uuid } from '../../../domain/ids.js';
import { may, type Role } from '../../../domain/permissions.js';
import type { Endpoint } from '../../../domain/webhook-endpoints.js';
import type { AdmittedOrg } from './admit.js';
import { DeliveriesTable } from './delivery-parts.js';
import type { ConsoleDeps } from './deps.js';
import { useVisit } from '../web/visit.js';
import { paths } from '../web/paths.js';

/** A card has at most a few events, and an organization a few endpoints. */
const maxListed = 50;

interface Told {
  readonly deliveries: readonly Delivery[];
  readonly endpoints: ReadonlyMap<Uuid, Endpoint>;
}

export const deliveriesOf = async (
  { webhooks }: ConsoleDeps,
  org: AdmittedOrg,
  card: string,
): Promise<Told> => {
  const filter = { endpoint: null, status: null, type: null, card };
  const deliveries = await listDeliveries(webhooks, org, filter, { startingAfter: null, limit: maxListed });
  if (deliveries.length === 0) return { deliveries, endpoints: new Map() };
  const listed = await listEndpoints(webhooks, org);
  return { deliveries, endpoints: new Map(listed.map(({ endpoint }) => [endpoint.id, endpoint])) };
};

interface Props extends Told {
  readonly org: AdmittedOrg;
  readonly role: Role;
}

/** The same as a part of the card's page, with the way to tell it again. */
export const CardDeliveries = ({ deliveries, endpoints, org, role }: Props) => {
  const { url } = useVisit();
  return deliveries.length === 0 ? null : (
    <div id="told" data-refresh>
      <h2>Deliveries</h2>
      <DeliveriesTable
        deliveries={deliveries}
        endpoints={endpoints}
        org={org}
        leave="Card"
        mayRetry={may(role, 'webhooks.manage')}
        to={({ id }) => url(paths.delivery, { org, delivery: id })}
      />
    </div>
  );
};
