/** The roles of a process: one part of the service, or all of it. (docs/operations.md#roles) */
export const roles = ['api', 'projector', 'relay', 'webhooks', 'reconciler', 'notary', 'all'] as const;
export type Role = (typeof roles)[number];

/** Whether a process with that role does this part's work. */
export const plays = (role: Role, part: Role): boolean => role === 'all' || role === part;

/** Whether the role writes events, or verifies them. */
export const knowsEventKeys = (role: Role): boolean =>
  (['api', 'webhooks', 'reconciler', 'notary'] as const).some((part) => plays(role, part));

export const opensPersonal = (role: Role): boolean => role !== 'webhooks' && role !== 'notary';
