import type { Delivery } from '../../../../application/ports/delivery-log.js';
import { readDelivery, retryDelivery } from '../../../../application/webhooks/webhooks.js';
import { deliveryHeaders } from '../../../../domain/webhook-signing.js';
import { Form } from '../../web/form.js';
import { Badge, count, Empty, Facts, Panel, Time } from '../../web/parts.js';
import { block } from '../../web/prose.js';
import { CardLink } from '../card-words.js';
import {
  canRetry,
  DeliveryStatusBadge,
  endpointName,
  endpointsOf,
  ResponseBody,
  resultOf,
} from '../delivery-parts.js';
import { confirmed, page } from '../page.js';

/** Headers whose values differ with each attempt. */
const perAttempt: ReadonlySet<string> = new Set([
  'service-signature',
  'webhook-signature',
  'webhook-timestamp',
]);

/** The headers of a delivery; of signatures the names alone. */
const headersOf = ({ id: delivery, ...sent }: Delivery): readonly string[] =>
  Object.entries(deliveryHeaders({ ...sent, delivery, secrets: [], at: 0 })).map(([name, value]) =>
    perAttempt.has(name) ? `${name}: set for each attempt` : `${name}: ${value}`,
  );

export const deliveryPage = page({
  path: 'delivery',
  may: 'integrations.read',
  mayAct: 'webhooks.manage',
  query: ['done'],
  load: async ({ deps, org, params }) => ({
    delivery: await readDelivery(deps.webhooks, org, params['delivery'] ?? ''),
    endpoints: await endpointsOf(deps.webhooks, org),
  }),
  title: ({ delivery }) => `${delivery.type} of ${delivery.card}`,
  heading: ({ delivery: { id, status } }, { url }) => ({
    above: ['Deliveries', url('deliveries')],
    below: <code>{id}</code>,
    beside: <DeliveryStatusBadge status={status} />,
  }),
  view: ({ delivery, endpoints }, { url, mayAct }) => {
    const endpoint = endpoints.get(delivery.endpoint);
    const { card, attempts, made, allowed, due, dropReason } = delivery;
    return (
      <>
        {endpoint === undefined || endpoint.disabledReason === null ? null : (
          <p class="note">
            The endpoint is switched off: nothing is sent to it until it is{' '}
            <a href={url('endpoint', { endpoint: endpoint.id })}>switched on</a>.
          </p>
        )}
        <Panel id="state" title="State">
          <Facts
            of={{
              Endpoint:
                endpoint === undefined ? (
                  'deleted'
                ) : (
                  <a href={url('endpoint', { endpoint: endpoint.id })}>{endpointName(endpoint)}</a>
                ),
              Card: <CardLink code={card} />,
              Event: (
                <>
                  <code>{delivery.event}</code>, <Time at={delivery.occurredAt} />
                </>
              ),
              Attempts: `${made} of ${allowed}`,
              'Next attempt': due === null ? null : <Time at={due} />,
              'Dropped because': dropReason,
            }}
          />
          {mayAct && canRetry(delivery, endpoints) ? <Form action="retry" button="Retry now" /> : null}
        </Panel>
        <Panel
          id="attempts"
          title={made > attempts.length ? `The last ${attempts.length} attempts` : 'Attempts'}
        >
          {attempts.length === 0 ? (
            <Empty title={due === null ? 'No attempt' : 'No attempt yet'}>
              {due === null ? 'There will be none.' : 'The first one is due soon.'}
            </Empty>
          ) : (
            <ol class="trail">
              {attempts.toReversed().map((attempt) => (
                <li>
                  <span class="what">{resultOf(attempt)}</span>
                  <Time at={attempt.at} />
                  <span class="quiet"> · {count(Math.round(attempt.duration))} ms</span>
                  <ResponseBody body={attempt.body} />
                </li>
              ))}
            </ol>
          )}
        </Panel>
        <Panel id="request" title="Request">
          {endpoint === undefined ? null : (
            <p>
              <Badge tone="idle">POST</Badge> <code>{endpoint.url}</code>
            </p>
          )}
          {block(`${headersOf(delivery).join('\n')}\n\n${delivery.body}`)}
        </Panel>
      </>
    );
  },
  actions: {
    retry: confirmed('retried', ({ deps, org, params }) =>
      retryDelivery(deps.webhooks, org, params['delivery'] ?? ''),
    ),
  },
});
