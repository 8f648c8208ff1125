import { changeRole, inviteMember, removeMember } from '../../../application/access/people.js';
import { issueReset } from '../../../application/access/password-resets.js';
import type { Initiator } from '../../../application/writing/commands.js';
import type { OrganizationId } from '../../../domain/ids.js';
import type { Permission } from '../../../domain/permissions.js';
import { newMember, roleChange } from '../operator/people.js';
import { parseValues } from '../schema/read.js';
import type { Url } from '../web/url.js';
import { idFrom } from './admit.js';
import { linkShown } from './members-parts.js';
import { type Action, confirmed, type Context, type Outcome, pageAfter } from './page.js';
import { paths } from '../web/paths.js';

/** Actions on the members of an organization, or of the house, on their page. */
export const peopleActions = <C extends Context & { readonly by: Initiator }>(
  may: Permission,
  orgOf: (context: C) => OrganizationId,
): Readonly<Record<string, Action<C>>> => {
  const again = (context: C): Url => pageAfter(context, 'linkMade');
  const shown = (context: C, title: string, path: Url, ends: number): Outcome =>
    linkShown(context, { title, path, ends, back: context.url(context.path, context.params) });
  return {
    invite: {
      may,
      again,
      run: async (context, sent) => {
        const member = parseValues(newMember, {
          email: sent('email'),
          name: sent('name'),
          role: sent('role'),
        });
        const organization = orgOf(context);
        const { token, expires } = await inviteMember(context.deps, context.by, organization, member);
        const path = context.url(paths.join, { organization, invitation: token });
        return shown(context, 'The invitation', path, Date.parse(expires));
      },
    },
    reset: {
      may,
      again,
      run: async (context, sent) => {
        const member = idFrom(sent('member'));
        const { token, ends } = await issueReset(context.deps, context.by, orgOf(context), member);
        return shown(context, 'A link for a new password', context.url(paths.reset, { link: token }), ends);
      },
    },
    changeRole: confirmed<C>(may, 'roleChanged', async (context, sent) => {
      const { role } = parseValues(roleChange, { role: sent('role') });
      await changeRole(context.deps, context.by, orgOf(context), idFrom(sent('member')), role);
    }),
    remove: confirmed<C>(may, 'memberRemoved', async (context, sent) =>
      removeMember(context.deps, context.by, orgOf(context), idFrom(sent('member'))),
    ),
  };
};
