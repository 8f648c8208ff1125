import { createHash } from 'node:crypto';
import { z } from 'zod';
import { DomainError, never } from './errors.js';
import { events, type Aggregate, type EventOf } from './events.js';
import type { Uuid } from './ids.js';
import { derivedUuid, OrganizationId, streamName } from './ids.js';

/**
 * An inbound hook. Its id comes from the token's hash, so that a hook is found without an index and the token
 * is nowhere at rest. (decision 50)
 */
export const hookStream = (id: Uuid) => streamName('hook', id);

/**
 * What a hook is set up with. `design` is the id or `card:<slug>` as it was given; null: the default at every
 * fire. (decision 49)
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
  HookPaused: {},
  HookResumed: {},
  HookDeleted: {},
});
export type HookEvent = EventOf<typeof hookEvents>;

/** A hook that was made, whatever became of it. */
export interface MadeHook extends HookSettings {
  readonly status: 'active' | 'paused' | 'deleted';
  readonly org: OrganizationId;
}

export type Hook = { readonly status: 'none' } | MadeHook;

const changed = (state: Hook, status: MadeHook['status']): Hook =>
  state.status === 'none' ? state : { ...state, status };

export const hook: Aggregate<Hook, HookEvent> = {
  category: 'hook',
  schemas: hookEvents,
  schemaVersion: 1,
  initial: { status: 'none' },
  evolve: (state, event) => {
    switch (event.type) {
      case 'HookCreated':
        return { status: 'active', ...event.data };
      case 'HookPaused':
        return changed(state, 'paused');
      case 'HookResumed':
        return changed(state, 'active');
      case 'HookDeleted':
        return changed(state, 'deleted');
      default:
        return never(event);
    }
  },
};

/** How many random bytes a token has: 256 bits. (decision 50) */
export const tokenBytes = 32;

export const tokenFrom = (bytes: Buffer): string => bytes.toString('base64url');

/** The id of the hook that a token opens; any string has one. */
export const hookIdOf = (token: string): Uuid =>
  derivedUuid('hook', createHash('sha256').update(token).digest('hex'));

export const createHook =
  (org: OrganizationId, settings: HookSettings) =>
  (state: Hook): HookEvent[] => {
    if (state.status !== 'none') throw new Error('this hook exists already');
    return [{ type: 'HookCreated', data: { org, ...settings } }];
  };

const notFound = () => new DomainError('not_found', 'There is no such hook in this organization.');

const ownHook = (org: OrganizationId, state: Hook): MadeHook => {
  if (state.status === 'none' || state.org !== org) throw notFound();
  return state;
};

/**
 * Stops a hook from sending until it is resumed; a repeat adds nothing. Throws `not_found`, for a deleted
 * hook too.
 */
export const pauseHook =
  (org: OrganizationId) =>
  (state: Hook): HookEvent[] => {
    const { status } = ownHook(org, state);
    if (status === 'deleted') throw notFound();
    return status === 'paused' ? [] : [{ type: 'HookPaused', data: {} }];
  };

/** Lets a paused hook send again; a repeat adds nothing. Throws `not_found`, for a deleted hook too. */
export const resumeHook =
  (org: OrganizationId) =>
  (state: Hook): HookEvent[] => {
    const { status } = ownHook(org, state);
    if (status === 'deleted') throw notFound();
    return status === 'active' ? [] : [{ type: 'HookResumed', data: {} }];
  };

/** Deletes a hook for ever; a repeat adds nothing. Throws `not_found`. (decision 50) */
export const deleteHook =
  (org: OrganizationId) =>
  (state: Hook): HookEvent[] =>
    ownHook(org, state).status === 'deleted' ? [] : [{ type: 'HookDeleted', data: {} }];

/** The refusal of a token that opens nothing, now or ever again. (spec: Authentication; decision 50) */
export const unknownHook = (): DomainError =>
  new DomainError(
    'invalid_hook',
    'This hook URL is not known. Check it, or make a new hook: a deleted one never comes back.',
  );

/**
 * The hook, if it may send. Throws `invalid_hook` for one that never was or is deleted, `hook_disabled` for a
 * paused one. (spec: Authentication)
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
    default:
      return never(state);
  }
};
