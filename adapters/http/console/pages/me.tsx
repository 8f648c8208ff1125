import { hashOfNew, setPassword, signOutOthers } from '../../../../application/access/people.js';
import { mailboxIdOf } from '../../../../domain/account.js';
import { DomainError } from '../../../../domain/errors.js';
import { Field, Form, FormPanel } from '../../web/form.js';
import { Badge, Panel, Time } from '../../web/parts.js';
import { accountBy, goodPassword, knownDevice, NewPassword, tell, WhosePassword } from '../signing-in.js';
import { go, page } from '../page.js';
import { sessionCookie } from '../visitor.js';

export const mePage = page({
  path: 'me',
  may: 'signed-in',
  load: ({ deps, visitor }) => deps.sessions.listOf(visitor.session.owner),
  title: () => 'You',
  heading: (_, { visitor }) => ({ words: visitor.kind === 'operator' ? 'Operator' : visitor.name }),
  view: (sessions, { visitor }) => (
    <>
      {visitor.kind === 'operator' ? null : <p class="quiet">{visitor.email}</p>}
      <Panel id="sessions" title="Signed in">
        <ul class="rows">
          {sessions.map(({ id, browser, seen }) => (
            <li>
              <span>{browser}</span>
              <div class="actions end">
                {id === visitor.session.id ? (
                  <Badge tone="good">here, now</Badge>
                ) : (
                  <>
                    <span class="quiet">
                      last used <Time at={seen} />
                    </span>
                    <Form
                      action="signOutThere"
                      fields={{ session: id }}
                      kind="second"
                      button="Sign out there"
                    />
                  </>
                )}
              </div>
            </li>
          ))}
        </ul>
        <div class="actions">
          <Form action="signOut" button="Sign out" />
          <Form action="signOutOthers" kind="second" button="Sign out everywhere else" />
        </div>
      </Panel>
      {visitor.kind === 'operator' ? null : (
        <FormPanel id="password" title="Password" action="changePassword" button="Change password">
          <WhosePassword email={visitor.email} />
          <Field name="password" label="Your password" type="password" autocomplete="current-password" />
          <NewPassword name="next" label="New password" more="Your other sessions end." />
        </FormPanel>
      )}
    </>
  ),
  actions: {
    signOut: {
      once: false,
      run: async (context) => {
        const { deps, visitor, origin, url } = context;
        await deps.sessions.end(visitor.session.id);
        tell(context, { account: visitor.session.owner }, 'signed out');
        return go(url('signIn'), [sessionCookie(origin, '')]);
      },
    },
    signOutThere: async (context, sent) => {
      const { deps, visitor, url } = context;
      const { owner } = visitor.session;
      // Only the visitor's own sessions are searched, so that no other can be ended.
      const own = (await deps.sessions.listOf(owner)).find(({ id }) => id === sent('session'));
      if (own !== undefined) await deps.sessions.end(own.id);
      tell(context, { account: owner }, 'signed out elsewhere');
      return go(url('me'));
    },
    signOutOthers: async (context) => {
      const { deps, visitor, by, url } = context;
      const epoch = await signOutOthers(deps, by, visitor.session);
      tell(context, { account: visitor.session.owner }, 'signed out elsewhere');
      const isKnown = visitor.kind === 'member' && epoch !== null;
      return go(url('me'), isKnown ? [knownDevice(context, { account: visitor.account, epoch })] : []);
    },
    changePassword: async (context, sent) => {
      const { deps, visitor, url } = context;
      const wrong = 'This is not your password.';
      if (visitor.kind !== 'member') throw new DomainError('invalid_parameter', wrong, 'password');
      const { account: id, epoch } = await accountBy(context, visitor.email, sent('password'), wrong);
      if (id !== visitor.account) throw new DomainError('invalid_parameter', wrong, 'password');
      const chosen = await goodPassword(context, sent, { ...visitor, link: null }, 'next');
      const mailbox = mailboxIdOf(visitor.email);
      const hash = await hashOfNew(deps, mailbox, id, chosen);
      const next = { id, mailbox, hash, since: epoch };
      const renewed = await setPassword(deps, context, next, visitor.session);
      tell(context, { account: id }, 'signed out elsewhere');
      return go(url('me'), [knownDevice(context, renewed)]);
    },
  },
});
