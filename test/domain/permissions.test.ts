import { expect } from 'chai';
import { may, memberRoles, permissions, staffRoles, type Permission } from '../../domain/permissions.js';

/** The table of docs, by hand: o owner, d developer, v viewer, O operator, f floor, a auditor. */
const table: Readonly<Record<Permission, string>> = {
  'cards.read': 'odvOa',
  'cards.send': 'od',
  'cards.cancel': 'odO',
  'cards.release': 'O',
  'contacts.read': 'odvOa',
  'contacts.write': 'odO',
  'designs.read': 'odvOa',
  'designs.write': 'odO',
  'integrations.read': 'odvOa',
  'keys.manage': 'odO',
  'hooks.manage': 'odO',
  'webhooks.manage': 'odO',
  'credits.read': 'odvOa',
  'credits.add': 'O',
  'do-not-mail.write': 'odO',
  'settings.write': 'oO',
  'members.manage': 'oO',
  'floor.work': 'Of',
  'organizations.manage': 'O',
  'catalogue.write': 'O',
  'staff.manage': 'O',
};

const letters = { owner: 'o', developer: 'd', viewer: 'v', operator: 'O', floor: 'f', auditor: 'a' } as const;

describe('what a role may do', () => {
  for (const permission of permissions)
    it(`includes ${permission} for the roles of the table alone`, () => {
      const roles = [...memberRoles, ...staffRoles];
      const allowed = roles.filter((role) => may(role, permission)).map((role) => letters[role]);
      expect(allowed.join('')).to.equal(table[permission]);
    });
});
