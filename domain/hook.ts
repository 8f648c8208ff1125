import { hash } from 'node:crypto';
import { z } from 'zod';
import { DomainError } from './errors.js';
import { events, type Aggregate, type EventOf } from './events.js';
import { derivedUuid, OrganizationId, type Uuid } from './ids.js';

/**
 * The settings of a hook. `design` is an id or `card:<slug>`; null means the default design at the time of
 * each call. (decision 49: a design that is gone is never replaced)
 */
const HookSettings = z.object({
  label: z.string().nullable(),
  design: z.string().nullable(),
  template: z.string().nullable(),
  signedBy: z.string().nullable(),
});
export type HookSettings = z.infer<typeof HookSettings>;

export const hookEvents = events({
  HookCreated: { org: OrganizationId, ...HookSettings.shape },
  /** All settings, as they are from now on. */
  HookChanged: HookSettings.shape,
  HookPaused: {},
  HookResumed: {},
  HookDeleted: {},
});
export type HookEvent = EventOf<typeof hookEvents>;

/** A hook that was created, whatever its status is now. */
export interface MadeHook extends HookSettings {
  readonly status: 'active' | 'paused' | 'deleted';
  readonly org: OrganizationId;
}

export type Hook = { readonly status: 'none' } | MadeHook;

const changed = (state: Hook, status: MadeHook['status']): Hook =>
  state.status === 'none' ? state : { ...state, status };

/**
 * An inbound hook. Its id is derived from the hash of its token: a hook is found without an index, and the
 * token is stored nowhere. (decision 50: tokens, the call log, and guessing)
 */
export const hook: Aggregate<Hook, HookEvent> = {
  category: 'hook',
  schemas: hookEvents,
  initial: { status: 'none' },
  evolve: (state, event) => {
    switch (event.type) {
      case 'HookCreated':
        return { status: 'active', ...event.data };
      case 'HookChanged':
        return state.status === 'none' ? state : { ...state, ...event.data };
      case 'HookPaused':
        return changed(state, 'paused');
      case 'HookResumed':
        return changed(state, 'active');
      case 'HookDeleted':
        return changed(state, 'deleted');
    }
  },
};

/** How many random bytes a token has: 256 bits. (decision 50: tokens, the call log, and guessing) */
export const tokenBytes = 32;

export const tokenFrom = (bytes: Buffer): string => bytes.toString('base64url');

/** The id of the hook with this token. Any string gives an id, whether there is such a hook or not. */
export const hookIdOf = (token: string): Uuid => derivedUuid('hook', hash('sha256', token));

export const createHook =
  (org: OrganizationId, settings: HookSettings) =>
  (state: Hook): HookEvent[] => {
    if (state.status !== 'none') throw new Error('this hook already exists');
    return [{ type: 'HookCreated', data: { org, ...settings } }];
  };

export const noSuchHook = () => new DomainError('not_found', 'There is no such hook in this organization.');

/** Throws `not_found`. */
export const ownHook = (org: OrganizationId, state: Hook): MadeHook => {
  if (state.status === 'none' || state.org !== org) throw noSuchHook();
  return state;
};

/** Throws `not_found`, also for a deleted hook. */
const liveHook = (org: OrganizationId, state: Hook): MadeHook => {
  const own = ownHook(org, state);
  if (own.status === 'deleted') throw noSuchHook();
  return own;
};

/**
 * Changes settings of a hook for later calls; settings that aren't named stay. A repeat records nothing.
 * Throws `not_found`, also for a deleted hook.
 */
export const changeHookSettings =
  (org: OrganizationId, change: Partial<HookSettings>) =>
  (state: Hook): HookEvent[] => {
    const { label, design, template, signedBy } = liveHook(org, state);
    const before = { label, design, template, signedBy };
    const after = { ...before, ...change };
    const isSame = JSON.stringify(after) === JSON.stringify(before);
    return isSame ? [] : [{ type: 'HookChanged', data: after }];
  };

/**
 * Pauses a hook, which sends nothing until it is resumed, or resumes it. A repeat records nothing. Throws
 * `not_found`, also for a deleted hook.
 */
export const pauseHook =
  (org: OrganizationId, paused: boolean) =>
  (state: Hook): HookEvent[] => {
    if ((liveHook(org, state).status === 'paused') === paused) return [];
    return [{ type: paused ? 'HookPaused' : 'HookResumed', data: {} }];
  };

/**
 * Deletes a hook forever; a repeat records nothing. Throws `not_found`. (decision 50: tokens, the call log,
 * and guessing)
 */
export const deleteHook =
  (org: OrganizationId) =>
  (state: Hook): HookEvent[] =>
    ownHook(org, state).status === 'deleted' ? [] : [{ type: 'HookDeleted', data: {} }];

/** The refusal of a token that belongs to no hook, or to a deleted one. (docs/contract.md#authentication) */
export const unknownHook = (): DomainError =>
  new DomainError(
    'invalid_hook',
    'This hook URL is unknown. Check it, or create a new hook: a deleted one cannot be restored.',
  );

/**
 * The hook, if it may send. Throws `invalid_hook` if there is none or it is deleted, `hook_disabled` if it is
 * paused. (docs/contract.md#authentication)
 */
export const activeHook = (state: Hook): MadeHook => {
  switch (state.status) {
    case 'none':
    case 'deleted':
      throw unknownHook();
    case 'paused':
      throw new DomainError('hook_disabled', 'This hook is paused. Resume it, then send again.');
    case 'active':
      return state;
  }
};
