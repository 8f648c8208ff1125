import type { Endpoint } from '../../../domain/webhook-endpoints.js';
import { Field, Form, type ShownRefusal } from '../web/form.js';
import { Danger, Panel } from '../web/parts.js';
import { chosenEvents, EventChoices, VerifyExamples } from './endpoint-parts.js';
import type { OrgContext } from './page.js';
import { Since } from './since.js';

/** Frequent actions: test the endpoint, and enable it again. */
export const FormsNow = ({ endpoint }: { readonly endpoint: Endpoint }) => (
  <div class="actions">
    {endpoint.disabledReason === null ? null : <Form action="enable" button="Switch on" />}
    <Form action="test" kind="second" button="Send a test" />
  </div>
);

interface LaterProps {
  readonly context: OrgContext;
  readonly endpoint: Endpoint;
  readonly refused: ShownRefusal | null;
}

/** Rare actions, some of them irreversible. */
export const FormsLater = ({ context, endpoint, refused }: LaterProps) => {
  const typed = refused?.action === 'change' ? refused.sent : null;
  return (
    <>
      <Panel id="replay" title="Replay">
        <p class="quiet">
          Sends every event since then that the endpoint has not accepted, also those from before it was
          registered.
        </p>
        <Form action="replay" kind="second" button="Replay">
          <Since clock={context.deps.clock} />
        </Form>
      </Panel>
      <Panel id="change" title="Change">
        <Form action="change" kind="second" button="Save">
          <Field
            name="description"
            label="Description"
            required={false}
            value={typed?.('description') ?? endpoint.description ?? ''}
          />
          <EventChoices subscribed={typed === null ? endpoint.events : chosenEvents(typed)} />
        </Form>
      </Panel>
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
};
