import { listHooks } from '../../../../application/hooks.js';
import { IntegrationsHead } from '../integrations.js';
import { page } from '../page.js';
import { paths } from '../paths.js';

const perPage = 50;

export const hooksPage = page({
  path: paths.hooks,
  may: 'integrations.read',
  query: ['before'],
  load: async ({ deps, org, query }) => {
    const before = query('before');
    const hooks = await listHooks(deps, org, {
      startingAfter: before === '' ? null : before,
      limit: perPage + 1,
    });
    return { hooks: hooks.slice(0, perPage), hasOlder: hooks.length > perPage };
  },
  title: () => 'Inbound hooks',
  view: ({ hooks, hasOlder }, context) => {
    const { org, url } = context;
    const last = hasOlder ? hooks.at(-1) : undefined;
    return (
      <>
        <IntegrationsHead context={context} here="Inbound hooks" />
        {hooks.length === 0 ? (
          <p class="empty">No hook was made yet.</p>
        ) : (
          <ul class="rows">
            {hooks.map(({ label, paused, fireCount }) => (
              <li>
                <strong>{label ?? 'No label'}</strong>
                <span>{paused ? 'paused' : 'on'}</span>
                <span class="quiet">fired {fireCount.toLocaleString('en-US')} ×</span>
              </li>
            ))}
          </ul>
        )}
        {last === undefined ? null : (
          <p>
            <a href={url(paths.hooks, { org }, { before: last.id })}>Older</a>
          </p>
        )}
      </>
    );
  },
});
