import type { Delivery, DeliveryAttempt, DeliveryStatus } from '../../../application/ports/delivery-log.js';
import { listDeliveries, listEndpoints, type WebhookDeps } from '../../../application/webhooks/webhooks.js';
import type { OrganizationId, Uuid } from '../../../domain/ids.js';
import { may } from '../../../domain/permissions.js';
import type { Endpoint } from '../../../domain/webhook-endpoints.js';
import { Form } from '../web/form.js';
import { Badge, type Column, Table, Time, type Tone } from '../web/parts.js';
import { block } from '../web/prose.js';
import type { Url } from '../web/paths.js';
import { useVisit } from '../web/visit.js';
import type { Admitted } from './admit.js';
import { CardLink } from './card-words.js';

const words: Readonly<Record<DeliveryStatus, { readonly word: string; readonly tone: Tone }>> = {
  pending: { word: 'Waiting', tone: 'busy' },
  delivered: { word: 'Delivered', tone: 'good' },
  exhausted: { word: 'Dead letter', tone: 'bad' },
  dropped: { word: 'Dropped', tone: 'idle' },
};

export const deliveryWord = (status: DeliveryStatus): string => words[status].word;

export const DeliveryStatusBadge = ({ status }: Pick<Delivery, 'status'>) => (
  <Badge tone={words[status].tone}>{words[status].word}</Badge>
);

/** The result of an attempt, in a word or two. */
export const resultOf = ({ httpStatus, error }: DeliveryAttempt): string =>
  error ?? (httpStatus === null ? 'no response' : String(httpStatus));

/** The beginning of the response to an attempt, if there is one. */
export const ResponseBody = ({ body }: Pick<DeliveryAttempt, 'body'>) =>
  body === null || body === '' ? null : (
    <details>
      <summary>The beginning of the response</summary>
      {block(body)}
    </details>
  );

const triesOf = ({ attempts, made, allowed }: Delivery): string => {
  const last = attempts.at(-1);
  return last === undefined ? 'none yet' : `${made} of ${allowed}: ${resultOf(last)}`;
};

/** The endpoints of an organization, by their ids. */
export type Endpoints = ReadonlyMap<Uuid, Endpoint>;

export const endpointsOf = async (webhooks: WebhookDeps, org: OrganizationId): Promise<Endpoints> =>
  new Map((await listEndpoints(webhooks, org)).map(({ endpoint }) => [endpoint.id, endpoint]));

/** Whether it may be made due by hand: delivered ones may not, nor ones for a deleted endpoint. */
export const canRetry = ({ status, endpoint }: Delivery, endpoints: Endpoints): boolean =>
  status !== 'delivered' && endpoints.has(endpoint);

/** An endpoint as people know it: its description, else its address without https. */
export const endpointName = (endpoint: Endpoint | undefined): string =>
  endpoint === undefined ? 'deleted' : (endpoint.description ?? endpoint.url.replace(/^https:\/\//, ''));

interface TableProps {
  readonly deliveries: readonly Delivery[];
  readonly endpoints: Endpoints;
  readonly org: string;
  readonly mayRetry: boolean;
  /** The column to leave out, because it is the same in every row. */
  readonly leave?: 'To' | 'Card';
  /** Where these forms are sent; to the page itself if it is left out. */
  readonly to?: (delivery: Delivery) => Url;
}

/** Deliveries, each with the way to send it again. */
export const DeliveriesTable = ({ deliveries, endpoints, org, mayRetry, to, leave }: TableProps) => {
  const { url } = useVisit();
  const columns: readonly Column<Delivery>[] = [
    {
      name: 'Event',
      kind: 'head',
      cell: ({ id, type }) => <a href={url('delivery', { org, delivery: id })}>{type}</a>,
    },
    { name: 'To', cell: ({ endpoint }) => endpointName(endpoints.get(endpoint)) },
    { name: 'Card', cell: ({ card }) => <CardLink code={card} /> },
    { name: 'Status', cell: ({ status }) => <DeliveryStatusBadge status={status} /> },
    { name: 'Attempts', cell: triesOf },
    { name: 'At', cell: ({ occurredAt }) => <Time at={occurredAt} /> },
  ];
  const again: Column<Delivery> = {
    name: 'Again',
    cell: (row) =>
      mayRetry && canRetry(row, endpoints) ? (
        <Form
          action="retry"
          to={to?.(row)}
          fields={{ delivery: row.id }}
          kind="second"
          button={
            <>
              Retry<span class="hidden"> {`${row.type} of ${row.card}`}</span>
            </>
          }
        />
      ) : null,
  };
  return (
    <Table
      label="Deliveries"
      rows={deliveries}
      columns={[...columns.filter(({ name }) => name !== leave), ...(mayRetry ? [again] : [])]}
    />
  );
};

/** A card has at most a few events, and an organization a few endpoints. */
const maxListed = 50;

type Told = Pick<TableProps, 'deliveries' | 'endpoints'>;

export const deliveriesOf = async (
  webhooks: WebhookDeps,
  org: OrganizationId,
  card: string,
): Promise<Told> => {
  const filter = { endpoint: null, status: null, type: null, card };
  const deliveries = await listDeliveries(webhooks, org, filter, { startingAfter: null, limit: maxListed });
  return { deliveries, endpoints: deliveries.length === 0 ? new Map() : await endpointsOf(webhooks, org) };
};

/** The same as a part of the card's page, with the way to tell it again. */
export const CardDeliveries = ({ org, role, ...told }: Told & Admitted) => {
  const { url } = useVisit();
  return told.deliveries.length === 0 ? null : (
    <div id="told" data-refresh>
      <h2>Deliveries</h2>
      <DeliveriesTable
        {...told}
        org={org}
        leave="Card"
        mayRetry={may(role, 'webhooks.manage')}
        to={({ id }) => url('delivery', { org, delivery: id })}
      />
    </div>
  );
};
