import type { AttemptResult } from '../../../application/ports/webhook-sender.js';
import type { Endpoint } from '../../../domain/webhook-endpoints.js';
import { FormButton } from '../web/form.js';
import { Badge, PageHeading } from '../web/parts.js';
import { block } from '../web/prose.js';
import type { Url } from '../web/url.js';

interface Props {
  readonly result: AttemptResult;
  readonly endpoint: Endpoint;
  readonly back: Url;
}

export const TestResult = ({ result, endpoint, back }: Props) => {
  const { httpStatus, error, duration, body } = result;
  const isAccepted = httpStatus !== null && httpStatus >= 200 && httpStatus < 300;
  return (
    <div class="panel">
      <PageHeading title="Test event">
        <Badge tone={isAccepted ? 'good' : 'bad'}>{isAccepted ? 'Accepted' : 'Not accepted'}</Badge>
      </PageHeading>
      <p>
        <code>{endpoint.url}</code>
      </p>
      <p>
        <strong>{error ?? httpStatus}</strong> in {Math.round(duration).toLocaleString('en-US')} ms
      </p>
      {body === null || body === '' ? null : (
        <details>
          <summary>The beginning of the response</summary>
          {block(body)}
        </details>
      )}
      <p class="quiet">
        A test event has made-up data. It is neither counted nor listed, and it is sent to an endpoint that is
        off, too.
      </p>
      <div class="actions">
        <a class="button" href={back}>
          Back
        </a>
        <FormButton action="test" to={back} kind="second" words="Send another" />
      </div>
    </div>
  );
};
