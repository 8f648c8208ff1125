import { listHooks, makeHook } from '../../../../application/hooks/hooks.js';
import { exampleMessage, exampleRecipient } from '../../api/card-fields.js';
import { newHook } from '../../operator/hooks.js';
import { parseValues } from '../../schema/read.js';
import { Field, FormPanel } from '../../web/form.js';
import { ActionLink, count, Empty, Older, Secret, Table, Time } from '../../web/parts.js';
import type { Url } from '../../web/paths.js';
import { block, type Html } from '../../web/prose.js';
import { HookState } from '../hook-parts.js';
import { page, shownOnce } from '../page.js';
import { partOf } from '../paging.js';

/** The line that sends a card through a hook. */
const curlOf = (address: string): string =>
  `curl ${address} \\\n  -H 'Content-Type: application/json' \\\n  -d '${JSON.stringify({ ...exampleRecipient, message: exampleMessage })}'`;

/** The response to the form: the only time that the URL of the hook is shown. */
const hookMade = (address: string, next: Url): Html => (
  <>
    <h1>Your new hook</h1>
    <section class="panel">
      <p>
        <strong>Its URL is shown only now.</strong> Copy it into the tool that will call it: it can’t be shown
        again, and anyone who has it can send cards.
      </p>
      <Secret text={address} />
      <h2>Try it</h2>
      <p>This sends a card, and spends 1 credit.</p>
      {block(curlOf(address))}
      <ActionLink to={next} words="I have stored it: write its message" />
    </section>
  </>
);

export const hooksPage = page({
  path: 'hooks',
  may: 'integrations.read',
  mayAct: 'hooks.manage',
  query: ['before', 'done'],
  load: ({ deps, org, query }) => partOf(query, (part) => listHooks(deps, org, part)),
  title: () => 'Inbound hooks',
  view: ({ shown, last }, { deps, url }) => (
    <>
      <Table
        label="Inbound hooks"
        columns={{
          Hook: ({ id, label }) => <a href={url('hook', { id })}>{label ?? 'No label'}</a>,
          State: HookState,
          Message: ({ template }) => (template === null ? 'in each payload' : 'from its template'),
          'Signed by': ({ signedBy }) => signedBy ?? '–',
          Fired: ({ fireCount }) => `${count(fireCount)} ×`,
          'Last fired': ({ lastFiredAt }) => (lastFiredAt === null ? 'never' : <Time at={lastFiredAt} />),
        }}
        rows={shown}
      >
        <Empty title="No hooks yet" sample={curlOf(`${deps.baseUrl()}/api/v1/hooks/TOKEN`)}>
          A hook is a URL for a form tool or a shop that can’t hold a key: each POST to it sends one card.
          Make one below, and call it:
        </Empty>
      </Table>
      <Older to={last && url('hooks', {}, { before: last.id })} />
      <FormPanel id="new-hook" title="New hook" action="make" button="Make the hook">
        <Field
          name="label"
          label="Label"
          hint="Which tool calls it. Its message, its signature and its design come next."
        />
      </FormPanel>
    </>
  ),
  actions: {
    make: shownOnce('hookMade', async ({ deps, command, org, url }, sent) => {
      const { label } = parseValues(newHook, { label: sent('label') });
      const settings = { label, design: null, template: null, signedBy: null };
      const { id, token } = await makeHook(deps, org, settings, command());
      const address = `${deps.baseUrl()}/api/v1/hooks/${token}`;
      return { kind: 'show', title: 'New hook', body: hookMade(address, url('hook', { id })) };
    }),
  },
});
