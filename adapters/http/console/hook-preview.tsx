import type { HookPreview } from '../../../application/hooks/fire-hook.js';
import { maxMessageLength } from '../../../domain/message.js';
import type { TemplatePiece } from '../../../domain/template.js';
import { countCharacters } from '../../../domain/text.js';
import { Badge } from '../web/parts.js';
import { ErrorCodeLink } from './links.js';

interface Props {
  readonly preview: HookPreview;
  readonly hasTemplate: boolean;
}

/** The answer that the caller would get. */
const Verdict = ({ preview: { refusal, heldReason } }: Pick<Props, 'preview'>) =>
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

/** Previews a call with the sample payload: the card's text, and what would be wrong with it. */
export const PreviewOfHook = ({ preview, hasTemplate }: Props) => {
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
