import { acceptFor, findInvitation, setFirstPassword } from '../../../../application/access/people.js';
import { readAccount } from '../../../../application/organizations/read-accounts.js';
import { accountIdOf } from '../../../../domain/account.js';
import { OrganizationId } from '../../../../domain/ids.js';
import { house } from '../../../../domain/members.js';
import type { Role } from '../../../../domain/permissions.js';
import { Field, Form, Refusal } from '../../web/form.js';
import { newForm } from '../answer.js';
import { assertGoodPassword } from '../good-password.js';
import { NewPassword, WhosePassword } from '../new-password.js';
import { go, page, type Context } from '../page.js';
import { paths } from '../paths.js';
import { accountBy, signedIn, unknownLink } from '../signing-in.js';

const roleMeans: Readonly<Record<Role, string>> = {
  owner: 'sends and cancels cards, manages keys, webhooks and settings, and invites people',
  developer: 'sends and cancels cards, and manages keys, hooks and webhooks',
  viewer: 'sees cards, contacts, designs, integrations and credits, and changes nothing',
  operator: 'runs the service, for every organization',
  floor: 'works on the floor: the steps of each card',
  auditor: 'reads everything, and changes nothing',
};

const over = 'This invitation is over, or was accepted already. Ask for a new one.';

const invitationOf = async (context: Context) => {
  const { deps, params } = context;
  const org = OrganizationId.parse(params['organization'] ?? '');
  const token = params['invitation'] ?? '';
  const found = await findInvitation(deps, org, token);
  const person = found?.member.person ?? null;
  if (found === null || person === null) throw await unknownLink(context, over);
  return { org, token, role: found.member.role, person, hasPassword: found.hasPassword };
};

export const joinPage = page({
  path: paths.join,
  may: 'anyone',
  load: async (context) => {
    const invitation = await invitationOf(context);
    const { org } = invitation;
    const name = org === house ? 'The service' : (await readAccount(context.deps, org)).name;
    return { form: newForm(context), organization: name, ...invitation };
  },
  title: ({ organization }) => `Join ${organization}`,
  view: ({ form, organization, role, person, hasPassword }, _, refused) => (
    <div class="narrow">
      <h1>Join {organization}</h1>
      <p>
        {organization} invites {person.email} as <strong>{role}</strong>, who {roleMeans[role]}.
      </p>
      <Refusal refused={refused} />
      <Form action="join" id={form}>
        <WhosePassword email={person.email} />
        {hasPassword ? (
          <Field name="password" label="Your password" type="password" autocomplete="current-password" />
        ) : (
          <>
            <Field
              name="name"
              label="Your name"
              autocomplete="name"
              value={refused?.sent('name') ?? person.name}
            />
            <NewPassword name="password" label="Choose a password" />
          </>
        )}
        <button type="submit">Join</button>
      </Form>
    </div>
  ),
  actions: {
    join: {
      may: 'anyone',
      run: async (context, sent) => {
        const { deps, url } = context;
        const { org, token, person, hasPassword } = await invitationOf(context);
        const password = sent('password');
        const account = accountIdOf(person.email);
        if (hasPassword) {
          await accountBy(context, person.email, password, 'This is not the password of your account.');
        } else {
          const chosen = {
            password,
            field: 'password',
            email: person.email,
            name: sent('name'),
            link: token,
          };
          await assertGoodPassword(context, chosen);
          await setFirstPassword(deps, context, account, password);
        }
        await acceptFor(deps, context, org, token, sent('name') || person.name);
        const cookie = await signedIn(context, account);
        return go(org === house ? url(paths.start) : url(paths.home, { org }), cookie);
      },
    },
  },
});
