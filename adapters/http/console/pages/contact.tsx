import { changeContact } from '../../../../application/contacts/save-contact.js';
import { deleteContact, replaceSeenContact } from '../../../../domain/contact.js';
import { Uuid } from '../../../../domain/ids.js';
import { Form } from '../../web/form.js';
import { ButtonLink, Danger, Facts, Panel, Time } from '../../web/parts.js';
import { existing } from '../admit.js';
import { gone } from '../card-words.js';
import { ContactFields, contactFrom, contactOf } from '../contact-parts.js';
import { confirmed, go, type OrgContext, page } from '../page.js';

const loadContact = async (context: OrgContext) =>
  existing(await contactOf(context, context.params['contact'] ?? ''));

export const contactPage = page({
  path: 'contact',
  may: 'contacts.read',
  mayAct: 'contacts.write',
  query: ['done'],
  load: loadContact,
  title: ({ details, erasedAt }) => details?.name ?? (erasedAt ? 'Erased contact' : 'Unreadable contact'),
  heading: ({ id, details, erasedAt }, { url, mayDo }) => ({
    above: ['Contacts', url('contacts')],
    below: details?.name ?? gone(erasedAt),
    beside: mayDo('cards.send') && details !== null && (
      <ButtonLink to={url('send', {}, { contact: id })} words="Send a card" />
    ),
  }),
  view: ({ id, details, createdAt, updatedAt }, { url, mayAct, refused }) => {
    const isOpen = mayAct && details !== null;
    // A refused form keeps the version that was seen then.
    const seen = <input type="hidden" name="seen" value={refused?.sent('seen') ?? updatedAt} />;
    return (
      <>
        {refused !== null && refused.sent('seen') !== updatedAt ? (
          <p>
            <a href={url('contact', { contact: id })}>Look at the contact as it is now</a>
          </p>
        ) : null}
        <div class="grid wide">
          <Panel id="record" title="The complete record">
            {isOpen ? (
              <Form action="save" button="Save">
                {seen}
                <ContactFields details={details} />
              </Form>
            ) : (
              <fieldset disabled>
                <ContactFields details={details} />
              </fieldset>
            )}
          </Panel>
          <Panel id="facts" title="Details">
            <Facts
              of={{
                'External id': details?.externalId ?? 'none',
                Address: 'Only its form is checked.',
                Created: <Time at={createdAt} />,
                Updated: <Time at={updatedAt} />,
              }}
            />
            {isOpen ? (
              <Danger label="Delete this contact">
                <p>
                  Its details are erased for good. Its cards stay as they are; a contact that is saved later
                  with the same external id is a new one.
                </p>
                <Form action="remove" button="Delete for good">
                  {seen}
                </Form>
              </Danger>
            ) : null}
          </Panel>
        </div>
      </>
    );
  },
  actions: {
    save: confirmed('contactSaved', async (context, sent) => {
      const { deps, command, org } = context;
      const { id, details: known } = await loadContact(context);
      // Its stream is found by it, so it stays.
      const details = { ...contactFrom(sent), externalId: known?.externalId ?? null };
      const saving = command();
      const replace = replaceSeenContact(org, details, sent('seen'), saving.at);
      await changeContact(deps, Uuid.parse(id), saving, replace);
    }),
    remove: async (context, sent) => {
      const { deps, command, url } = context;
      const { id } = await loadContact(context);
      const deleting = command();
      await changeContact(deps, Uuid.parse(id), deleting, deleteContact(sent('seen'), deleting.at));
      return go(url('contacts', {}, { done: 'contactDeleted' }));
    },
  },
});
