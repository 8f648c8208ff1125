import type { HookPreview } from '../../../application/preview-hook.js';
import { longestMessage } from '../../../domain/message.js';
import { countCharacters } from '../../../domain/text.js';
import { Badge } from '../web/parts.js';
import { ErrorCodeLink } from './error-code.js';
import type { Context } from './page.js';

/** What a call with the sample payload would come to. */
export const PreviewOfHook = ({
  preview,
  context,
}: {
  readonly preview: HookPreview;
  readonly context: Context;
}) => {
  const { message, pieces, refusal, heldReason } = preview;
  const missing = new Set(
    (pieces ?? []).flatMap(({ name, value }) => (name !== null && value === null ? [name] : [])),
  );
  return (
    <>
      {refusal !== null ? (
        <p>
          <Badge tone="bad">Would be refused</Badge> <ErrorCodeLink code={refusal.code} context={context} />
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
      )}
      {missing.size === 0 ? null : (
        <>
          <p>No value in the payload: {[...missing].join(', ')}.</p>
          <p class="letter">
            {pieces?.map(({ text, name, value }) =>
              name !== null && value === null ? <mark>{text}</mark> : (value ?? text),
            )}
          </p>
        </>
      )}
      {message === null ? null : (
        <>
          <p class="letter">{message}</p>
          <p class="quiet">
            {countCharacters(message)} of {longestMessage} characters.
            {pieces === null ? ' The message of the payload wins over the template.' : ''}
          </p>
        </>
      )}
    </>
  );
};
