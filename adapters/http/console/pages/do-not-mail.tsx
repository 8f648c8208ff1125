import { addToDoNotMail, removeFromDoNotMail } from '../../../../application/organizations/administer.js';
import { listDoNotMail } from '../../../../application/organizations/operator-lists.js';
import { doNotMail } from '../../operator/customers.js';
import { parseValues } from '../../schema/read.js';
import { Field, Form, FormPanel } from '../../web/form.js';
import { Empty, Older, Time } from '../../web/parts.js';
import { gone } from '../card-words.js';
import { confirmed, page } from '../page.js';
import { partOf } from '../paging.js';

export const doNotMailPage = page({
  path: 'doNotMail',
  may: 'contacts.read',
  mayAct: 'do-not-mail.write',
  query: ['done', 'before'],
  load: ({ deps, org, query }) => partOf(query, (part) => listDoNotMail(deps, org, part)),
  title: () => 'Do not mail',
  view: ({ shown, last }, { url, mayAct }) => (
    <>
      <p class="quiet">
        Cards to these addresses are held. Only the payload of an inbound hook carries an e-mail address.
      </p>
      <FormPanel id="add" title="Add an address" action="add" button="Add">
        <Field name="email" label="E-mail" type="email" />
      </FormPanel>
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
                {mayAct && email !== null ? (
                  <details class="end">
                    <summary>Remove</summary>
                    <Form action="remove" fields={{ email }} kind="bad" button="Take it off the list">
                      <p>Cards to {email} are made again from then on.</p>
                    </Form>
                  </details>
                ) : null}
              </li>
            ))}
          </ul>
        </div>
      )}
      <Older to={last && url('doNotMail', {}, { before: last.id })} />
    </>
  ),
  actions: {
    add: confirmed('addressAdded', async ({ deps, by, org }, sent) => {
      const { email } = parseValues(doNotMail, { email: sent('email') });
      await addToDoNotMail(deps, by, org, email);
    }),
    remove: confirmed('addressRemoved', ({ deps, by, org }, sent) =>
      removeFromDoNotMail(deps, by, org, sent('email')),
    ),
  },
});
