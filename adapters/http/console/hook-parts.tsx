import type { HookPreview } from '../../../application/hooks/fire-hook.js';
import type { ListedHook } from '../../../application/hooks/hooks.js';
import { maxMessageLength } from '../../../domain/message.js';
import type { TemplatePiece } from '../../../domain/template.js';
import { countCharacters } from '../../../domain/text.js';
import type { DesignDocument } from '../../../projections/organizations.js';
import { Choice, Field, Form, TextArea } from '../web/form.js';
import { Badge } from '../web/parts.js';
import { inline } from '../web/prose.js';
import { ErrorCodeLink } from './card-words.js';
import type { Draft } from './hook-data.js';

/** Whether calls of a hook are taken. */
export const HookState = ({ paused }: Pick<ListedHook, 'paused'>) =>
  paused ? <Badge tone="warn">Paused</Badge> : <Badge tone="good">On</Badge>;

const variables = [
  ['{{first_name}}', 'The first name, or the first word of the name.'],
  ['{{full_name}}', 'The name as it stands on the envelope.'],
  ['{{sender_name}}', 'What stands in Signed by.'],
  ['{{order.item}}', 'Any field of the payload, with dots for what is nested.'],
  ['{{company}}', 'Of the contact that `external_id` in the payload names. So is `{{job_title}}`.'],
  ['{{years}}', 'The whole years since the work anniversary of that contact.'],
] as const;

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

/** The actions of the editor, as its buttons name them. */
export const editorActions = ['preview', 'save'];

export const HookEditor = ({ draft, designs, maySave }: EditorProps) => (
  <Form action={editorActions}>
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
    <Field name="signed_by" label="Signed by" value={draft.signed_by} optional />
    <Choice
      name="design_id"
      label="Design"
      value={draft.design_id}
      options={designChoices(designs, draft.design_id)}
    />
    <Field name="label" label="Label" value={draft.label} optional />
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

/** The answer that the caller would get. */
const Verdict = ({ preview: { refusal, heldReason } }: { readonly preview: HookPreview }) =>
  refusal !== null ? (
    <p>
      <Badge tone="bad">Would be refused</Badge> <ErrorCodeLink code={refusal.code} />
      <span class="under">{refusal.message}</span>
    </p>
  ) : heldReason !== null ? (
    <p>
      <Badge tone="warn">Would be held</Badge>
      <span class="under">{heldReason}</span>
    </p>
  ) : (
    <p>
      <Badge tone="good">Would send a card</Badge>
    </p>
  );

/** The template as far as it is filled in, with missing values marked. */
const Unfinished = ({ pieces }: { readonly pieces: readonly TemplatePiece[] }) => (
  <p class="letter">
    <span>
      {pieces.map(({ text, name, value }) =>
        name !== null && value === null ? <mark>{text}</mark> : (value ?? text),
      )}
    </span>
  </p>
);

const missingIn = (pieces: readonly TemplatePiece[]): readonly string[] => [
  ...new Set(pieces.flatMap(({ name, value }) => (name !== null && value === null ? [name] : []))),
];

const ofContact: ReadonlySet<string> = new Set(['company', 'job_title', 'years']);

interface PreviewProps {
  readonly preview: HookPreview;
  readonly hasTemplate: boolean;
}

/** Previews a call with the sample payload: the card's text, and what would be wrong with it. */
export const PreviewOfHook = ({ preview, hasTemplate }: PreviewProps) => {
  const { message, pieces, refusal } = preview;
  if (!hasTemplate && refusal?.code === 'missing_message')
    return <p class="quiet">Write a template, or let each payload bring a message of its own.</p>;
  const missing = missingIn(pieces ?? []);
  return (
    <div>
      <Verdict preview={preview} />
      {message === null ? null : (
        <>
          <p class="letter">{message}</p>
          <p class="quiet">
            {countCharacters(message)} of {maxMessageLength} characters.
            {hasTemplate && pieces === null ? ' The message of the payload wins over the template.' : ''}
          </p>
        </>
      )}
      {missing.length > 0 && pieces !== null ? <Unfinished pieces={pieces} /> : null}
      {missing.length > 0 ? <p class="quiet">Without a value: {missing.join(', ')}.</p> : null}
      {missing.some((name) => ofContact.has(name)) ? (
        <p class="quiet">
          Company, job title and years come from the contact that <code>external_id</code> in the payload
          names.
        </p>
      ) : null}
    </div>
  );
};
