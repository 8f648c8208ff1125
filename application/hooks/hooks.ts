import type { Command } from '../../domain/events.js';
import {
  changeHookSettings,
  createHook,
  hook,
  hookIdOf,
  noSuchHook,
  ownHook,
  pauseHook,
  tokenBytes,
  tokenFrom,
  type Hook,
  type HookEvent,
  type HookSettings,
  type MadeHook,
} from '../../domain/hook.js';
import { isUuid, Uuid, type OrganizationId } from '../../domain/ids.js';
import { hooks, listedHooks, type HookDocument } from '../../projections/hooks.js';
import { organizationOf } from '../organizations/administer.js';
import { execute, type WriteDeps } from '../writing/execute.js';
import { invalidCursor, listPage } from '../requests/invalid-cursor.js';
import { type Moment, type Past } from '../history/as-of.js';
import { checkDesign } from '../cards/place-order.js';
import { unusedHook, type HookCall, type HookCalls, type HookUse } from '../ports/hook-calls.js';
import type { Page, ReadModels } from '../ports/read-models.js';
import type { ReadYourWrites } from '../projecting/read-your-writes.js';
import { listAt } from '../organizations/past-lists.js';

export interface HookDeps extends WriteDeps {
  readonly readYourWrites: ReadYourWrites;
  readonly readModels: ReadModels;
  readonly hookCalls: HookCalls;
}

/**
 * Makes a hook. Its token is not stored, so it is shown only here. Throws `not_found` for an unknown
 * organization, `design_not_found`. (decision 49: a hook's design is checked now and at every fire)
 */
export const makeHook = async (
  deps: HookDeps,
  org: OrganizationId,
  settings: HookSettings,
  command: Command,
): Promise<{ readonly id: Uuid; readonly token: string }> => {
  await checkDesign(deps.streams, org, settings.design);
  const token = tokenFrom(deps.entropy.bytes(tokenBytes));
  const id = hookIdOf(token);
  await changeHook(deps, id, command, createHook(org, settings));
  return { id, token };
};

/**
 * Changes settings of a hook and whether it is paused, all or nothing; settings that aren't named stay.
 * Throws `not_found`, `design_not_found`. (decision 49: a hook's design is checked now and at every fire)
 */
export const updateHook = async (
  deps: HookDeps,
  org: OrganizationId,
  id: string,
  { paused, ...change }: Partial<HookSettings> & { readonly paused?: boolean },
  command: Command,
): Promise<ListedHook> => {
  if (change.design !== undefined) await checkDesign(deps.streams, org, change.design);
  const state = await changeHook(deps, id, command, (before) => [
    ...changeHookSettings(org, change)(before),
    ...(paused === undefined ? [] : pauseHook(org, paused)(before)),
  ]);
  return listed(deps, id, state);
};

const listed = async (deps: HookDeps, id: string, state: MadeHook): Promise<ListedHook> => {
  const hookId = Uuid.parse(id);
  return {
    id: hookId,
    ...state,
    paused: state.status === 'paused',
    ...((await deps.hookCalls.use([hookId])).get(hookId) ?? unusedHook),
  };
};

/** A hook, whatever became of it. Throws `not_found`. */
export const readHook = async (
  deps: HookDeps,
  org: OrganizationId,
  id: string,
): Promise<ListedHook & Pick<MadeHook, 'status'>> => {
  const state = await hookOf(deps, org, id);
  return { ...(await listed(deps, id, state)), status: state.status };
};

/** Decides on a hook. Reads show the change when this returns. Throws `not_found`. */
export const changeHook = async (
  deps: HookDeps,
  id: string,
  command: Command,
  decide: (state: Hook) => readonly HookEvent[],
): Promise<MadeHook> => {
  if (!isUuid(id)) throw noSuchHook();
  const { state, position } = await execute(deps, hook, id, command, decide);
  if (position !== null) await deps.readYourWrites.afterWrite(position);
  if (state.status === 'none') throw noSuchHook();
  return state;
};

const ofOrganization = 'hook of this organization';

/** A hook in an operator's list. */
export type ListedHook = Pick<HookDocument, 'id' | 'paused' | keyof HookSettings> & HookUse;

/**
 * An organization's hooks, newest first, after the hook `startingAfter`; not the deleted ones. Throws
 * `not_found`, `invalid_cursor`.
 */
export const listHooks = async (
  { streams, readModels, hookCalls }: HookDeps,
  org: OrganizationId,
  page: Page,
): Promise<readonly ListedHook[]> => {
  await organizationOf({ streams }, org);
  const found = await listPage(readModels, hooks, page, { org, where: listedHooks, what: ofOrganization });
  const use = await hookCalls.use(found.map(({ id }) => id));
  return found.map((each) => ({ ...each, ...(use.get(each.id) ?? unusedHook) }));
};

/**
 * As `listHooks`, at a moment in the past; how often hooks had been fired by then is not known. Throws as
 * `listAt`.
 */
export const listHooksAt = (
  deps: HookDeps,
  org: OrganizationId,
  moment: Moment,
  page: Page,
): Promise<readonly Past<HookDocument>[]> =>
  listAt(deps, hooks, page, { org, moment, what: ofOrganization, isListed: ({ deleted }) => !deleted });

const hookOf = async ({ streams }: HookDeps, org: OrganizationId, id: string): Promise<MadeHook> =>
  ownHook(org, isUuid(id) ? (await streams.load(hook, id)).state : hook.initial);

/**
 * A hook's calls, newest first, after the call `startingAfter`. A deleted hook keeps its log. Throws
 * `not_found`, `invalid_cursor`. (decision 50: the call log)
 */
export const listHookCalls = async (
  deps: HookDeps,
  org: OrganizationId,
  id: string,
  page: Page,
): Promise<readonly HookCall[]> => {
  await hookOf(deps, org, id);
  const calls = await deps.hookCalls.page(Uuid.parse(id), page);
  if (calls === null) throw invalidCursor('call of this hook');
  return calls;
};
