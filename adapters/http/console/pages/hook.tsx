import { newCommand } from '../../../../application/writing/commands.js';
import { readHook, removeHook, updateHook } from '../../../../application/hooks/hooks.js';
import { newHook } from '../../operator/hooks.js';
import { atField } from '../../schema/read.js';
import { hookIdIn, loadHook, previewOf } from '../hook-data.js';
import { draftFrom, draftOf, settingsFrom } from '../hook-draft.js';
import { HookView } from '../hook-view.js';
import type { NoticeName } from '../notice.js';
import { go, page, type OrgContext, type Outcome } from '../page.js';
import { paths } from '../../web/paths.js';

/** Leads back to the page of the hook. */
const back = (context: OrgContext, done: NoticeName): Outcome =>
  go(context.url(paths.hook, { org: context.org, id: hookIdIn(context) }, { done }));

const setPaused = async (context: OrgContext, paused: boolean): Promise<Outcome> => {
  const { deps, by, org } = context;
  await updateHook(deps, org, hookIdIn(context), { paused }, newCommand(deps, by, org));
  return back(context, paused ? 'hookPaused' : 'hookResumed');
};

export const hookPage = page({
  path: paths.hook,
  may: 'integrations.read',
  query: ['before', 'done'],
  load: async (context) => {
    const data = await loadHook(context);
    const draft = draftOf(data.hook);
    return { ...data, draft, preview: await previewOf(context, draft) };
  },
  title: ({ hook }) => hook.label ?? 'Hook',
  view: (data, context, refused) => (
    <HookView
      data={refused === null ? data : { ...data, draft: draftFrom(refused.sent), preview: null }}
      context={context}
      refused={refused}
    />
  ),
  actions: {
    preview: {
      may: 'integrations.read',
      once: false,
      run: async (context, sent) => {
        const draft = draftFrom(sent);
        const data = { ...(await loadHook(context)), draft, preview: await previewOf(context, draft) };
        const body = <HookView data={data} context={context} refused={null} />;
        return { kind: 'show', title: data.hook.label ?? 'Hook', body };
      },
    },
    save: {
      may: 'hooks.manage',
      run: async (context, sent) => {
        const { deps, by, org } = context;
        const id = hookIdIn(context);
        const { design, ...rest } = settingsFrom(draftFrom(sent));
        // A design that was archived since is no reason to refuse other changes.
        const isOther = design !== (await readHook(deps, org, id)).design;
        try {
          await updateHook(deps, org, id, { ...rest, ...(isOther && { design }) }, newCommand(deps, by, org));
        } catch (error) {
          throw atField(newHook, error);
        }
        return back(context, 'hookSaved');
      },
    },
    pause: { may: 'hooks.manage', run: (context) => setPaused(context, true) },
    resume: { may: 'hooks.manage', run: (context) => setPaused(context, false) },
    delete: {
      may: 'hooks.manage',
      run: async (context) => {
        const { deps, by, org, url } = context;
        await removeHook(deps, org, hookIdIn(context), newCommand(deps, by, org));
        return go(url(paths.hooks, { org }, { done: 'hookDeleted' }));
      },
    },
  },
});
