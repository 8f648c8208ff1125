import { newCommand } from '../../../../application/writing/commands.js';
import { listHooks, makeHook, type ListedHook } from '../../../../application/hooks/hooks.js';
import { may } from '../../../../domain/permissions.js';
import { newHook } from '../../operator/hooks.js';
import { parseValues } from '../../schema/read.js';
import { Field, Form, Refusal } from '../../web/form.js';
import { Badge, Empty, Older, Table } from '../../web/parts.js';
import { Time } from '../../web/time.js';
import { newForm } from '../answer.js';
import { curlOf, hookMade } from '../hook-made.js';
import { Tabs } from '../tabs.js';
import { Notice } from '../notice.js';
import { page, type OrgContext } from '../page.js';
import { paths } from '../../web/paths.js';

const perPage = 50;

const columnsFor = ({ url, org, timeZone }: OrgContext) => [
  {
    name: 'Hook',
    kind: 'head' as const,
    cell: ({ id, label }: ListedHook) => <a href={url(paths.hook, { org, id })}>{label ?? 'No label'}</a>,
  },
  {
    name: 'State',
    cell: ({ paused }: ListedHook) =>
      paused ? <Badge tone="warn">Paused</Badge> : <Badge tone="good">On</Badge>,
  },
  {
    name: 'Message',
    cell: ({ template }: ListedHook) => (template === null ? 'in each payload' : 'from its template'),
  },
  { name: 'Signed by', cell: ({ signedBy }: ListedHook) => signedBy ?? '–' },
  { name: 'Fired', cell: ({ fireCount }: ListedHook) => `${fireCount.toLocaleString('en-US')} ×` },
  {
    name: 'Last fired',
    cell: ({ lastFiredAt }: ListedHook) =>
      lastFiredAt === null ? 'never' : <Time at={lastFiredAt} zone={timeZone} />,
  },
];

export const hooksPage = page({
  path: paths.hooks,
  may: 'integrations.read',
  query: ['before', 'done'],
  load: async (context) => {
    const { deps, org, role, query } = context;
    const before = query('before');
    const startingAfter = before === '' ? null : before;
    const found = await listHooks(deps, org, { startingAfter, limit: perPage + 1 });
    return {
      hooks: found.slice(0, perPage),
      hasOlder: found.length > perPage,
      form: may(role, 'hooks.manage') ? newForm(context) : null,
    };
  },
  title: () => 'Inbound hooks',
  view: ({ hooks, hasOlder, form }, context, refused) => {
    const { deps, org, url, query } = context;
    const last = hasOlder ? hooks.at(-1) : undefined;
    return (
      <>
        <Tabs context={context} of="Integrations" here="Inbound hooks" />
        <Notice word={query('done')} />
        <Refusal refused={refused} />
        {hooks.length === 0 ? (
          <Empty title="No hooks yet" sample={curlOf(`${deps.baseUrl()}/api/v1/hooks/TOKEN`)}>
            A hook is a URL for a form tool or a shop that can’t hold a key: each POST to it sends one card.
            Make one below, and call it:
          </Empty>
        ) : (
          <Table label="Inbound hooks" columns={columnsFor(context)} rows={hooks} />
        )}
        <Older to={last === undefined ? null : url(paths.hooks, { org }, { before: last.id })} />
        {form === null ? null : (
          <section class="panel" aria-labelledby="new-hook">
            <h2 id="new-hook">New hook</h2>
            <Form action="make" id={form}>
              <Field
                name="label"
                label="Label"
                value={refused?.sent('label') ?? ''}
                hint="Which tool calls it. Its message, its signature and its design come next."
              />
              <button type="submit">Make the hook</button>
            </Form>
          </section>
        )}
      </>
    );
  },
  actions: {
    make: {
      may: 'hooks.manage',
      again: ({ url, org }) => url(paths.hooks, { org }, { done: 'hookMade' }),
      run: async ({ deps, by, org, url }, sent) => {
        const { label } = parseValues(newHook, { label: sent('label') });
        const settings = { label, design: null, template: null, signedBy: null };
        const { id, token } = await makeHook(deps, org, settings, newCommand(deps, by, org));
        const address = `${deps.baseUrl()}/api/v1/hooks/${token}`;
        return { kind: 'show', title: 'New hook', body: hookMade(address, url(paths.hook, { org, id })) };
      },
    },
  },
});
