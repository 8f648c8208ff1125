import { expect } from 'chai';
import { DomainError } from '../../domain/errors.js';
import { OrganizationId } from '../../domain/ids.js';
import { assertMayManage, house, mayReset, type Manager } from '../../domain/members.js';
import { memberRoles, staffRoles, type Role } from '../../domain/permissions.js';

const acme = OrganizationId.parse('6c0f6a3e-0000-4000-8000-000000000001');
const other = OrganizationId.parse('6c0f6a3e-0000-4000-8000-000000000002');

const managers: readonly (Manager | null)[] = ['root', 'operator', ...memberRoles, null];

const refused = (manager: Manager | null, org: OrganizationId, given: Role | null): boolean => {
  try {
    assertMayManage(manager, org, given);
  } catch (error) {
    if (error instanceof DomainError && error.code === 'missing_scope') return true;
    throw error;
  }
  return false;
};

describe('who manages members', () => {
  it('is for the staff the holder of the operator token alone', () => {
    for (const role of [...staffRoles, null])
      for (const manager of managers)
        expect(refused(manager, house, role), `${manager} ${role}`).to.equal(manager !== 'root');
  });

  it('is for a customer the operator and its owners, and nobody gives a role above the own one', () => {
    for (const role of [...memberRoles, null]) {
      const allowed = managers.filter((manager) => !refused(manager, acme, role));
      expect(allowed, `gives ${role}`).to.deep.equal(['root', 'operator', 'owner']);
    }
  });

  it('resets a password only if the account opens nothing that the manager does not manage', () => {
    const mayOf = (belongsTo: readonly OrganizationId[]) =>
      managers.filter((manager) => mayReset(manager, acme, belongsTo));
    expect(mayOf([acme])).to.deep.equal(['root', 'operator', 'owner']);
    expect(mayOf([acme, other])).to.deep.equal(['root', 'operator']);
    expect(mayOf([other])).to.deep.equal(['root', 'operator']);
    expect(mayOf([acme, house])).to.deep.equal(['root']);
    expect(mayOf([house])).to.deep.equal(['root']);
  });
});
