import type { ComponentProps } from 'preact';
import { deliveryStatuses } from '../../../../application/ports/delivery-log.js';
import {
  listDeliveries,
  redriveDeliveries,
  retryDelivery,
} from '../../../../application/webhooks/webhooks.js';
import { parseCardCode } from '../../../../domain/card-code.js';
import { publicEventTypes } from '../../../../domain/public-events.js';
import { Choice, Field, Form } from '../../web/form.js';
import { Empty, Older } from '../../web/parts.js';
import { DeliveriesTable, deliveryStates, endpointName, endpointsOf } from '../delivery-parts.js';
import type { NoticeName } from '../notice.js';
import { go, type OrgContext, page } from '../page.js';
import { filteredBy, partOf } from '../paging.js';
import { Since, sinceIn } from '../since.js';

const filters = ['endpoint', 'status', 'type', 'card'] as const;

const listLine = (base: string): string =>
  `curl ${base}/api/v1/deliveries -H "Authorization: Bearer $API_KEY"`;

/** A code in any spelling; any other text is the code of no card. */
const codeIn = (text: string): string | null => {
  const parsed = parseCardCode(text);
  if (parsed.kind === 'blank') return null;
  return parsed.kind === 'code' ? parsed.code : text;
};

const filterOf = ({ query }: OrgContext) => ({
  endpoint: query('endpoint').toLowerCase() || null,
  status: deliveryStatuses.find((each) => each === query('status')) ?? null,
  type: publicEventTypes.find((each) => each === query('type')) ?? null,
  card: codeIn(query('card')),
});

type FilterProps = Omit<ComponentProps<typeof Choice>, 'value'> & { readonly value: string | null };

const Filter = ({ value, options, ...label }: FilterProps) => (
  <Choice {...label} value={value ?? ''} options={[{ value: '', name: 'All' }, ...options]} />
);

const after = (context: OrgContext, done: NoticeName) => go(filteredBy(context, filters, { done }));

export const deliveriesPage = page({
  path: 'deliveries',
  may: 'integrations.read',
  mayAct: 'webhooks.manage',
  query: [...filters, 'before', 'done'],
  load: async (context) => {
    const { deps, org, query } = context;
    const filter = filterOf(context);
    const part = await partOf(query, (page) => listDeliveries(deps.webhooks, org, filter, page));
    return { filter, ...part, endpoints: await endpointsOf(deps.webhooks, org) };
  },
  title: () => 'Deliveries',
  view: ({ filter, shown, last, endpoints }, context) => {
    const { deps, org, url, query, mayAct, refused } = context;
    const isFiltered = Object.values(filter).some((value) => value !== null);
    const everyEndpoint = [...endpoints.values()].map((endpoint) => ({
      value: endpoint.id,
      name: endpointName(endpoint),
    }));
    return (
      <>
        <form method="get" class="search wide" role="search" aria-label="Deliveries">
          <Filter name="endpoint" label="Endpoint" value={filter.endpoint} options={everyEndpoint} />
          <Filter
            name="status"
            label="Status"
            value={filter.status}
            options={deliveryStatuses.map((value) => ({ value, name: deliveryStates[value].word }))}
          />
          <Filter
            name="type"
            label="Event"
            value={filter.type}
            options={publicEventTypes.map((value) => ({ value, name: value }))}
          />
          <Field name="card" label="Card" type="search" value={query('card')} optional />
          <button type="submit">Find</button>
        </form>
        {shown.length === 0 ? (
          <Empty
            title={isFiltered ? 'No delivery is like this' : 'Nothing was delivered yet'}
            sample={isFiltered ? undefined : listLine(deps.baseUrl())}
          >
            {isFiltered ? (
              <a href={url('deliveries')}>Show all deliveries</a>
            ) : (
              <>
                <a href={url('webhooks')}>Register an endpoint</a>, then send a card: what happens to it is
                told to the endpoint, and listed here, and for an API key:
              </>
            )}
          </Empty>
        ) : (
          <div id="list" data-refresh>
            <DeliveriesTable deliveries={shown} endpoints={endpoints} org={org} mayRetry={mayAct} />
          </div>
        )}
        <Older to={last && filteredBy(context, filters, { before: last.id })} />
        {mayAct && endpoints.size > 0 ? (
          <details class="panel" open={refused?.action === 'redrive'}>
            <summary>Send dead letters again</summary>
            <p class="quiet">
              Makes every dead letter of an endpoint due now whose event occurred since then, each for one
              more attempt.
            </p>
            <Form action="redrive" button="Send them again">
              <Choice name="to" label="Endpoint" value={filter.endpoint ?? ''} options={everyEndpoint} />
              <Since clock={deps.clock} />
            </Form>
          </details>
        ) : null}
      </>
    );
  },
  actions: {
    retry: async (context, sent) => {
      await retryDelivery(context.deps.webhooks, context.org, sent('delivery'));
      return after(context, 'retried');
    },
    redrive: async (context, sent) => {
      const { deps, org, timeZone } = context;
      const from = { time: sinceIn(sent, timeZone) };
      await redriveDeliveries(deps.webhooks, org, { from, to: null, endpoint: sent('to').toLowerCase() });
      return after(context, 'redriven');
    },
  },
});
