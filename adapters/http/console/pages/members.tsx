import { listMembers } from '../../../../application/access/people.js';
import { rolesOf } from '../../../../domain/members.js';
import { Refusal } from '../../web/form.js';
import { peopleActions } from '../manage-people.js';
import { Invite, MemberRows } from '../members-parts.js';
import { Done, type Notice } from '../notice.js';
import { page, type OrgContext } from '../page.js';
import { paths } from '../paths.js';
import { Tabs } from '../tabs.js';

const actionsOf = ({ org, url }: OrgContext) =>
  peopleActions(org, (done: Notice | null) => url(paths.members, { org }, done === null ? {} : { done }));

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
        <Done word={context.query('done')} />
        <Refusal refused={refused} />
        <MemberRows members={members} roles={roles} context={context} />
        <Invite roles={roles} refused={refused} context={context} />
      </>
    );
  },
  actions: {
    invite: {
      may: 'members.manage',
      again: ({ url, org }) => url(paths.members, { org }, { done: 'linkMade' }),
      run: (context, sent) => actionsOf(context).invite(context, sent),
    },
    reset: {
      may: 'members.manage',
      again: ({ url, org }) => url(paths.members, { org }, { done: 'linkMade' }),
      run: (context, sent) => actionsOf(context).reset(context, sent),
    },
    changeRole: {
      may: 'members.manage',
      run: (context, sent) => actionsOf(context).changeRole(context, sent),
    },
    remove: { may: 'members.manage', run: (context, sent) => actionsOf(context).remove(context, sent) },
  },
});
