import { listMembers } from '../../../../application/access/people.js';
import { house, rolesOf } from '../../../../domain/members.js';
import { Empty } from '../../web/parts.js';
import { Invite, MemberRows, peopleActions } from '../members.js';
import { type OrgContext, page } from '../page.js';

export const membersPage = page({
  path: 'members',
  may: 'members.manage',
  query: ['before', 'done'],
  load: ({ deps, org }) => listMembers(deps, org),
  title: () => 'Members',
  view: (members, context) => {
    const roles = rolesOf(context.org);
    return (
      <>
        <MemberRows members={members} roles={roles} context={context} />
        <Invite roles={roles} />
      </>
    );
  },
  actions: peopleActions(({ org }: OrgContext) => org),
});

const staffRoles = rolesOf(house);

export const staffPage = page({
  path: 'staff',
  may: 'staff.manage',
  query: ['before', 'done'],
  load: ({ deps }) => listMembers(deps, house),
  title: () => 'Staff',
  view: (members, context) => (
    <>
      <p class="quiet">Only the holder of the operator token can change the staff.</p>
      {members.length === 0 ? (
        <Empty title="No staff yet">Invite the people who work on the floor, or supervise it.</Empty>
      ) : (
        <MemberRows members={members} roles={staffRoles} context={context} />
      )}
      <Invite roles={staffRoles} />
    </>
  ),
  actions: peopleActions(() => house),
});
