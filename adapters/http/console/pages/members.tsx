import { listMembers } from '../../../../application/access/people.js';
import { rolesOf } from '../../../../domain/members.js';
import { peopleActions } from '../manage-people.js';
import { Invite, MemberRows } from '../members-parts.js';
import { type OrgContext, page } from '../page.js';
import { paths } from '../../web/paths.js';
import { Tabs } from '../tabs.js';

export const membersPage = page({
  path: paths.members,
  may: 'members.manage',
  query: ['done'],
  load: ({ deps, org }) => listMembers(deps, org),
  title: () => 'Members',
  view: (members, context) => {
    const roles = rolesOf(context.org);
    return (
      <>
        <Tabs context={context} of="Settings" here="Members" />
        <MemberRows members={members} roles={roles} context={context} />
        <Invite roles={roles} />
      </>
    );
  },
  actions: peopleActions('members.manage', ({ org }: OrgContext) => org),
});
