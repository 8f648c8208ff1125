import { scopes, type Scope } from '../../../domain/api-key.js';
import { DomainError } from '../../../domain/errors.js';
import { newKey } from '../operator/keys.js';
import { parseValues } from '../schema/read.js';
import { Field, Form, Group, type ShownRefusal } from '../web/form.js';
import { block, type Html } from '../web/prose.js';
import { ActionLink, Secret } from '../web/parts.js';
import type { Url } from '../web/url.js';
import type { Sent } from './page.js';

/** The permissions of a key with a scope, in everyday words. */
const scopeWords: Readonly<Record<Scope, string>> = {
  'cards:send': 'Send cards, each for a credit, and cancel them',
  'cards:read': 'See cards, what happened to them, and how credits were used',
  'contacts:write': 'Save contacts; none can be deleted with a key',
  'contacts:read': 'See contacts',
  'webhooks:manage': 'Make, change and delete webhook endpoints, and see their deliveries',
};

const usual: ReadonlySet<Scope> = new Set<Scope>(['cards:send', 'cards:read']);

/** Reads the form. `max`: the limit that a key may have. Throws `invalid_parameter`. */
export const readNewKey = (sent: Sent, max: number) => {
  const wanted = scopes.filter((scope) => sent(scope) !== '');
  if (wanted.length === 0)
    throw new DomainError('invalid_parameter', 'Choose at least one thing that the key may do.', 'scopes');
  const limit = sent('requests_per_minute');
  const body = {
    label: sent('label'),
    scopes: wanted,
    requests_per_minute: limit === '' ? null : Number(limit),
  };
  const { label, requests_per_minute: requestsPerMinute } = parseValues(newKey, body);
  if ((requestsPerMinute ?? 0) > max)
    throw new DomainError(
      'invalid_parameter',
      `A key may send ${max.toLocaleString('en-US')} requests a minute at most. Ask the service for more.`,
      'requests_per_minute',
    );
  return { label, scopes: wanted, requestsPerMinute };
};

export const NewKey = ({ refused }: { readonly refused: ShownRefusal | null }) => {
  const isChosen = (scope: Scope): boolean =>
    refused === null ? usual.has(scope) : refused.sent(scope) !== '';
  return (
    <Form action="make" button="Create key">
      <Field
        name="label"
        label="Label"
        hint="Where it is used, such as the name of your shop."
        required={false}
      />
      <Group name="scopes" legend="It may">
        {scopes.map((scope) => (
          <label class="check">
            <input type="checkbox" name={scope} value="yes" checked={isChosen(scope)} />
            <span>
              {scopeWords[scope]} <code>{scope}</code>
            </span>
          </label>
        ))}
      </Group>
      <Field
        name="requests_per_minute"
        label="Requests a minute"
        type="number"
        hint="Leave it empty for the default limit."
        required={false}
      />
    </Form>
  );
};

interface MadeProps {
  readonly secret: string;
  /** Where clients call the API. */
  readonly base: string;
  readonly back: Url;
}

/** The response to the form: the only time that the key is shown. */
export const keyMade = ({ secret, base, back }: MadeProps): Html => (
  <>
    <h1>Your new key</h1>
    <section class="panel">
      <p>
        <strong>It is shown only now.</strong> Copy it to where you keep passwords: it can’t be shown again,
        and anyone who has it can use it.
      </p>
      <Secret text={secret} />
      <h2>Try it</h2>
      <p>This asks which organization the key belongs to. It sends nothing, and costs nothing.</p>
      {block(`curl ${base}/api/v1/account \\\n  -H 'Authorization: Bearer ${secret}'`)}
      <ActionLink to={back} words="I have stored it" />
    </section>
  </>
);
