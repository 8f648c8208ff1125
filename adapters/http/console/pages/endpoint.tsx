import type { Clock } from '../../../../application/ports/system.js';
import {
  offSince,
  changeEndpoint,
  deleteEndpoint,
  enableEndpoint,
  listDeliveries,
  readEndpoint,
  rotateSecret,
  sendTestEvent,
  replayEvents,
} from '../../../../application/webhooks/webhooks.js';
import type { Endpoint } from '../../../../domain/webhook-endpoints.js';
import { readEndpointChange } from '../../api/webhooks.js';
import { ClientGone } from '../../server/errors.js';
import { Field, Form, FormPanel } from '../../web/form.js';
import { Danger, Panel } from '../../web/parts.js';
import type { Texts, Url } from '../../web/paths.js';
import { DeliveriesTable } from '../delivery-parts.js';
import {
  FormsNow,
  chosenEvents,
  EndpointState,
  Health,
  SecretShown,
  TestResult,
  EventChoices,
  VerifyExamples,
} from '../endpoint-parts.js';
import { confirmed, go, page, type OrgContext, shownOnce } from '../page.js';
import { sinceIn, Since } from '../since.js';

const latest = 5;

const idIn = (params: Texts): string => params['endpoint'] ?? '';

const here = ({ url, params }: OrgContext): Url => url('endpoint', params);

/** Rare actions, some of them irreversible. */
const FormsLater = ({ endpoint, clock }: { readonly endpoint: Endpoint; readonly clock: Clock }) => (
  <>
    <Panel id="replay" title="Replay">
      <p class="quiet">
        Sends every event since then that the endpoint has not accepted, also those from before it was
        registered.
      </p>
      <Form action="replay" kind="second" button="Replay">
        <Since clock={clock} />
      </Form>
    </Panel>
    <FormPanel id="change" title="Change" action="change" kind="second" button="Save">
      <Field name="description" label="Description" optional value={endpoint.description ?? ''} />
      <EventChoices subscribed={endpoint.events} />
    </FormPanel>
    <VerifyExamples />
    <Danger label="Rotate the secret">
      <p>Makes a new secret, which is shown once. The old one also signs for 24 hours.</p>
      <Form action="rotate" button="Rotate the secret" />
    </Danger>
    <Danger label="Delete this endpoint">
      <p>Nothing more is sent to it, and what waits for it is dropped. This can’t be undone.</p>
      <Form action="delete" button="Delete forever" />
    </Danger>
  </>
);

export const endpointPage = page({
  path: 'endpoint',
  may: 'integrations.read',
  mayAct: 'webhooks.manage',
  query: ['done'],
  load: async ({ deps, org, params }) => {
    const listed = await readEndpoint(deps.webhooks, org, idIn(params));
    const { endpoint } = listed;
    const filter = { endpoint: endpoint.id, status: null, type: null, card: null };
    return {
      listed,
      since: await offSince(deps, org, [endpoint]),
      deliveries: await listDeliveries(deps.webhooks, org, filter, { startingAfter: null, limit: latest }),
    };
  },
  title: () => 'Webhook endpoint',
  heading: ({ listed: { endpoint } }, { url }) => ({
    words: endpoint.description ?? 'Endpoint',
    above: ['Webhooks', url('webhooks')],
    below: <code>{endpoint.id}</code>,
  }),
  view: ({ listed, since, deliveries }, { deps, org, url, mayAct }) => {
    const { endpoint } = listed;
    return (
      <>
        <Panel id="state" title={<code>{endpoint.url}</code>}>
          <p>
            <EndpointState endpoint={endpoint} since={since} />
          </p>
          <p class="quiet">
            <Health listed={listed} />
          </p>
          {mayAct ? <FormsNow endpoint={endpoint} /> : null}
        </Panel>
        <section aria-labelledby="deliveries">
          <div class="head">
            <h2 id="deliveries">Latest deliveries</h2>
            <a href={url('deliveries', {}, { endpoint: endpoint.id })}>All of them</a>
          </div>
          {deliveries.length === 0 ? (
            <p class="quiet">Nothing was sent yet. Send a test, or a card.</p>
          ) : (
            <DeliveriesTable
              deliveries={deliveries}
              endpoints={new Map([[endpoint.id, endpoint]])}
              org={org}
              leave="To"
              mayRetry={mayAct}
            />
          )}
        </section>
        {mayAct ? <FormsLater endpoint={endpoint} clock={deps.clock} /> : null}
      </>
    );
  },
  actions: {
    test: {
      again: here,
      run: async (context) => {
        const { deps, org, params } = context;
        const { endpoint } = await readEndpoint(deps.webhooks, org, idIn(params));
        const result = await sendTestEvent(deps.webhooks, org, endpoint.id);
        const body = <TestResult result={result} endpoint={endpoint} back={here(context)} />;
        return { kind: 'show', title: 'Test event', body };
      },
    },
    enable: confirmed('enabled', ({ deps, org, params, command }) =>
      enableEndpoint(deps.webhooks, org, idIn(params), command()),
    ),
    replay: confirmed('replayed', async ({ deps, org, params, timeZone, signal }, sent) => {
      const since = { time: sinceIn(sent, timeZone) };
      const count = await replayEvents(deps.webhooks, org, idIn(params), since, signal);
      if (count === null) throw new ClientGone();
    }),
    change: confirmed('changed', async ({ deps, org, params, command }, sent) => {
      const wanted = readEndpointChange({ events: chosenEvents(sent), description: sent('description') });
      await changeEndpoint(deps.webhooks, org, idIn(params), wanted, command());
    }),
    rotate: shownOnce('rotated', async (context) => {
      const { deps, org, params, command } = context;
      const secret = await rotateSecret(deps.webhooks, org, idIn(params), command());
      const body = (
        <SecretShown title="The secret is rotated" secret={secret} back={here(context)}>
          For 24 hours deliveries are signed with the old one, too: take both until then.
        </SecretShown>
      );
      return { kind: 'show', title: 'The new signing secret', body };
    }),
    delete: async ({ deps, org, params, command, url }) => {
      const { endpoint } = await readEndpoint(deps.webhooks, org, idIn(params));
      await deleteEndpoint(deps.webhooks, org, endpoint.id, command());
      return go(url('webhooks', {}, { done: 'deleted' }));
    },
  },
});
