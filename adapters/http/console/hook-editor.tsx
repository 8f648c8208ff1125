import type { DesignDocument } from '../../../projections/organizations.js';
import { Choice, Field, Form, TextArea } from '../web/form.js';
import { inline } from '../web/prose.js';
import type { Draft } from './hook-data.js';

/** The designs to choose from. The chosen one is among them, whatever became of it. */
const designChoices = (designs: readonly DesignDocument[], chosen: string) => {
  const [newest] = designs;
  const known = designs.map(({ id, name }) => ({ value: id, name }));
  const other = chosen === '' || known.some(({ value }) => value === chosen) ? [] : [chosen];
  return [
    { value: '', name: `The newest one at the time${newest === undefined ? '' : `, now ${newest.name}`}` },
    ...known,
    ...other.map((value) => ({
      value,
      name: value.startsWith('card:') ? `${value}, of the collection` : 'A design that was archived',
    })),
  ];
};

interface EditorProps {
  readonly draft: Draft;
  readonly designs: readonly DesignDocument[];
  readonly maySave: boolean;
}

export const HookEditor = ({ draft, designs, maySave }: EditorProps) => (
  <Form>
    <TextArea
      name="template"
      label="Template"
      rows={7}
      value={draft.template}
      hint="For payloads without a message of their own. Names in double braces are filled in."
    />
    <details>
      <summary>What can stand in braces</summary>
      <dl class="facts">
        {variables.map(([name, meaning]) => (
          <>
            <dt>
              <code>{name}</code>
            </dt>
            <dd>{inline(meaning)}</dd>
          </>
        ))}
      </dl>
    </details>
    <Field name="signed_by" label="Signed by" value={draft.signed_by} required={false} />
    <Choice
      name="design_id"
      label="Design"
      value={draft.design_id}
      options={designChoices(designs, draft.design_id)}
    />
    <Field name="label" label="Label" value={draft.label} required={false} />
    <TextArea
      name="payload"
      label="Sample payload"
      rows={11}
      isCode
      value={draft.payload}
      hint="Only to try the template: it is not saved. Calls keep no bodies, so put in what your tool sends."
    />
    <p class="actions">
      <button type="submit" name="do" value="preview" formaction="#preview" class="second">
        Preview
      </button>
      {maySave ? (
        <button type="submit" name="do" value="save">
          Save
        </button>
      ) : null}
    </p>
  </Form>
);

const variables = [
  ['{{first_name}}', 'The first name, or the first word of the name.'],
  ['{{full_name}}', 'The name as it stands on the envelope.'],
  ['{{sender_name}}', 'What stands in Signed by.'],
  ['{{order.item}}', 'Any field of the payload, with dots for what is nested.'],
  ['{{company}}', 'Of the contact that `external_id` in the payload names. So is `{{job_title}}`.'],
  ['{{years}}', 'The whole years since the work anniversary of that contact.'],
] as const;
