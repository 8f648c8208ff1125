import type { Delivery, DeliveryAttempt, DeliveryStatus } from '../../../application/ports/delivery-log.js';
import type { Uuid } from '../../../domain/ids.js';
import type { Endpoint } from '../../../domain/webhook-endpoints.js';
import { Form, Submit } from '../web/form.js';
import { Badge, Table, type Column, type Tone } from '../web/parts.js';
import { Time } from '../web/time.js';
import type { Url } from '../web/url.js';
import { useVisit } from '../web/visit.js';
import { paths } from '../web/paths.js';
import { CardLink } from './links.js';
import { instantAt } from './since.js';

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

const triesOf = ({ attempts, made, allowed }: Delivery): string => {
  const last = attempts.at(-1);
  return last === undefined ? 'none yet' : `${made} of ${allowed}: ${resultOf(last)}`;
};

/** Whether it may be made due by hand: delivered ones may not, nor ones for a deleted endpoint. */
export const canRetry = ({ status, endpoint }: Delivery, endpoints: ReadonlyMap<Uuid, Endpoint>): boolean =>
  status !== 'delivered' && endpoints.has(endpoint);

/** An endpoint as people know it: its description, else its address without https. */
export const endpointName = (endpoint: Endpoint | undefined): string =>
  endpoint === undefined ? 'deleted' : (endpoint.description ?? endpoint.url.replace(/^https:\/\//, ''));

interface TableProps {
  readonly deliveries: readonly Delivery[];
  readonly endpoints: ReadonlyMap<Uuid, Endpoint>;
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
      cell: ({ id, type }) => <a href={url(paths.delivery, { org, delivery: id })}>{type}</a>,
    },
    { name: 'To', cell: ({ endpoint }) => endpointName(endpoints.get(endpoint)) },
    { name: 'Card', cell: ({ card }) => <CardLink code={card} /> },
    { name: 'Status', cell: ({ status }) => <DeliveryStatusBadge status={status} /> },
    { name: 'Attempts', cell: triesOf },
    { name: 'At', cell: ({ occurredAt }) => <Time at={instantAt(occurredAt)} /> },
  ];
  const again: Column<Delivery> = {
    name: 'Again',
    cell: (row) =>
      mayRetry && canRetry(row, endpoints) ? (
        <Form action="retry" {...(to !== undefined && { to: to(row) })}>
          <input type="hidden" name="delivery" value={row.id} />
          <Submit kind="second">
            Retry
            <span class="hidden">
              {' '}
              {row.type} of {row.card}
            </span>
          </Submit>
        </Form>
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
