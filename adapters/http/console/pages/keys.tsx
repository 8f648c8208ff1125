import { listKeys } from '../../../../application/read-keys.js';
import { Time } from '../../web/time.js';
import { IntegrationsHead } from '../integrations.js';
import { page } from '../page.js';
import { paths } from '../paths.js';

const perPage = 50;

export const keysPage = page({
  path: paths.keys,
  may: 'integrations.read',
  query: ['before'],
  load: async ({ deps, org, query }) => {
    const before = query('before');
    const keys = (await listKeys(deps, org, perPage + 1, before === '' ? null : before)) ?? [];
    return { keys: keys.slice(0, perPage), hasOlder: keys.length > perPage };
  },
  title: () => 'Keys',
  view: ({ keys, hasOlder }, context) => {
    const { org, url, timeZone } = context;
    const last = hasOlder ? keys.at(-1) : undefined;
    return (
      <>
        <IntegrationsHead context={context} here="Keys" />
        {keys.length === 0 ? (
          <p class="empty">No key was made yet.</p>
        ) : (
          <ul class="rows">
            {keys.map(({ label, scopes, createdAt, revokedAt }) => (
              <li>
                <strong>{label ?? 'No label'}</strong>
                <span>{scopes.join(' ')}</span>
                <span class="quiet">
                  made <Time at={createdAt} zone={timeZone} />
                  {revokedAt === null ? null : (
                    <>
                      , revoked <Time at={revokedAt} zone={timeZone} />
                    </>
                  )}
                </span>
              </li>
            ))}
          </ul>
        )}
        {last === undefined ? null : (
          <p>
            <a href={url(paths.keys, { org }, { before: last.id })}>Older</a>
          </p>
        )}
      </>
    );
  },
});
