import { listMembers } from '../../../../../application/access/people.js';
import { house, rolesOf } from '../../../../../domain/members.js';
import { Refusal } from '../../../web/form.js';
import { Empty, PageHeading } from '../../../web/parts.js';
import { peopleActions } from '../../manage-people.js';
import { Invite, MemberRows } from '../../members-parts.js';
import { Notice } from '../../notice.js';
import { page, type HouseContext } from '../../page.js';
import { paths } from '../../../web/paths.js';

export const staffPage = page({
  path: paths.staff,
  may: 'staff.manage',
  query: ['done'],
  load: ({ deps }) => listMembers(deps, house),
  title: () => 'Staff',
  view: (members, context, refused) => {
    const roles = rolesOf(house);
    return (
      <>
        <PageHeading title="Staff" />
        <Notice word={context.query('done')} />
        <Refusal refused={refused} />
        <p class="quiet">Only the holder of the operator token can change the staff.</p>
        {members.length === 0 ? (
          <Empty title="No staff yet">Invite the people who work on the floor, or supervise it.</Empty>
        ) : (
          <MemberRows members={members} roles={roles} context={context} />
        )}
        <Invite roles={roles} refused={refused} context={context} />
      </>
    );
  },
  actions: peopleActions(
    'staff.manage',
    () => house,
    ({ url }: HouseContext, query) => url(paths.staff, {}, query),
  ),
});
