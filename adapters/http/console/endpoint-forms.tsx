import type { Endpoint } from '../../../domain/webhook-endpoints.js';
import { Field, Form, FormButton, type ShownRefusal, Submit } from '../web/form.js';
import { Danger, Panel } from '../web/parts.js';
import { Moment } from '../web/time.js';
import { chosenEvents, EventChoices, VerifyExamples } from './endpoint-parts.js';
import type { OrgContext } from './page.js';
import { localTime } from './since.js';

const day = 24 * 60 * 60 * 1000;

/** Frequent actions: test the endpoint, and enable it again. */
export const FormsNow = ({ endpoint }: { readonly endpoint: Endpoint }) => (
  <div class="actions">
    {endpoint.disabledReason === null ? null : <FormButton action="enable" words="Switch on" />}
    <FormButton action="test" kind="second" words="Send a test" />
  </div>
);

interface LaterProps {
  readonly context: OrgContext;
  readonly endpoint: Endpoint;
  readonly refused: ShownRefusal | null;
}

/** Rare actions, some of them irreversible. */
export const FormsLater = ({ context, endpoint, refused }: LaterProps) => {
  const { deps, timeZone } = context;
  const typed = refused?.action === 'change' ? refused.sent : null;
  return (
    <>
      <Panel id="replay" title="Replay">
        <p class="quiet">
          Sends every event since then that the endpoint has not accepted, also those from before it was
          registered.
        </p>
        <Form action="replay">
          <Moment name="since" label="Since" value={localTime(deps.clock.now() - day, timeZone)} />
          <Submit kind="second">Replay</Submit>
        </Form>
      </Panel>
      <Panel id="change" title="Change">
        <Form action="change">
          <Field
            name="description"
            label="Description"
            required={false}
            value={typed?.('description') ?? endpoint.description ?? ''}
          />
          <EventChoices subscribed={typed === null ? endpoint.events : chosenEvents(typed)} />
          <Submit kind="second">Save</Submit>
        </Form>
      </Panel>
      <VerifyExamples />
      <Danger label="Rotate the secret">
        <p>Makes a new secret, which is shown once. The old one also signs for 24 hours.</p>
        <FormButton action="rotate" words="Rotate the secret" />
      </Danger>
      <Danger label="Delete this endpoint">
        <p>Nothing more is sent to it, and what waits for it is dropped. This can’t be undone.</p>
        <FormButton action="delete" words="Delete forever" />
      </Danger>
    </>
  );
};
