import { changeRole, inviteMember, removeMember } from '../../../application/access/people.js';
import { issueReset } from '../../../application/access/password-resets.js';
import type { OrganizationId } from '../../../domain/ids.js';
import type { Member } from '../../../domain/members.js';
import type { Role } from '../../../domain/permissions.js';
import { newMember, roleChange } from '../operator/people.js';
import { parseValues } from '../schema/read.js';
import { Choice, Field, Form, FormPanel } from '../web/form.js';
import { ActionLink, Badge, Older, Time } from '../web/parts.js';
import type { Url } from '../web/paths.js';
import { idFrom } from './admit.js';
import { gone } from './card-words.js';
import { partAfter } from './paging.js';
import { confirmed, shownOnce, type Actions, type Context, type KnownContext, type Outcome } from './page.js';

export const roleMeans: Readonly<Record<Role, string>> = {
  owner: 'sends and cancels cards, manages keys, webhooks and settings, and invites people',
  developer: 'sends and cancels cards, and manages keys, hooks and webhooks',
  viewer: 'sees cards, contacts, designs, integrations and credits, and changes nothing',
  operator: 'runs the service, for every organization',
  floor: 'works on the floor: the steps of each card',
  auditor: 'sees everything, but changes nothing',
};

interface RowsProps {
  readonly members: readonly Member[];
  readonly roles: readonly Role[];
  readonly context: Context;
}

const ChangeRole = ({ member, roles }: { readonly member: Member } & Pick<RowsProps, 'roles'>) => (
  <Form action="changeRole" fields={{ member: member.id }} kind="second" button="Change the role">
    <fieldset>
      <legend>Role</legend>
      {roles.map((role) => (
        <label class="check">
          <input type="radio" name="role" value={role} checked={role === member.role} />
          <span>
            {role} <span class="hint">{roleMeans[role]}</span>
          </span>
        </label>
      ))}
    </fieldset>
  </Form>
);

const Remove = ({ member: { id, account } }: { readonly member: Member }) => {
  const [button, hint] =
    account === null
      ? ['Withdraw the invitation', 'The link of the invitation stops working.']
      : ['Remove', 'They lose access within 5 seconds.'];
  return (
    <Form action="remove" fields={{ member: id }} kind="bad" button={button}>
      <p class="hint">{hint}</p>
    </Form>
  );
};

/** A page of the members, each with the actions that are possible. */
export const MemberRows = ({ members, roles, context }: RowsProps) => {
  const { visitor, query, url, path, params } = context;
  const { shown, last } = partAfter(members, ({ id }) => id === query('before'));
  const owners = members.filter(({ role, account }) => role === 'owner' && account !== null);
  /** The last owner stays, and so does the visitor's own role. */
  const stays = (member: Member) => isSelf(member) || (owners.length === 1 && owners.includes(member));
  const isSelf = ({ account }: Member) => visitor.kind === 'member' && account === visitor.account;
  return (
    <>
      <div class="panel">
        <ul class="rows">
          {shown.map((member) => (
            <li>
              <span>
                <strong>{member.person?.name ?? gone(null)}</strong>{' '}
                {isSelf(member) ? <Badge tone="good">you</Badge> : null}
                <span class="under">
                  {member.person?.email} · {member.role}
                  <Time before=" · invited, until " at={member.account === null ? member.expires : null} />
                </span>
              </span>
              <details class="end">
                <summary>Change</summary>
                {stays(member) ? null : <ChangeRole member={member} roles={roles} />}
                {member.account === null ? null : (
                  <Form
                    action="reset"
                    fields={{ member: member.id }}
                    kind="second"
                    button="Create a password link"
                  >
                    <p class="hint">For a member who forgot the password: a link to choose a new one.</p>
                  </Form>
                )}
                {stays(member) ? null : <Remove member={member} />}
              </details>
            </li>
          ))}
        </ul>
      </div>
      <Older to={last && url(path, params, { before: last.id })} words="More" />
    </>
  );
};

export const Invite = ({ roles }: Pick<RowsProps, 'roles'>) => (
  <FormPanel id="invite" title="Invite a member" action="invite" button="Create invitation">
    <Field name="email" label="E-mail" type="email" />
    <Field name="name" label="Name" />
    <Choice
      name="role"
      value={roles.at(-1) ?? ''}
      label="Role"
      options={roles.map((role) => ({ value: role, name: `${role}: ${roleMeans[role]}` }))}
    />
    <p class="hint">The service sends no mail: the link is shown to you once, and you pass it on.</p>
  </FormPanel>
);

/** A link that is shown once. `back`: the page after it. */
export const linkShown = (
  { origin, url, path, params }: Context,
  title: string,
  link: Url,
  ends: string | number,
  back = url(path, params),
): Outcome => ({
  kind: 'show',
  title,
  body: (
    <div class="narrow">
      <h1>{title}</h1>
      <p>
        Pass it on yourself: the service sends no mail. It works once, until <Time at={ends} />.
      </p>
      <p class="secret">
        <code>
          {origin}
          {link}
        </code>
      </p>
      <ActionLink to={back} words="I have passed it on" />
    </div>
  ),
});

/** Actions on the members of an organization, or of the house, on their page. */
export const peopleActions = <C extends KnownContext>(orgOf: (context: C) => OrganizationId): Actions<C> => ({
  invite: shownOnce<C>('linkMade', async (context, sent) => {
    const { deps, by, url } = context;
    const wanted = { email: sent('email'), name: sent('name'), role: sent('role') };
    const organization = orgOf(context);
    const { token, expires } = await inviteMember(deps, by, organization, parseValues(newMember, wanted));
    return linkShown(context, 'The invitation', url('join', { organization, invitation: token }), expires);
  }),
  reset: shownOnce<C>('linkMade', async (context, sent) => {
    const { deps, by, url } = context;
    const { token, ends } = await issueReset(deps, by, orgOf(context), idFrom(sent('member')));
    return linkShown(context, 'A link for a new password', url('reset', { link: token }), ends);
  }),
  changeRole: confirmed<C>('roleChanged', async (context, sent) => {
    const { role } = parseValues(roleChange, { role: sent('role') });
    await changeRole(context.deps, context.by, orgOf(context), idFrom(sent('member')), role);
  }),
  remove: confirmed<C>('memberRemoved', (context, sent) =>
    removeMember(context.deps, context.by, orgOf(context), idFrom(sent('member'))),
  ),
});
