import { gone } from '../gone.js';
import { addToDoNotMail, removeFromDoNotMail } from '../../../../application/organizations/administer.js';
import { listDoNotMail } from '../../../../application/organizations/operator-lists.js';
import { may } from '../../../../domain/permissions.js';
import { doNotMail } from '../../operator/customers.js';
import { parseValues } from '../../schema/read.js';
import { Field, Form, Refusal, Submit } from '../../web/form.js';
import { Empty, Older } from '../../web/parts.js';
import { Time } from '../../web/time.js';
import { newForm } from '../answer.js';
import { Notice, type NoticeName } from '../notice.js';
import { go, page, type OrgContext, type Sent } from '../page.js';
import { paths } from '../../web/paths.js';
import { Tabs } from '../tabs.js';

const perPage = 50;

const back = ({ url, org }: OrgContext, done: NoticeName) => go(url(paths.doNotMail, { org }, { done }));

const emailIn = (sent: Sent): string => parseValues(doNotMail, { email: sent('email') }).email;

export const doNotMailPage = page({
  path: paths.doNotMail,
  may: 'contacts.read',
  query: ['done', 'before'],
  load: async ({ deps, org, role, query }) => {
    const before = query('before');
    const wanted = { limit: perPage + 1, startingAfter: before === '' ? null : before };
    return { rows: await listDoNotMail(deps, org, wanted), mayChange: may(role, 'do-not-mail.write') };
  },
  title: () => 'Do not mail',
  view: ({ rows, mayChange }, context, refused) => {
    const { url, org, timeZone, query } = context;
    const shown = rows.slice(0, perPage);
    const last = rows.length > perPage ? shown.at(-1) : undefined;
    return (
      <>
        <Tabs context={context} of="Settings" here="Do not mail" />
        <Notice word={query('done')} />
        <Refusal refused={refused} />
        <p class="quiet">
          Cards to these addresses are held. Only the payload of an inbound hook carries an e-mail address.
        </p>
        {mayChange ? (
          <section class="panel" aria-labelledby="add">
            <h2 id="add">Add an address</h2>
            <Form action="add" id={newForm(context)}>
              <Field name="email" label="E-mail" type="email" value={refused?.sent('email') ?? ''} />
              <button type="submit">Add</button>
            </Form>
          </section>
        ) : null}
        {shown.length === 0 ? (
          <Empty title="The list is empty">Add people who ask not to get cards.</Empty>
        ) : (
          <div class="panel">
            <ul class="rows">
              {shown.map(({ email, addedAt }) => (
                <li>
                  <span>
                    {email ?? gone(null)}
                    <span class="under">
                      since <Time at={addedAt} zone={timeZone} />
                    </span>
                  </span>
                  {mayChange && email !== null ? (
                    <details class="end">
                      <summary>Remove</summary>
                      <Form action="remove" id={newForm(context)}>
                        <input type="hidden" name="email" value={email} />
                        <p>Cards to {email} are made again from then on.</p>
                        <Submit kind="bad">Take it off the list</Submit>
                      </Form>
                    </details>
                  ) : null}
                </li>
              ))}
            </ul>
          </div>
        )}
        <Older to={last === undefined ? null : url(paths.doNotMail, { org }, { before: last.id })} />
      </>
    );
  },
  actions: {
    add: {
      may: 'do-not-mail.write',
      run: async (context, sent) => {
        await addToDoNotMail(context.deps, context.by, context.org, emailIn(sent));
        return back(context, 'addressAdded');
      },
    },
    remove: {
      may: 'do-not-mail.write',
      run: async (context, sent) => {
        await removeFromDoNotMail(context.deps, context.by, context.org, sent('email'));
        return back(context, 'addressRemoved');
      },
    },
  },
});
