import { newCommand } from '../../../../application/writing/commands.js';
import { offSince } from '../../../../application/webhooks/endpoints-off.js';
import { listEndpoints, registerEndpoint } from '../../../../application/webhooks/webhooks.js';
import { may } from '../../../../domain/permissions.js';
import { readRegistration } from '../../api/webhooks.js';
import { Field, Form, FormButton } from '../../web/form.js';
import { Empty, Panel } from '../../web/parts.js';
import {
  chosenEvents,
  EndpointState,
  EventChoices,
  eventsLine,
  Health,
  SecretShown,
} from '../endpoint-parts.js';
import { Tabs } from '../tabs.js';
import { go, page, pageAfter } from '../page.js';
import { paths } from '../../web/paths.js';
import { VerifyExamples } from '../verify-examples.js';

const registerLine = (base: string): string =>
  `curl ${base}/api/v1/webhooks -H "Authorization: Bearer $API_KEY" \\
  --json '{"url": "https://shop.example/webhooks/cards"}'`;

export const webhooksPage = page({
  path: paths.webhooks,
  may: 'integrations.read',
  query: ['done'],
  load: async (context) => {
    const { deps, org, role } = context;
    const listed = await listEndpoints(deps.webhooks, org);
    const endpoints = listed.map(({ endpoint }) => endpoint);
    return {
      listed,
      since: await offSince(deps, org, endpoints),
      mayManage: may(role, 'webhooks.manage'),
    };
  },
  title: () => 'Webhooks',
  view: ({ listed, since, mayManage }, context, refused) => {
    const { deps, org, url } = context;
    return (
      <>
        <Tabs context={context} of="Integrations" here="Webhooks" />
        {listed.length === 0 ? (
          <Empty title="No endpoint yet" {...(mayManage && { sample: registerLine(deps.baseUrl()) })}>
            An endpoint is an https address of yours that is told what happens to your cards.{' '}
            {mayManage ? 'Register one below, or with an API key:' : 'An owner or a developer registers one.'}
          </Empty>
        ) : (
          <div class="panel">
            <ul class="rows">
              {listed.map((each) => {
                const { endpoint } = each;
                const here = url(paths.endpoint, { org, endpoint: endpoint.id });
                return (
                  <li>
                    <div>
                      <a href={here}>{endpoint.url}</a>
                      {endpoint.description === null ? null : <> · {endpoint.description}</>}
                      <br />
                      <EndpointState endpoint={endpoint} since={since} />
                      <br />
                      <span class="quiet small">
                        {eventsLine(endpoint)} · <Health listed={each} />
                      </span>
                    </div>
                    {mayManage ? (
                      <div class="actions end">
                        {endpoint.disabledReason === null ? null : (
                          <FormButton action="enable" to={here} words="Switch on" />
                        )}
                        <FormButton action="test" to={here} kind="second" words="Send a test" />
                      </div>
                    ) : null}
                  </li>
                );
              })}
            </ul>
          </div>
        )}
        {mayManage ? (
          <Panel id="register" title="Register an endpoint">
            <Form action="register">
              <Field name="url" label="URL" hint="https, and reachable on the public internet." />
              <Field
                name="description"
                label="Description"
                hint="A label of your own choice."
                required={false}
              />
              <EventChoices subscribed={refused === null ? [] : chosenEvents(refused.sent)} />
              <button type="submit">Register</button>
            </Form>
          </Panel>
        ) : null}
        <VerifyExamples />
      </>
    );
  },
  actions: {
    register: {
      may: 'webhooks.manage',
      again: (context) => pageAfter(context, 'registered'),
      run: async ({ deps, org, by, url }, sent) => {
        const wanted = readRegistration({
          url: sent('url'),
          description: sent('description'),
          events: chosenEvents(sent),
        });
        const { endpoint, secret } = await registerEndpoint(
          deps.webhooks,
          org,
          wanted,
          newCommand(deps, by, org),
        );
        const here = url(paths.endpoint, { org, endpoint: endpoint.id });
        if (secret === null)
          return go(url(paths.endpoint, { org, endpoint: endpoint.id }, { done: 'registered' }));
        return {
          kind: 'show',
          title: 'The signing secret',
          body: (
            <SecretShown title="The endpoint is registered" secret={secret} back={here}>
              Deliveries to <code>{endpoint.url}</code> are signed with this secret.
            </SecretShown>
          ),
        };
      },
    },
  },
});
