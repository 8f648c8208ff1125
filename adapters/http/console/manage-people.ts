import { changeRole, inviteMember, removeMember } from '../../../application/access/people.js';
import { issueReset } from '../../../application/access/password-resets.js';
import type { Initiator } from '../../../application/commands.js';
import type { OrganizationId } from '../../../domain/ids.js';
import { newMember, roleChange } from '../operator-people.js';
import { readAll } from '../read.js';
import type { Url } from '../web/url.js';
import { idFrom } from './admit.js';
import { linkShown } from './members-parts.js';
import type { Notice } from './notice.js';
import { go, type Context, type Outcome, type Sent } from './page.js';
import { paths } from './paths.js';

type By = Context & { readonly by: Initiator };

/** What can be done about the people of an organization, or of the house. */
export const peopleActions = (org: OrganizationId, back: (done: Notice | null) => Url) => {
  const shown = (context: Context, title: string, path: Url, ends: number): Outcome => ({
    kind: 'show',
    title,
    body: linkShown({ title, link: `${context.origin}${path}`, ends, back: back(null), context }),
  });
  return {
    invite: async (context: By, sent: Sent): Promise<Outcome> => {
      const member = readAll(newMember, { email: sent('email'), name: sent('name'), role: sent('role') });
      const { token, expires } = await inviteMember(context.deps, context.by, org, member);
      const path = context.url(paths.join, { organization: org, invitation: token });
      return shown(context, 'The invitation', path, Date.parse(expires));
    },
    reset: async (context: By, sent: Sent): Promise<Outcome> => {
      const { token, ends } = await issueReset(context.deps, context.by, org, idFrom(sent('member')));
      return shown(context, 'A link for a new password', context.url(paths.reset, { link: token }), ends);
    },
    changeRole: async ({ deps, by }: By, sent: Sent): Promise<Outcome> => {
      const { role } = readAll(roleChange, { role: sent('role') });
      await changeRole(deps, by, org, idFrom(sent('member')), role);
      return go(back('roleChanged'));
    },
    remove: async ({ deps, by }: By, sent: Sent): Promise<Outcome> => {
      await removeMember(deps, by, org, idFrom(sent('member')));
      return go(back('memberRemoved'));
    },
  };
};
