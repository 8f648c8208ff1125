import type { ListedEndpoint } from '../../../application/webhooks/webhooks.js';
import type { Instant, Uuid } from '../../../domain/ids.js';
import { publicEventTypes } from '../../../domain/public-events.js';
import type { Endpoint } from '../../../domain/webhook-endpoints.js';
import { Checks } from '../web/choices.js';
import { Badge, ButtonLink } from '../web/parts.js';
import type { Html } from '../web/prose.js';
import type { Url } from '../web/url.js';
import { Time } from '../web/time.js';
import type { Sent } from './page.js';
import { instantAt } from './since.js';

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

export const eventsLine = ({ events }: Endpoint): string =>
  events.length === 0 ? 'All events' : events.join(', ');

/** How it went so far, in a line. */
export const Health = ({
  listed: { failureCount, consecutiveFailures, lastSuccessAt },
}: {
  readonly listed: ListedEndpoint;
}) => (
  <>
    {failureCount === 1 ? '1 failure' : `${failureCount.toLocaleString('en-US')} failures`} (
    {consecutiveFailures} in a row)
    {lastSuccessAt === null ? (
      ' · no success yet'
    ) : (
      <>
        {' '}
        · last success <Time at={instantAt(lastSuccessAt)} />
      </>
    )}
  </>
);

/** Which events an endpoint gets; `subscribed` as it is now. */
export const EventChoices = ({ subscribed }: { readonly subscribed: readonly string[] }) => (
  <Checks
    name="events"
    legend="Events"
    hint="None chosen: all of them, including those that are added later."
    names={publicEventTypes}
    chosen={(type) => subscribed.includes(type)}
  />
);

export const chosenEvents = (sent: Sent): readonly string[] =>
  publicEventTypes.filter((type) => sent(type) === 'on');

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
    <pre tabindex={0}>
      <code>{secret}</code>
    </pre>
    <ButtonLink to={back}>I have stored it</ButtonLink>
  </div>
);
