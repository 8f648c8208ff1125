import { newCommand } from '../../../../application/writing/commands.js';
import { readHook, removeHook, updateHook } from '../../../../application/hooks/hooks.js';
import { newHook } from '../../operator/hooks.js';
import { atField } from '../../schema/read.js';
import { hookIdIn, loadHook, previewOf } from '../hook-data.js';
import { draftFrom, draftOf, settingsFrom } from '../hook-draft.js';
import { HookView } from '../hook-view.js';
import { confirmed, go, type OrgContext, page } from '../page.js';
import { paths } from '../../web/paths.js';

const setPaused = (paused: boolean) => (context: OrgContext) => {
  const { deps, by, org } = context;
  return updateHook(deps, org, hookIdIn(context), { paused }, newCommand(deps, by, org));
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
    />
  ),
  actions: {
    preview: {
      may: 'integrations.read',
      once: false,
      run: async (context, sent) => {
        const draft = draftFrom(sent);
        const data = { ...(await loadHook(context)), draft, preview: await previewOf(context, draft) };
        const body = <HookView data={data} context={context} />;
        return { kind: 'show', title: data.hook.label ?? 'Hook', body };
      },
    },
    save: confirmed('hooks.manage', 'hookSaved', async (context, sent) => {
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
    }),
    pause: confirmed('hooks.manage', 'hookPaused', setPaused(true)),
    resume: confirmed('hooks.manage', 'hookResumed', setPaused(false)),
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
