import type { AttemptResult } from '../../../application/ports/webhook-sender.js';
import type { ListedEndpoint } from '../../../application/webhooks/webhooks.js';
import type { Instant, Uuid } from '../../../domain/ids.js';
import { publicEventTypes } from '../../../domain/public-events.js';
import type { Endpoint } from '../../../domain/webhook-endpoints.js';
import { Checks, Form } from '../web/form.js';
import { ActionLink, Badge, ButtonLink, count, Panel, Time } from '../web/parts.js';
import type { Url } from '../web/paths.js';
import { block, fileOf, type Html } from '../web/prose.js';
import { ResponseBody } from './delivery-parts.js';
import type { Sent } from './page.js';

interface StateProps {
  readonly endpoint: Endpoint;
  /** Since when the endpoints that are off have been. */
  readonly since: ReadonlyMap<Uuid, Instant>;
}

/** Whether an endpoint is on; and if not, since when, and why. */
export const EndpointState = ({ endpoint: { id, disabledReason }, since }: StateProps) => {
  if (disabledReason === null) return <Badge tone="good">On</Badge>;
  const at = since.get(id);
  return (
    <>
      <Badge tone="bad">Off</Badge>{' '}
      <span class="quiet small">
        {at === undefined ? null : (
          <>
            since <Time at={at} />:{' '}
          </>
        )}
        {disabledReason}
      </span>
    </>
  );
};

/** The health of an endpoint in a line: what it gets, and how it went so far. */
export const Health = ({
  listed: { endpoint, failureCount, consecutiveFailures, lastSuccessAt },
}: {
  readonly listed: ListedEndpoint;
}) => (
  <>
    {endpoint.events.length === 0 ? 'All events' : endpoint.events.join(', ')} ·{' '}
    {failureCount === 1 ? '1 failure' : `${count(failureCount)} failures`} ({consecutiveFailures} in a row)
    {lastSuccessAt === null ? ' · no success yet' : null}
    <Time before=" · last success " at={lastSuccessAt} />
  </>
);

interface FormsProps {
  readonly endpoint: Endpoint;
  /** The page of the endpoint; left out on that page. */
  readonly to?: Url;
}

/** Frequent actions: test the endpoint, and enable it again. */
export const FormsNow = ({ endpoint, to }: FormsProps) => (
  <div class="actions end">
    {endpoint.disabledReason === null ? null : <Form action="enable" to={to} button="Switch on" />}
    <Form action="test" to={to} kind="second" button="Send a test" />
  </div>
);

/** Which events an endpoint gets; `subscribed` as it is now. */
export const EventChoices = ({ subscribed }: { readonly subscribed: readonly string[] }) => (
  <Checks
    name="events"
    legend="Events"
    hint="None chosen: all of them, including those that are added later."
    options={publicEventTypes.map((name) => ({ name, label: <code>{name}</code> }))}
    ticked={subscribed}
  />
);

export const chosenEvents = (sent: Sent): readonly string[] =>
  publicEventTypes.filter((type) => sent(type) !== '');

interface SecretProps {
  readonly title: string;
  readonly secret: string;
  readonly back: Url;
  /** The text that says what the secret signs. */
  readonly children: Html;
}

/** A signing secret, shown this once. */
export const SecretShown = ({ title, secret, back, children }: SecretProps) => (
  <div class="narrow">
    <h1>{title}</h1>
    <p>{children}</p>
    <p class="note">
      <strong>This is shown once.</strong> Store it where your receiver reads it, as{' '}
      <code>WEBHOOK_SECRET</code>.
    </p>
    {block(secret)}
    <ActionLink to={back} words="I have stored it" />
  </div>
);

/** Examples of the repository, which tests run. */
const examples = { Node: 'verify-webhook.mjs', Python: 'receiver.py' };

/** How a receiver checks that a delivery is genuine. */
export const VerifyExamples = () => (
  <Panel id="verify" title="Check the signature">
    <p>
      Anyone can send to your address. Each delivery carries <code>service-signature</code>: accept it only if
      the signature fits the raw bytes of the body, and was made within five minutes.
    </p>
    {Object.entries(examples).map(([language, file]) => (
      <details>
        <summary>{language}</summary>
        {block(fileOf(`examples/${file}`))}
      </details>
    ))}
  </Panel>
);

interface ResultProps {
  readonly result: AttemptResult;
  readonly endpoint: Endpoint;
  readonly back: Url;
}

export const TestResult = ({ result, endpoint, back }: ResultProps) => {
  const { httpStatus, error, duration, body } = result;
  const isAccepted = httpStatus !== null && httpStatus >= 200 && httpStatus < 300;
  return (
    <div class="panel">
      <div class="head">
        <h1>Test event</h1>
        <Badge tone={isAccepted ? 'good' : 'bad'}>{isAccepted ? 'Accepted' : 'Not accepted'}</Badge>
      </div>
      <p>
        <code>{endpoint.url}</code>
      </p>
      <p>
        <strong>{error ?? httpStatus}</strong> in {count(Math.round(duration))} ms
      </p>
      <ResponseBody body={body} />
      <p class="quiet">
        A test event has made-up data. It is neither counted nor listed, and it is sent to an endpoint that is
        off, too.
      </p>
      <div class="actions">
        <ButtonLink to={back} words="Back" />
        <Form action="test" to={back} kind="second" button="Send another" />
      </div>
    </div>
  );
};
