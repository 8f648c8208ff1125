import type { Delivery, DeliveryAttempt, DeliveryStatus } from '../../../application/ports/delivery-log.js';
import { listEndpoints, type WebhookDeps } from '../../../application/webhooks/webhooks.js';
import type { OrganizationId, Uuid } from '../../../domain/ids.js';
import type { Endpoint } from '../../../domain/webhook-endpoints.js';
import { Form } from '../web/form.js';
import { Badge, type Columns, Table, Time, type Tone } from '../web/parts.js';
import { block } from '../web/prose.js';
import { useVisit } from '../web/visit.js';
import { CardLink } from './card-words.js';

export const deliveryStates: Readonly<
  Record<DeliveryStatus, { readonly word: string; readonly tone: Tone }>
> = {
  pending: { word: 'Waiting', tone: 'busy' },
  delivered: { word: 'Delivered', tone: 'good' },
  exhausted: { word: 'Dead letter', tone: 'bad' },
  dropped: { word: 'Dropped', tone: 'idle' },
};

export const DeliveryStatusBadge = ({ status }: Pick<Delivery, 'status'>) => (
  <Badge tone={deliveryStates[status].tone}>{deliveryStates[status].word}</Badge>
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
  /** On the page of an endpoint or a card: its column is left out, and forms lead to pages of deliveries. */
  readonly leave?: 'To' | 'Card';
}

/** Deliveries, each with the way to send it again. */
export const DeliveriesTable = ({ deliveries, endpoints, org, mayRetry, leave }: TableProps) => {
  const { url } = useVisit();
  const pageOf = ({ id }: Delivery) => url('delivery', { org, delivery: id });
  // The page of all deliveries takes its own forms, and keeps its filters.
  const again = (row: Delivery) =>
    canRetry(row, endpoints) ? (
      <Form
        action="retry"
        to={leave && pageOf(row)}
        fields={{ delivery: row.id }}
        kind="second"
        label={`Retry ${row.type} of ${row.card}`}
        button="Retry"
      />
    ) : null;
  const columns: Columns<Delivery> = {
    Event: (row) => <a href={pageOf(row)}>{row.type}</a>,
    To: ({ endpoint }) => endpointName(endpoints.get(endpoint)),
    Card: ({ card }) => <CardLink code={card} />,
    Status: ({ status }) => <DeliveryStatusBadge status={status} />,
    Attempts: triesOf,
    At: ({ occurredAt }) => <Time at={occurredAt} />,
    ...(mayRetry && { Again: again }),
  };
  const shown = Object.entries(columns).filter(([name]) => name !== leave);
  return <Table label="Deliveries" rows={deliveries} columns={Object.fromEntries(shown)} />;
};
