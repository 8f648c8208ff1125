import { listMembers } from '../../../../../application/access/people.js';
import { house, rolesOf } from '../../../../../domain/members.js';
import { Empty, PageHeading } from '../../../web/parts.js';
import { peopleActions } from '../../manage-people.js';
import { Invite, MemberRows } from '../../members-parts.js';
import { page } from '../../page.js';
import { paths } from '../../../web/paths.js';

export const staffPage = page({
  path: paths.staff,
  may: 'staff.manage',
  query: ['done'],
  load: ({ deps }) => listMembers(deps, house),
  title: () => 'Staff',
  view: (members, context) => {
    const roles = rolesOf(house);
    return (
      <>
        <PageHeading title="Staff" />
        <p class="quiet">Only the holder of the operator token can change the staff.</p>
        {members.length === 0 ? (
          <Empty title="No staff yet">Invite the people who work on the floor, or supervise it.</Empty>
        ) : (
          <MemberRows members={members} roles={roles} context={context} />
        )}
        <Invite roles={roles} />
      </>
    );
  },
  actions: peopleActions('staff.manage', () => house),
});
