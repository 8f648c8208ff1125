import { createKey, revokeKey } from '../../../../application/organizations/administer.js';
import { listKeys, type ListedKey } from '../../../../application/access/read-keys.js';
import { DomainError, insteadOf } from '../../../../domain/errors.js';
import { may } from '../../../../domain/permissions.js';
import { Form } from '../../web/form.js';
import { Badge, Empty, Older, Panel, Table, type Column } from '../../web/parts.js';
import { Time } from '../../web/time.js';
import { actorNames } from '../actor-name.js';
import { idFrom } from '../admit.js';
import { Tabs } from '../tabs.js';
import { keyMade, NewKey, readNewKey } from '../new-key.js';
import { confirmed, page, pageAfter } from '../page.js';
import { shownPart, wantedPart } from '../paging.js';

/** A key as it is shown. */
interface ShownKey extends ListedKey {
  readonly madeBy: string | null;
  readonly mayRevoke: boolean;
}

const columns: readonly Column<ShownKey>[] = [
  {
    name: 'Key',
    kind: 'head',
    cell: ({ label, scopes }) => (
      <>
        <strong>{label ?? 'No label'}</strong>
        <span class="under">{scopes.join(' · ')}</span>
      </>
    ),
  },
  {
    name: 'Created',
    cell: ({ createdAt, madeBy }) => (
      <>
        <Time at={createdAt} />
        {madeBy === null ? null : <span class="under">by {madeBy}</span>}
      </>
    ),
  },
  {
    name: 'Last used',
    cell: ({ lastUsedAt }) => (lastUsedAt === null ? 'never' : <Time at={lastUsedAt} />),
  },
  {
    name: 'Limit',
    cell: ({ requestsPerMinute }) =>
      requestsPerMinute === null ? 'default' : `${requestsPerMinute.toLocaleString('en-US')} a minute`,
  },
  {
    name: 'State',
    cell: ({ id, label, revokedAt, mayRevoke }) =>
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
  },
];

export const keysPage = page({
  path: 'keys',
  may: 'integrations.read',
  mayAct: 'keys.manage',
  query: ['before', 'done'],
  load: async ({ deps, org, role, visitor, query }) => {
    const mayManage = may(role, 'keys.manage');
    const found = shownPart(await listKeys(deps, org, wantedPart(query)).catch(insteadOf(DomainError, [])));
    const nameOf = actorNames(deps, visitor, org);
    const keys = found.shown.map(async (key): Promise<ShownKey> => ({
      ...key,
      madeBy: await nameOf(key.by),
      mayRevoke: mayManage && key.revokedAt === null,
    }));
    return { keys: await Promise.all(keys), last: found.last, mayManage };
  },
  title: () => 'Keys',
  view: ({ keys, last, mayManage }, { deps, org, role, url }, refused) => (
    <>
      <Tabs org={org} role={role} of="Integrations" here="Keys" />
      {keys.length === 0 ? (
        <Empty
          title="No keys yet"
          sample={`curl ${deps.baseUrl()}/api/v1/account \\\n  -H 'Authorization: Bearer YOUR_KEY'`}
        >
          A key lets a program send cards and look after them. Make one below, and call the API with it:
        </Empty>
      ) : (
        <Table label="Keys" columns={columns} rows={keys} />
      )}
      <Older to={last && url('keys', { org }, { before: last.id })} />
      {mayManage ? (
        <Panel id="new-key" title="New key">
          <NewKey refused={refused} />
        </Panel>
      ) : null}
    </>
  ),
  actions: {
    make: {
      again: (context) => pageAfter(context, 'keyMade'),
      run: async ({ deps, by, org, url, visitor }, sent) => {
        const max = visitor.kind === 'operator' ? Infinity : deps.requestsPerMinute;
        const { secret } = await createKey(deps, by, org, readNewKey(sent, max));
        const back = url('keys', { org });
        return { kind: 'show', title: 'New key', body: keyMade({ secret, base: deps.baseUrl(), back }) };
      },
    },
    revoke: confirmed('keyRevoked', async ({ deps, by, org }, sent) =>
      revokeKey(deps, by, org, idFrom(sent('key'))),
    ),
  },
});
