import { gone } from '../gone.js';
import { addToDoNotMail, removeFromDoNotMail } from '../../../../application/organizations/administer.js';
import { listDoNotMail } from '../../../../application/organizations/operator-lists.js';
import { may } from '../../../../domain/permissions.js';
import { doNotMail } from '../../operator/customers.js';
import { parseValues } from '../../schema/read.js';
import { Field, Form, Submit } from '../../web/form.js';
import { Empty, Older, Panel } from '../../web/parts.js';
import { Time } from '../../web/time.js';
import { confirmed, page } from '../page.js';
import { shownPart, wantedPart } from '../paging.js';
import { paths } from '../../web/paths.js';
import { Tabs } from '../tabs.js';

export const doNotMailPage = page({
  path: paths.doNotMail,
  may: 'contacts.read',
  query: ['done', 'before'],
  load: async (context) => ({
    ...shownPart(await listDoNotMail(context.deps, context.org, wantedPart(context))),
    mayChange: may(context.role, 'do-not-mail.write'),
  }),
  title: () => 'Do not mail',
  view: ({ shown, last, mayChange }, context) => {
    const { url, org } = context;
    return (
      <>
        <Tabs context={context} of="Settings" here="Do not mail" />
        <p class="quiet">
          Cards to these addresses are held. Only the payload of an inbound hook carries an e-mail address.
        </p>
        {mayChange ? (
          <Panel id="add" title="Add an address">
            <Form action="add">
              <Field name="email" label="E-mail" type="email" />
              <button type="submit">Add</button>
            </Form>
          </Panel>
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
                      since <Time at={addedAt} />
                    </span>
                  </span>
                  {mayChange && email !== null ? (
                    <details class="end">
                      <summary>Remove</summary>
                      <Form action="remove">
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
        <Older to={last && url(paths.doNotMail, { org }, { before: last.id })} />
      </>
    );
  },
  actions: {
    add: confirmed('do-not-mail.write', 'addressAdded', async ({ deps, by, org }, sent) => {
      const { email } = parseValues(doNotMail, { email: sent('email') });
      await addToDoNotMail(deps, by, org, email);
    }),
    remove: confirmed('do-not-mail.write', 'addressRemoved', ({ deps, by, org }, sent) =>
      removeFromDoNotMail(deps, by, org, sent('email')),
    ),
  },
});
