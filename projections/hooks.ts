import { hook, type HookSettings } from '../domain/hook.js';
import { idOf, Uuid, type Instant, type OrganizationId } from '../domain/ids.js';
import { projection } from './projection.js';

/** A hook for the list. How often it was fired is in the call log. */
export interface HookDocument extends HookSettings {
  readonly id: Uuid;
  readonly org: OrganizationId;
  readonly createdAt: Instant;
  readonly paused: boolean;
  readonly deleted: boolean;
}

/** The filter of the list, which deleted hooks don't match. */
export const listedHooks = { listed: 'yes' };

const changed = (document: HookDocument | null, change: Partial<HookDocument>): HookDocument | null =>
  document && { ...document, ...change };

export const hooks = projection({
  name: 'hooks',
  version: 2,
  from: hook,
  evolve: (document: HookDocument | null, event): HookDocument | null => {
    switch (event.type) {
      case 'HookCreated': {
        const { stream, metadata } = event.envelope;
        return {
          id: Uuid.parse(idOf(stream)),
          ...event.data,
          createdAt: metadata.occurredAt,
          paused: false,
          deleted: false,
        };
      }
      case 'HookChanged':
        return changed(document, event.data);
      case 'HookPaused':
        return changed(document, { paused: true });
      case 'HookResumed':
        return changed(document, { paused: false });
      case 'HookDeleted':
        return changed(document, { deleted: true });
    }
  },
  org: ({ org }) => org,
  indexes: { listed: ({ deleted }) => (deleted ? null : listedHooks.listed) },
});
