import { newCommand } from '../../../application/writing/commands.js';
import { listHookCalls, readHook } from '../../../application/hooks/hooks.js';
import { previewHook, type HookPreview } from '../../../application/hooks/fire-hook.js';
import { readDesigns } from '../../../application/organizations/read-accounts.js';
import { DomainError } from '../../../domain/errors.js';
import type { Uuid } from '../../../domain/ids.js';
import { may } from '../../../domain/permissions.js';
import { readHookPayload } from '../api/hook-payload.js';
import { parseObject } from '../server/json-body.js';
import type { JsonObject } from '../schema/read.js';
import { idFrom } from './admit.js';
import { settingsFrom, type Draft } from './hook-draft.js';
import type { OrgContext } from './page.js';
import { shownPart, wantedPart } from './paging.js';

export const hookIdIn = ({ params }: OrgContext): Uuid => idFrom(params['id'] ?? '');

/** Throws `not_found`, also for a hook of others. */
export const loadHook = async (context: OrgContext) => {
  const { deps, org, role } = context;
  const id = hookIdIn(context);
  const hook = await readHook(deps, org, id);
  const calls = await listHookCalls(deps, org, id, wantedPart(context));
  return {
    hook,
    designs: await readDesigns(deps, org),
    calls: shownPart(calls),
    mayManage: may(role, 'hooks.manage') && hook.status !== 'deleted',
  };
};

export interface HookData extends Awaited<ReturnType<typeof loadHook>> {
  readonly draft: Draft;
  /** Null while the editor holds a refused draft. */
  readonly preview: HookPreview | null;
}

const payloadIn = ({ payload }: Draft): JsonObject => {
  try {
    return parseObject(Buffer.from(payload));
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    throw new DomainError(error.code, error.message.replace('The body', 'The sample payload'), 'payload');
  }
};

/** Previews a call with the draft's payload. Throws the refusal of an invalid draft. */
export const previewOf = async (context: OrgContext, draft: Draft): Promise<HookPreview> => {
  const { deps, org, by } = context;
  const settings = { org, ...settingsFrom(draft) };
  const request = readHookPayload(payloadIn(draft));
  return previewHook(deps, hookIdIn(context), settings, request, newCommand(deps, by, org));
};
