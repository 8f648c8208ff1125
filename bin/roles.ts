/**
 * What a process may be started as: one part of the service, or all of it. (operations.md, Processes of the
 * distributed deployment)
 */
export const roles = ['api', 'projector', 'relay', 'webhooks', 'reconciler', 'all'] as const;
export type Role = (typeof roles)[number];
