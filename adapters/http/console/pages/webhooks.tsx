import { offSince, listEndpoints, registerEndpoint } from '../../../../application/webhooks/webhooks.js';
import { readRegistration } from '../../api/webhooks.js';
import { Field, FormPanel } from '../../web/form.js';
import { Empty, Older } from '../../web/parts.js';
import {
  chosenEvents,
  EndpointState,
  EventChoices,
  FormsNow,
  Health,
  SecretShown,
  VerifyExamples,
} from '../endpoint-parts.js';
import { go, page, shownOnce } from '../page.js';
import { partAfter } from '../paging.js';

const registerLine = (base: string): string =>
  `curl ${base}/api/v1/webhooks -H "Authorization: Bearer $API_KEY" \\
  --json '{"url": "https://shop.example/webhooks/cards"}'`;

export const webhooksPage = page({
  path: 'webhooks',
  may: 'integrations.read',
  mayAct: 'webhooks.manage',
  query: ['before', 'done'],
  load: async ({ deps, org, query }) => {
    const listed = await listEndpoints(deps.webhooks, org);
    const endpoints = listed.map(({ endpoint }) => endpoint);
    const part = partAfter(listed, ({ endpoint }) => endpoint.id === query('before'));
    return { ...part, since: await offSince(deps, org, endpoints) };
  },
  title: () => 'Webhooks',
  view: ({ shown, last, since }, { deps, url, mayAct }) => (
    <>
      {shown.length === 0 ? (
        <Empty title="No endpoint yet" sample={mayAct ? registerLine(deps.baseUrl()) : undefined}>
          An endpoint is an https address of yours that is told what happens to your cards.{' '}
          {mayAct ? 'Register one below, or with an API key:' : 'An owner or a developer registers one.'}
        </Empty>
      ) : (
        <div class="panel">
          <ul class="rows">
            {shown.map((each) => {
              const { endpoint } = each;
              const here = url('endpoint', { endpoint: endpoint.id });
              return (
                <li>
                  <div>
                    <a href={here}>{endpoint.url}</a>
                    {endpoint.description === null ? null : <> · {endpoint.description}</>}
                    <br />
                    <EndpointState endpoint={endpoint} since={since} />
                    <br />
                    <span class="quiet small">
                      <Health listed={each} />
                    </span>
                  </div>
                  {mayAct ? <FormsNow endpoint={endpoint} to={here} /> : null}
                </li>
              );
            })}
          </ul>
        </div>
      )}
      <Older to={last && url('webhooks', {}, { before: last.endpoint.id })} />
      <FormPanel id="register" title="Register an endpoint" action="register" button="Register">
        <Field name="url" label="URL" hint="https, and reachable on the public internet." />
        <Field name="description" label="Description" hint="A label of your own choice." optional />
        <EventChoices subscribed={[]} />
      </FormPanel>
      <VerifyExamples />
    </>
  ),
  actions: {
    register: shownOnce('registered', async ({ deps, org, command, url }, sent) => {
      const wanted = readRegistration({
        url: sent('url'),
        description: sent('description'),
        events: chosenEvents(sent),
      });
      const { endpoint, secret } = await registerEndpoint(deps.webhooks, org, wanted, command());
      const here = { org, endpoint: endpoint.id };
      if (secret === null) return go(url('endpoint', here, { done: 'registered' }));
      const body = (
        <SecretShown title="The endpoint is registered" secret={secret} back={url('endpoint', here)}>
          Deliveries to <code>{endpoint.url}</code> are signed with this secret.
        </SecretShown>
      );
      return { kind: 'show', title: 'The signing secret', body };
    }),
  },
});
