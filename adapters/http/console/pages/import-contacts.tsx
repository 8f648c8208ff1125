import { beginImport, importIdOf, listImports } from '../../../../application/contacts/imports.js';
import { DomainError } from '../../../../domain/errors.js';
import { readContact } from '../../api/contact-fields.js';
import { contactRows } from '../../api/contact-file.js';
import { UnreadableFile } from '../../api/csv-rows.js';
import { maxFileBytes } from '../../server/upload.js';
import { Field, FileField, FormPanel } from '../../web/form.js';
import { count, Table, Time } from '../../web/parts.js';
import { ImportState } from '../contact-parts.js';
import { go, page } from '../page.js';
import { formIn } from '../gates.js';

const badFile = (message: string): DomainError => new DomainError('invalid_body', message, 'file');

export const importContactsPage = page({
  path: 'importContacts',
  may: 'contacts.write',
  load: ({ deps, org }) => listImports(deps, org),
  title: () => 'Import contacts',
  heading: (_, { url }) => ({ above: ['Contacts', url('contacts')], below: 'Import' }),
  view: (imports, { url }) => (
    <>
      <FormPanel id="file" title="A CSV file" action="import" hasFile button="Import">
        <Field
          name="key"
          label="Key column"
          hint="The column that identifies a contact, if it is not external_id. A contact that has its key already is replaced, so a file can be imported again."
          optional
        />
        <FileField
          name="file"
          label="File"
          accept=".csv,text/csv"
          hint={`Its first line names the columns, as Excel, Google Contacts, Outlook, HubSpot, Salesforce, Mailchimp, Shopify, Klaviyo and WooCommerce name them. ${maxFileBytes / 1024 / 1024} MiB at most.`}
        />
      </FormPanel>
      {imports.length === 0 ? null : (
        <Table
          label="Imports of the last 7 days"
          rows={imports}
          columns={{
            File: ({ id, file }) => <a href={url('contactImport', { import: id })}>{file}</a>,
            Started: ({ at }) => <Time at={at} />,
            State: ({ status }) => <ImportState status={status} />,
            Rows: ({ rows }) => count(rows),
            Bad: ({ bad }) => count(bad),
          }}
          numbers={['Rows', 'Bad']}
        />
      )}
    </>
  ),
  actions: {
    import: {
      once: false,
      // Browsers send it with its file.
      run: () => Promise.reject(badFile('Choose a file.')),
      upload: async ({ deps, by, org, url }, sent, { file, fileName }) => {
        if (fileName === '') throw badFile('Choose a file.');
        const id = importIdOf(org, formIn(sent));
        const key = sent('key') || undefined;
        const unread = {};
        const rows = contactRows(file, { key, keyIsNamed: 'as the key column', fromLine: 1, unread });
        try {
          const sentFile = { id, file: fileName.slice(0, 200), rows, unread, readContact };
          await beginImport(deps, by, org, sentFile);
        } catch (error) {
          if (error instanceof UnreadableFile) throw badFile(`${error.message} Nothing was imported.`);
          throw error;
        }
        return go(url('contactImport', { import: id }));
      },
    },
  },
});
