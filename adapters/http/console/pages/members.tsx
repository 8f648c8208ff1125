import { listMembers } from '../../../../application/access/people.js';
import { rolesOf } from '../../../../domain/members.js';
import { Invite, MemberRows, peopleActions } from '../members.js';
import { type OrgContext, page } from '../page.js';
import { Tabs } from '../tabs.js';

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
        <Tabs org={context.org} role={context.role} of="Settings" here="Members" />
        <MemberRows members={members} roles={roles} context={context} />
        <Invite roles={roles} />
      </>
    );
  },
  actions: peopleActions(({ org }: OrgContext) => org),
});
