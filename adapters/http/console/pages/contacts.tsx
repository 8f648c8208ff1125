import { listContacts } from '../../../../application/contacts/list-contacts.js';
import { saveContactRecord } from '../../../../application/contacts/save-contact.js';
import { CommandId, derivedUuid } from '../../../../domain/ids.js';
import { Field, FormPanel, Search } from '../../web/form.js';
import { ButtonLink, Empty, Older, Table } from '../../web/parts.js';
import { gone } from '../card-words.js';
import { ContactFields, contactFrom, contactsLike } from '../contact-parts.js';
import { go, page } from '../page.js';
import { partOf } from '../paging.js';

export const contactsPage = page({
  path: 'contacts',
  may: 'contacts.read',
  mayAct: 'contacts.write',
  query: ['q', 'before', 'done'],
  load: (context) => {
    const { deps, org, query } = context;
    return partOf(query, (part) =>
      query('q') === ''
        ? listContacts(deps.readModels, org, { email: null, externalId: null, ...part })
        : contactsLike(context, query('q')),
    );
  },
  title: () => 'Contacts',
  heading: (_, { url, mayAct }) => ({
    beside: mayAct && <ButtonLink to={url('importContacts')} kind="second" words="Import a file" />,
  }),
  view: ({ shown, last }, { url, mayDo, deps, query }) => (
    <>
      <Search name="q" label="E-mail or external id" value={query('q')} optional />
      <Table
        label="Contacts"
        rows={shown}
        columns={{
          Name: ({ id, details, erasedAt }) => (
            <>
              <a href={url('contact', { contact: id })}>{details?.name ?? gone(erasedAt)}</a>
              <span class="under">{details?.company}</span>
            </>
          ),
          'E-mail': ({ details }) => details?.email,
          'Lives in': ({ details }) =>
            [details?.address.city, details?.address.state].filter((part) => part).join(' '),
          'External id': ({ details }) => details?.externalId,
          Card: ({ id, details }) =>
            mayDo('cards.send') && details !== null ? (
              <a href={url('send', {}, { contact: id })} aria-label={`Send a card to ${details.name}`}>
                Send a card
              </a>
            ) : null,
        }}
      >
        {query('q') === '' ? (
          <Empty
            title="No contact yet"
            sample={`curl ${deps.baseUrl()}/api/v1/contacts -H "Authorization: Bearer $API_KEY" \\\n  --json '{"name": "Ada Lovelace", "external_id": "crm-1001"}'`}
          >
            Contacts come over the API, from a CSV file, or from the form below.
          </Empty>
        ) : (
          <Empty title="No contact is like this">E-mail and external id are compared whole.</Empty>
        )}
      </Table>
      <Older to={last && url('contacts', {}, { before: last.id })} />
      <FormPanel id="new-contact" title="New contact" action="make" button="Save the contact">
        <ContactFields details={null} />
        <Field
          name="external_id"
          label="External id"
          hint="Your own. A contact that has it already is replaced."
          optional
        />
      </FormPanel>
    </>
  ),
  actions: {
    make: async ({ deps, command, org, url }, sent) => {
      const details = contactFrom(sent);
      const id = CommandId.parse(derivedUuid('contact in the console', org, sent('form')));
      const saved = await saveContactRecord(deps, org, { ...command(), id }, details, { once: true });
      return go(url('contact', { contact: saved.id }, { done: 'contactSaved' }));
    },
  },
});
