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
import { ButtonLink, PageHeading } from '../../web/parts.js';
import { DeliveriesTable } from '../delivery-parts.js';
import { EndpointForms } from '../endpoint-forms.js';
import { chosenEvents, EndpointState, eventsLine, Health, Secret } from '../endpoint-parts.js';
import { confirmed, go, page, pageAfter } from '../page.js';
import { paths } from '../../web/paths.js';
import { readLocalTime } from '../since.js';
import { TestResult } from '../test-result.js';

const latest = 5;

export const endpointPage = page({
  path: paths.endpoint,
  may: 'integrations.read',
  query: ['done'],
  load: async ({ deps, org, params, role }) => {
    const listed = await readEndpoint(deps.webhooks, org, params['endpoint'] ?? '');
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
      again: ({ url, org, params }) => url(paths.endpoint, { org, endpoint: params['endpoint'] ?? '' }),
      run: async (context) => {
        const { deps, org, params, url } = context;
        const id = params['endpoint'] ?? '';
        const back = url(paths.endpoint, { org, endpoint: id });
        const { endpoint } = await readEndpoint(deps.webhooks, org, id);
        const result = await sendTestEvent(deps.webhooks, org, id);
        return {
          kind: 'show',
          title: 'Test event',
          body: <TestResult result={result} endpoint={endpoint} back={back} />,
        };
      },
    },
    enable: {
      may: 'webhooks.manage',
      run: async (context) => {
        const { deps, org, by, params } = context;
        const command = newCommand(deps, by, org);
        const enable = enableEndpoint(deps.webhooks, org, params['endpoint'] ?? '', command);
        return confirmed(context, 'enabled', enable);
      },
    },
    replay: {
      may: 'webhooks.manage',
      run: async (context, sent) => {
        const { deps, org, params, timeZone, signal } = context;
        const since = { time: readLocalTime(sent('since'), timeZone, 'since') };
        const count = await replayEvents(deps.webhooks, org, params['endpoint'] ?? '', since, signal);
        if (count === null) throw new ClientGone();
        return go(pageAfter(context, 'replayed'));
      },
    },
    change: {
      may: 'webhooks.manage',
      run: async (context, sent) => {
        const { deps, org, by, params } = context;
        const wanted = readEndpointChange({
          events: chosenEvents(sent),
          description: sent('description'),
        });
        const command = newCommand(deps, by, org);
        const change = changeEndpoint(deps.webhooks, org, params['endpoint'] ?? '', wanted, command);
        return confirmed(context, 'changed', change);
      },
    },
    rotate: {
      may: 'webhooks.manage',
      again: (context) => pageAfter(context, 'rotated'),
      run: async (context) => {
        const { deps, org, by, params, url } = context;
        const id = params['endpoint'] ?? '';
        const secret = await rotateSecret(deps.webhooks, org, id, newCommand(deps, by, org));
        return {
          kind: 'show',
          title: 'The new signing secret',
          body: (
            <div class="narrow">
              <h1>The secret is rotated</h1>
              <p>For 24 hours deliveries are signed with the old one, too: take both until then.</p>
              <Secret secret={secret} />
              <ButtonLink to={url(paths.endpoint, { org, endpoint: id })}>I have stored it</ButtonLink>
            </div>
          ),
        };
      },
    },
    delete: {
      may: 'webhooks.manage',
      run: async ({ deps, org, by, params, url }) => {
        const { endpoint } = await readEndpoint(deps.webhooks, org, params['endpoint'] ?? '');
        await deleteEndpoint(deps.webhooks, org, endpoint.id, newCommand(deps, by, org));
        return go(url(paths.webhooks, { org }, { done: 'deleted' }));
      },
    },
  },
});
