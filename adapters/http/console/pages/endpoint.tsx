import {
  offSince,
  changeEndpoint,
  deleteEndpoint,
  enableEndpoint,
  listDeliveries,
  readEndpoint,
  rotateSecret,
  sendTestEvent,
} from '../../../../application/webhooks/webhooks.js';
import { replayEvents } from '../../../../application/webhooks/replay-events.js';
import { may } from '../../../../domain/permissions.js';
import { ClientGone } from '../../server/errors.js';
import { readEndpointChange } from '../../api/webhooks.js';
import { PageHeading, Panel } from '../../web/parts.js';
import { DeliveriesTable } from '../delivery-parts.js';
import { FormsLater, FormsNow } from '../endpoint-forms.js';
import { chosenEvents, EndpointState, Health, SecretShown, TestResult } from '../endpoint-parts.js';
import { confirmed, go, page, pageAfter, type OrgContext } from '../page.js';
import type { Url } from '../../web/url.js';
import { sinceIn } from '../since.js';

const latest = 5;

const idIn = ({ params }: OrgContext): string => params['endpoint'] ?? '';

const here = ({ url, org, params }: OrgContext): Url => url('endpoint', { org, ...params });

export const endpointPage = page({
  path: 'endpoint',
  may: 'integrations.read',
  mayAct: 'webhooks.manage',
  query: ['done'],
  load: async (context) => {
    const { deps, org, role } = context;
    const listed = await readEndpoint(deps.webhooks, org, idIn(context));
    const { endpoint } = listed;
    const filter = { endpoint: endpoint.id, status: null, type: null, card: null };
    return {
      listed,
      since: await offSince(deps, org, [endpoint]),
      deliveries: await listDeliveries(deps.webhooks, org, filter, { startingAfter: null, limit: latest }),
      mayManage: may(role, 'webhooks.manage'),
    };
  },
  title: () => 'Webhook endpoint',
  view: ({ listed, since, deliveries, mayManage }, context, refused) => {
    const { org, url } = context;
    const { endpoint } = listed;
    return (
      <>
        <PageHeading
          above={['Webhooks', url('webhooks', { org })]}
          here={<code>{endpoint.id}</code>}
          title={endpoint.description ?? 'Endpoint'}
        />
        <Panel id="state" title={<code>{endpoint.url}</code>}>
          <p>
            <EndpointState endpoint={endpoint} since={since} />
          </p>
          <p class="quiet">
            <Health listed={listed} />
          </p>
          {mayManage ? <FormsNow endpoint={endpoint} /> : null}
        </Panel>
        <section aria-labelledby="deliveries">
          <div class="head">
            <h2 id="deliveries">Latest deliveries</h2>
            <a href={url('deliveries', { org }, { endpoint: endpoint.id })}>All of them</a>
          </div>
          {deliveries.length === 0 ? (
            <p class="quiet">Nothing was sent yet. Send a test, or a card.</p>
          ) : (
            <DeliveriesTable
              deliveries={deliveries}
              endpoints={new Map([[endpoint.id, endpoint]])}
              org={org}
              leave="To"
              mayRetry={mayManage}
              to={({ id }) => url('delivery', { org, delivery: id })}
            />
          )}
        </section>
        {mayManage ? <FormsLater context={context} endpoint={endpoint} refused={refused} /> : null}
      </>
    );
  },
  actions: {
    test: {
      again: here,
      run: async (context) => {
        const { deps, org } = context;
        const { endpoint } = await readEndpoint(deps.webhooks, org, idIn(context));
        const result = await sendTestEvent(deps.webhooks, org, endpoint.id);
        const body = <TestResult result={result} endpoint={endpoint} back={here(context)} />;
        return { kind: 'show', title: 'Test event', body };
      },
    },
    enable: confirmed('enabled', (context) => {
      const { deps, org, command } = context;
      return enableEndpoint(deps.webhooks, org, idIn(context), command());
    }),
    replay: confirmed('replayed', async (context, sent) => {
      const { deps, org, timeZone, signal } = context;
      const since = { time: sinceIn(sent, timeZone) };
      const count = await replayEvents(deps.webhooks, org, idIn(context), since, signal);
      if (count === null) throw new ClientGone();
    }),
    change: confirmed('changed', async (context, sent) => {
      const { deps, org, command } = context;
      const wanted = readEndpointChange({ events: chosenEvents(sent), description: sent('description') });
      await changeEndpoint(deps.webhooks, org, idIn(context), wanted, command());
    }),
    rotate: {
      again: (context) => pageAfter(context, 'rotated'),
      run: async (context) => {
        const { deps, org, command } = context;
        const secret = await rotateSecret(deps.webhooks, org, idIn(context), command());
        const body = (
          <SecretShown title="The secret is rotated" secret={secret} back={here(context)}>
            For 24 hours deliveries are signed with the old one, too: take both until then.
          </SecretShown>
        );
        return { kind: 'show', title: 'The new signing secret', body };
      },
    },
    delete: async (context) => {
      const { deps, org, command, url } = context;
      const { endpoint } = await readEndpoint(deps.webhooks, org, idIn(context));
      await deleteEndpoint(deps.webhooks, org, endpoint.id, command());
      return go(url('webhooks', { org }, { done: 'deleted' }));
    },
  },
});
