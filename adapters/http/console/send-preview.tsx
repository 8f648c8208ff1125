import type { SendPreview } from '../../../application/cards/preview.js';
import { layOut, roomAt } from '../../../domain/letter-layout.js';
import { addressLines } from '../../../domain/recipient.js';
import { maxMessageLength } from '../../../domain/message.js';
import { countCharacters } from '../../../domain/text.js';
import { Badge, type CoverProps, Day } from '../web/parts.js';
import { RefusalText } from '../web/form.js';
import { Envelope, Letter, Sheet } from '../web/letter.js';
import { Piece } from './card-parts.js';
import { reasonInWords } from './card-words.js';

/** The preview's result, in a line. */
const Verdict = ({ preview: { refusal, heldReason, window } }: { readonly preview: SendPreview }) =>
  refusal !== null ? (
    <p>
      <Badge tone="bad">Not ready</Badge>{' '}
      <span class="under">
        <RefusalText message={refusal.message} />
      </span>
    </p>
  ) : heldReason !== null ? (
    <p>
      <Badge tone="warn">Will be held</Badge> <span class="under">{reasonInWords(heldReason)}</span>
      <span class="under">Nothing is charged until a person has released it.</span>
    </p>
  ) : window === null ? null : (
    <p>
      <Badge tone="good">Ready to send</Badge>
      <span class="under">
        Arrives between <Day day={window.earliest} /> and <Day day={window.latest} />: a window, not a
        promised date.
      </span>
    </p>
  );

interface PreviewProps {
  readonly preview: SendPreview | null;
  readonly hand: string;
  readonly front: CoverProps | null;
}

/** The whole card, as far as it is known, and the preview's result. */
export const PreviewOfSend = ({ preview, hand, front }: PreviewProps) => {
  const { message = null, recipient = null } = preview ?? {};
  return (
    <section id="preview" class="panel" aria-labelledby="preview-title">
      <h2 id="preview-title">Preview</h2>
      <Piece
        front={front}
        inside={
          message === null ? (
            <>
              <Sheet hand={hand} layout={layOut('', hand)} />
              <p class="quiet small">What you write appears here as it would be written.</p>
            </>
          ) : (
            <>
              <Letter message={message} hand={hand} />
              <Size message={message} hand={hand} />
            </>
          )
        }
        envelope={<Envelope hand={hand} lines={recipient === null ? [] : addressLines(recipient)} />}
      />
      {preview === null ? null : <Verdict preview={preview} />}
    </section>
  );
};

const Size = ({ message, hand }: { readonly message: string; readonly hand: string }) => {
  const { lines, size } = layOut(message, hand);
  return (
    <p class="small">
      {countCharacters(message)} of {maxMessageLength} characters · {lines.length} of {roomAt(size)} lines
    </p>
  );
};
