import type { Device } from '../../../../application/access/devices.js';
import { acceptFor, findInvitation, joinWithNewAccount } from '../../../../application/access/people.js';
import { readAccount } from '../../../../application/organizations/read-accounts.js';
import { OrganizationId, type Uuid } from '../../../../domain/ids.js';
import { house, invitationIdOf, newAccountIdOf } from '../../../../domain/members.js';
import { newMember } from '../../operator/people.js';
import { parseValues } from '../../schema/read.js';
import { Field, Form, Refusal } from '../../web/form.js';
import { Panel } from '../../web/parts.js';
import { accountBy, goodPassword, NewPassword, signedIn, unknownLink, WhosePassword } from '../signing-in.js';
import { roleMeans } from '../members.js';
import { type Context, go, page } from '../page.js';
import { formIn } from '../gates.js';

const joiner = newMember.pick({ name: true });

const over = 'This invitation is over, or was accepted already. Ask for a new one.';

const tokenIn = ({ params }: Context): string => params['invitation'] ?? '';

const invitationOf = async (context: Context, isOurs?: (account: Uuid) => boolean) => {
  const org = OrganizationId.parse(context.params['organization'] ?? '');
  const found = await findInvitation(context.deps, org, tokenIn(context), isOurs);
  if (found === null) throw await unknownLink(context, over);
  return { org, role: found.member.role, person: found.person };
};

const entered = async (context: Context, org: OrganizationId, device: Device) => {
  const to = org === house ? context.url('start') : context.url('home', { org });
  return go(to, await signedIn(context, device));
};

/**
 * Reveals nothing about the accounts of the invited address: the holder of the link may be a stranger to it.
 */
export const joinPage = page({
  path: 'join',
  may: 'anyone',
  load: async (context) => {
    const invitation = await invitationOf(context);
    const { org } = invitation;
    const organization = org === house ? 'The service' : (await readAccount(context.deps, org)).name;
    return { organization, ...invitation };
  },
  title: ({ organization }) => `Join ${organization}`,
  heading: null,
  view: ({ organization, role, person }) => (
    <div class="narrow">
      <h1>Join {organization}</h1>
      <p>
        {organization} invites {person.email} as <strong>{role}</strong>, who {roleMeans[role]}.
      </p>
      <Refusal />
      <Panel id="new-account" title="With a new account">
        <p class="quiet">
          It gives access to this organization only. Other accounts with this e-mail address stay as they are.
        </p>
        <Form action="join" button="Join">
          <WhosePassword email={person.email} />
          <Field name="name" label="Your name" autocomplete="name" value={person.name} />
          <NewPassword name="password" label="Choose a password" />
        </Form>
      </Panel>
      <Panel id="with" title="With an existing account">
        <Form action="joinWith" kind="second" button="Join with this account">
          <WhosePassword email={person.email} />
          <Field
            name="current"
            label="Password of that account"
            type="password"
            autocomplete="current-password"
          />
        </Form>
      </Panel>
    </div>
  ),
  actions: {
    join: async (context, sent) => {
      const id = newAccountIdOf(invitationIdOf(tokenIn(context)), formIn(sent));
      const { org, person } = await invitationOf(context, (account) => account === id);
      const { name } = parseValues(joiner, { name: sent('name') || person.name });
      const joining = { id, person: { email: person.email, name } };
      const link = tokenIn(context);
      const chosen = await goodPassword(context, sent, { ...joining.person, account: null, link });
      const joined = await joinWithNewAccount(context.deps, context, org, link, joining, chosen);
      return entered(context, org, joined);
    },
    joinWith: async (context, sent) => {
      // An accepted invitation may be accepted again by the account of the password.
      const { org, person } = await invitationOf(context, () => true);
      const wrong = 'This is not the password of an account with this e-mail address.';
      const credential = await accountBy(context, person.email, sent('current'), wrong, 'current');
      const accepting = { id: credential.account, person };
      await acceptFor(context.deps, context, org, tokenIn(context), accepting);
      return entered(context, org, credential);
    },
  },
});
