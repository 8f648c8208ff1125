import { listMembers } from '../../../../application/access/people.js';
import { rolesOf } from '../../../../domain/members.js';
import { Refusal } from '../../web/form.js';
import { peopleActions } from '../manage-people.js';
import { Invite, MemberRows } from '../members-parts.js';
import { Notice } from '../notice.js';
import { page, type OrgContext } from '../page.js';
import { paths } from '../../web/paths.js';
import { Tabs } from '../tabs.js';

export const membersPage = page({
  path: paths.members,
  may: 'members.manage',
  query: ['done'],
  load: ({ deps, org }) => listMembers(deps, org),
  title: () => 'Members',
  view: (members, context, refused) => {
    const roles = rolesOf(context.org);
    return (
      <>
        <Tabs context={context} of="Settings" here="Members" />
        <Notice word={context.query('done')} />
        <Refusal refused={refused} />
        <MemberRows members={members} roles={roles} context={context} />
        <Invite roles={roles} refused={refused} context={context} />
      </>
    );
  },
  actions: peopleActions(
    'members.manage',
    ({ org }: OrgContext) => org,
    ({ url, org }, query) => url(paths.members, { org }, query),
  ),
});
