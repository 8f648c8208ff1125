const reading = ['cards.read', 'contacts.read', 'designs.read', 'integrations.read', 'credits.read'] as const;
const changing = [
  'cards.cancel',
  'contacts.write',
  'designs.write',
  'keys.manage',
  'hooks.manage',
  'webhooks.manage',
  'do-not-mail.write',
] as const;
const owning = ['settings.write', 'members.manage'] as const;
const operating = [
  'floor.work',
  'cards.release',
  'organizations.manage',
  'credits.add',
  'catalogue.write',
  'staff.manage',
] as const;
/** Permissions of people who are signed in, as the pages and their actions name them. */
export const permissions = [...reading, ...changing, ...owning, ...operating, 'cards.send'] as const;
export type Permission = (typeof permissions)[number];

/** The roles of people of an organization, the strongest first. */
export const memberRoles = ['owner', 'developer', 'viewer'] as const;
/** The roles of the service's staff, the strongest first. */
export const staffRoles = ['operator', 'floor', 'auditor'] as const;
export type MemberRole = (typeof memberRoles)[number];
export type StaffRole = (typeof staffRoles)[number];
export type Role = MemberRole | StaffRole;

/**
 * The permissions of each role. Operators act for any organization, but never spend a customer's credits:
 * they don't send. `staff.manage` shows the staff; inviting, changing and removing staff takes the operator
 * token, as members.ts decides.
 */
const granted: Readonly<Record<Role, ReadonlySet<Permission>>> = {
  owner: new Set<Permission>([...reading, ...changing, ...owning, 'cards.send']),
  developer: new Set<Permission>([...reading, ...changing, 'cards.send']),
  viewer: new Set<Permission>(reading),
  operator: new Set<Permission>([...reading, ...changing, ...owning, ...operating]),
  floor: new Set<Permission>(['floor.work']),
  auditor: new Set<Permission>(reading),
};

export const may = (role: Role, permission: Permission): boolean => granted[role].has(permission);
