import { type ListedKey, listKeys } from '../../../../application/access/read-keys.js';
import { createKey, revokeKey } from '../../../../application/organizations/administer.js';
import { type Scope, scopes } from '../../../../domain/api-key.js';
import { DomainError, insteadOf } from '../../../../domain/errors.js';
import { newKey } from '../../operator/keys.js';
import { parseValues } from '../../schema/read.js';
import { Checks, Field, Form, FormPanel } from '../../web/form.js';
import {
  ActionLink,
  Badge,
  type Columns,
  count,
  Empty,
  Older,
  Secret,
  Table,
  Time,
} from '../../web/parts.js';
import type { Url } from '../../web/paths.js';
import { block, type Html } from '../../web/prose.js';
import { actorNames } from '../actor-name.js';
import { idFrom } from '../admit.js';
import { confirmed, page, type Sent, shownOnce } from '../page.js';
import { partOf } from '../paging.js';

/** The permissions of a key with a scope, in everyday words. */
const scopeWords: Readonly<Record<Scope, string>> = {
  'cards:send': 'Send cards, each for a credit, and cancel them',
  'cards:read': 'See cards, what happened to them, and how credits were used',
  'contacts:write': 'Save contacts; none can be deleted with a key',
  'contacts:read': 'See contacts',
  'webhooks:manage': 'Make, change and delete webhook endpoints, and see their deliveries',
};

/** Reads the form. `max`: the limit that a key may have. Throws `invalid_parameter`. */
const readNewKey = (sent: Sent, max: number) => {
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
      `A key may send ${count(max)} requests a minute at most. Ask the service for more.`,
      'requests_per_minute',
    );
  return { label, scopes: wanted, requestsPerMinute };
};

const scopeChoices = scopes.map((name) => ({
  name,
  label: (
    <>
      {scopeWords[name]} <code>{name}</code>
    </>
  ),
}));

const NewKey = () => (
  <FormPanel id="new-key" title="New key" action="make" button="Create key">
    <Field name="label" label="Label" hint="Where it is used, such as the name of your shop." optional />
    <Checks name="scopes" legend="It may" options={scopeChoices} ticked={['cards:send', 'cards:read']} />
    <Field
      name="requests_per_minute"
      label="Requests a minute"
      type="number"
      hint="Leave it empty for the default limit."
      optional
    />
  </FormPanel>
);

const accountLine = (base: string, key: string): string =>
  `curl ${base}/api/v1/account \\\n  -H 'Authorization: Bearer ${key}'`;

/** The response to the form: the only time that the key is shown. */
const keyMade = (secret: string, base: string, back: Url): Html => (
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
      {block(accountLine(base, secret))}
      <ActionLink to={back} words="I have stored it" />
    </section>
  </>
);

/** A key as it is shown. */
interface ShownKey extends ListedKey {
  readonly madeBy: string;
  readonly mayRevoke: boolean;
}

const columns: Columns<ShownKey> = {
  Key: ({ label, scopes }) => (
    <>
      <strong>{label ?? 'No label'}</strong>
      <span class="under">{scopes.join(' · ')}</span>
    </>
  ),
  Created: ({ createdAt, madeBy }) => (
    <>
      <Time at={createdAt} />
      <span class="under">by {madeBy}</span>
    </>
  ),
  'Last used': ({ lastUsedAt }) => (lastUsedAt === null ? 'never' : <Time at={lastUsedAt} />),
  Limit: ({ requestsPerMinute }) =>
    requestsPerMinute === null ? 'default' : `${count(requestsPerMinute)} a minute`,
  State: ({ id, label, revokedAt, mayRevoke }) =>
    revokedAt !== null ? (
      <>
        <Badge tone="idle">Revoked</Badge> <Time at={revokedAt} />
      </>
    ) : mayRevoke ? (
      <details>
        <summary>Revoke</summary>
        <p>
          Calls with {label === null ? 'this key' : `“${label}”`} are refused from then on. This can’t be
          undone.
        </p>
        <Form action="revoke" fields={{ key: id }} kind="bad" button="Revoke forever" />
      </details>
    ) : (
      <Badge tone="good">Works</Badge>
    ),
};

export const keysPage = page({
  path: 'keys',
  may: 'integrations.read',
  mayAct: 'keys.manage',
  query: ['before', 'done'],
  load: async ({ deps, org, mayAct, visitor, query }) => {
    const found = await partOf(query, (part) => listKeys(deps, org, part).catch(insteadOf(DomainError, [])));
    const nameOf = actorNames(deps, visitor, org);
    const keys = found.shown.map(async (key): Promise<ShownKey> => ({
      ...key,
      madeBy: await nameOf(key.by),
      mayRevoke: mayAct && key.revokedAt === null,
    }));
    return { keys: await Promise.all(keys), last: found.last };
  },
  title: () => 'Keys',
  view: ({ keys, last }, { deps, url }) => (
    <>
      <Table label="Keys" columns={columns} rows={keys}>
        <Empty title="No keys yet" sample={accountLine(deps.baseUrl(), 'YOUR_KEY')}>
          A key lets a program send cards and look after them. Make one below, and call the API with it:
        </Empty>
      </Table>
      <Older to={last && url('keys', {}, { before: last.id })} />
      <NewKey />
    </>
  ),
  actions: {
    make: shownOnce('keyMade', async ({ deps, by, org, url, visitor }, sent) => {
      const max = visitor.kind === 'operator' ? Infinity : deps.requestsPerMinute;
      const { secret } = await createKey(deps, by, org, readNewKey(sent, max));
      return { kind: 'show', title: 'New key', body: keyMade(secret, deps.baseUrl(), url('keys')) };
    }),
    revoke: confirmed('keyRevoked', async ({ deps, by, org }, sent) =>
      revokeKey(deps, by, org, idFrom(sent('key'))),
    ),
  },
});
