import { newCommand } from '../../../../application/writing/commands.js';
import { offSince } from '../../../../application/webhooks/endpoints-off.js';
import { replayEvents } from '../../../../application/webhooks/replay-events.js';
import {
  changeEndpoint,
  deleteEndpoint,
  enableEndpoint,
  listDeliveries,
  readEndpoint,
  rotateSecret,
  sendTestEvent,
} from '../../../../application/webhooks/webhooks.js';
import { may } from '../../../../domain/permissions.js';
import { ClientGone } from '../../server/errors.js';
import { readEndpointChange } from '../../api/webhooks.js';
import { PageHeading } from '../../web/parts.js';
import { DeliveriesTable } from '../delivery-parts.js';
import { EndpointForms } from '../endpoint-forms.js';
import { chosenEvents, EndpointState, eventsLine, Health, SecretShown } from '../endpoint-parts.js';
import { confirmed, go, type OrgContext, page, pageAfter } from '../page.js';
import type { Url } from '../../web/url.js';
import { paths } from '../../web/paths.js';
import { readLocalTime } from '../since.js';
import { TestResult } from '../test-result.js';

const latest = 5;

const idIn = ({ params }: OrgContext): string => params['endpoint'] ?? '';

const here = ({ url, org, params }: OrgContext): Url => url(paths.endpoint, { org, ...params });

export const endpointPage = page({
  path: paths.endpoint,
  may: 'integrations.read',
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
          above={['Webhooks', url(paths.webhooks, { org })]}
          here={<code>{endpoint.id}</code>}
          title={endpoint.description ?? 'Endpoint'}
        />
        <section class="panel" aria-labelledby="state">
          <h2 id="state">
            <code>{endpoint.url}</code>
          </h2>
          <p>
            <EndpointState endpoint={endpoint} since={since} />
          </p>
          <p class="quiet">
            {eventsLine(endpoint)} · <Health listed={listed} />
          </p>
          {mayManage ? <EndpointForms.Now context={context} endpoint={endpoint} /> : null}
        </section>
        <section aria-labelledby="deliveries">
          <div class="head">
            <h2 id="deliveries">Latest deliveries</h2>
            <a href={url(paths.deliveries, { org }, { endpoint: endpoint.id })}>All of them</a>
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
              to={({ id }) => url(paths.delivery, { org, delivery: id })}
            />
          )}
        </section>
        {mayManage ? <EndpointForms.Later context={context} endpoint={endpoint} refused={refused} /> : null}
      </>
    );
  },
  actions: {
    test: {
      may: 'webhooks.manage',
      again: here,
      run: async (context) => {
        const { deps, org } = context;
        const { endpoint } = await readEndpoint(deps.webhooks, org, idIn(context));
        const result = await sendTestEvent(deps.webhooks, org, endpoint.id);
        return {
          kind: 'show',
          title: 'Test event',
          body: <TestResult result={result} endpoint={endpoint} back={here(context)} />,
        };
      },
    },
    enable: confirmed('webhooks.manage', 'enabled', (context) => {
      const { deps, org, by } = context;
      return enableEndpoint(deps.webhooks, org, idIn(context), newCommand(deps, by, org));
    }),
    replay: confirmed('webhooks.manage', 'replayed', async (context, sent) => {
      const { deps, org, timeZone, signal } = context;
      const since = { time: readLocalTime(sent('since'), timeZone, 'since') };
      const count = await replayEvents(deps.webhooks, org, idIn(context), since, signal);
      if (count === null) throw new ClientGone();
    }),
    change: confirmed('webhooks.manage', 'changed', async (context, sent) => {
      const { deps, org, by } = context;
      const wanted = readEndpointChange({
        events: chosenEvents(sent),
        description: sent('description'),
      });
      await changeEndpoint(deps.webhooks, org, idIn(context), wanted, newCommand(deps, by, org));
    }),
    rotate: {
      may: 'webhooks.manage',
      again: (context) => pageAfter(context, 'rotated'),
      run: async (context) => {
        const { deps, org, by } = context;
        const secret = await rotateSecret(deps.webhooks, org, idIn(context), newCommand(deps, by, org));
        return {
          kind: 'show',
          title: 'The new signing secret',
          body: (
            <SecretShown title="The secret is rotated" secret={secret} back={here(context)}>
              For 24 hours deliveries are signed with the old one, too: take both until then.
            </SecretShown>
          ),
        };
      },
    },
    delete: {
      may: 'webhooks.manage',
      run: async (context) => {
        const { deps, org, by, url } = context;
        const { endpoint } = await readEndpoint(deps.webhooks, org, idIn(context));
        await deleteEndpoint(deps.webhooks, org, endpoint.id, newCommand(deps, by, org));
        return go(url(paths.webhooks, { org }, { done: 'deleted' }));
      },
    },
  },
});
