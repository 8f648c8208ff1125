import { readHook, updateHook, changeHook } from '../../../../application/hooks/hooks.js';
import type { HookCall } from '../../../../application/ports/hook-calls.js';
import { deleteHook } from '../../../../domain/hook.js';
import { newHook } from '../../operator/hooks.js';
import { Form } from '../../web/form.js';
import { Badge, type Columns, count, Danger, Empty, Older, Panel, Table, Time } from '../../web/parts.js';
import { CardLink, ErrorCodeLink } from '../card-words.js';
import { refusedAt } from '../admit.js';
import {
  draftFrom,
  draftOf,
  type HookData,
  hookIdIn,
  loadHook,
  previewOf,
  settingsFrom,
} from '../hook-data.js';
import { editorActions, HookEditor, HookState, PreviewOfHook } from '../hook-parts.js';
import { confirmed, go, type OrgContext, page } from '../page.js';

const columns: Columns<HookCall> = {
  At: ({ at }) => <Time at={at} />,
  Answer: ({ status, code }) => (
    <>
      <Badge tone={status === 201 ? 'good' : 'bad'}>{status === 0 ? 'none' : status}</Badge>{' '}
      {code === null ? null : <ErrorCodeLink code={code} />}
      {status === 0 ? 'It was not known what had become of the card.' : null}
    </>
  ),
  Card: ({ card }) => (card === null ? null : <CardLink code={card} />),
  Request: ({ requestId }) => <code>{requestId}</code>,
};

const titleOf = ({ hook }: Pick<HookData, 'hook'>): string => hook.label ?? 'Hook';

const headingOf = ({ hook, mayManage }: Pick<HookData, 'hook' | 'mayManage'>, { url }: OrgContext) => ({
  words: hook.label ?? 'A hook without a label',
  above: ['Inbound hooks', url('hooks')] as const,
  beside: (
    <>
      {hook.status === 'deleted' ? <Badge tone="idle">Deleted</Badge> : <HookState paused={hook.paused} />}
      {mayManage ? (
        <Form
          action={hook.paused ? 'resume' : 'pause'}
          kind="second"
          button={hook.paused ? 'Resume' : 'Pause'}
        />
      ) : null}
    </>
  ),
});

/** The page of a hook: its message with a preview, its calls, and the way to delete it. */
const viewOf = ({ hook, designs, calls, mayManage, draft, preview }: HookData, { url }: OrgContext) => (
  <>
    <p class="quiet">
      Fired {count(hook.fireCount)} ×
      <Time before=", last " at={hook.lastFiredAt} />. Its URL was shown when it was made, and can’t be shown
      again.
    </p>
    {hook.status === 'deleted' ? null : (
      <div class="grid">
        <Panel id="message" title="Message">
          <HookEditor draft={draft} designs={designs} maySave={mayManage} />
        </Panel>
        <Panel id="preview" title="Preview">
          {preview === null ? (
            <p class="quiet">It comes back once the form is right.</p>
          ) : (
            <PreviewOfHook preview={preview} hasTemplate={draft.template !== ''} />
          )}
        </Panel>
      </div>
    )}
    <section aria-labelledby="calls">
      <h2 id="calls">Calls</h2>
      <Table label="Calls" columns={columns} rows={calls.shown}>
        <Empty title="No calls">Each call is listed here, with its response and its card.</Empty>
      </Table>
      <Older to={calls.last && url('hook', { id: hook.id }, { before: calls.last.id })} />
    </section>
    {mayManage ? (
      <Danger label="Delete this hook forever">
        <p>
          Calls of its URL are refused from then on, and nothing brings it back: to stop it for a while, pause
          it. The cards that it sent stay, and so does the list of its calls.
        </p>
        <Form action="delete" button="Delete forever" />
      </Danger>
    ) : null}
  </>
);

const setPaused = (paused: boolean) => (context: OrgContext) => {
  const { deps, command, org } = context;
  return updateHook(deps, org, hookIdIn(context), { paused }, command());
};

export const hookPage = page({
  path: 'hook',
  may: 'integrations.read',
  mayAct: 'hooks.manage',
  query: ['before', 'done'],
  load: async (context) => {
    const data = await loadHook(context);
    const draft = draftOf(data.hook);
    return { ...data, draft, preview: await previewOf(context, draft) };
  },
  title: titleOf,
  heading: headingOf,
  view: (data, context) => {
    const { refused } = context;
    if (refused === null || !editorActions.includes(refused.action)) return viewOf(data, context);
    return viewOf({ ...data, draft: draftFrom(refused.sent), preview: null }, context);
  },
  actions: {
    preview: {
      may: 'integrations.read',
      once: false,
      run: async (context, sent) => {
        const draft = draftFrom(sent);
        const data = { ...(await loadHook(context)), draft, preview: await previewOf(context, draft) };
        const heading = headingOf(data, context);
        return { kind: 'show', title: titleOf(data), heading, body: viewOf(data, context) };
      },
    },
    save: confirmed('hookSaved', async (context, sent) => {
      const { deps, command, org } = context;
      const id = hookIdIn(context);
      const { design, ...rest } = settingsFrom(draftFrom(sent));
      // A design that was archived since is no reason to refuse other changes.
      const isOther = design !== (await readHook(deps, org, id)).design;
      const change = { ...rest, ...(isOther && { design }) };
      await updateHook(deps, org, id, change, command()).catch(refusedAt(newHook));
    }),
    pause: confirmed('hookPaused', setPaused(true)),
    resume: confirmed('hookResumed', setPaused(false)),
    delete: async (context) => {
      const { deps, command, org, url } = context;
      await changeHook(deps, hookIdIn(context), command(), deleteHook(org));
      return go(url('hooks', {}, { done: 'hookDeleted' }));
    },
  },
});
