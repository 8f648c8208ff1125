import type { Front } from '../../../domain/artwork.js';
import type { CardDocument } from '../../../projections/cards.js';
import { Cover } from '../web/cover.js';
import { Letter } from '../web/letter.js';
import { gone } from './gone.js';
import type { Context } from './page.js';

interface PieceProps extends Pick<Context, 'url'> {
  readonly card: CardDocument;
  /** Null if it was erased. */
  readonly message: string | null;
  readonly front: Front | null;
}

/** The parts of a card: its front, its inside and its envelope. */
export const Piece = ({ card, message, front, url }: PieceProps) => (
  <div class="grid">
    {front === null ? null : (
      <section class="panel" aria-labelledby="front">
        <h2 id="front">Front</h2>
        <Cover title="The front of the card" name={card.code} artwork={front} url={url} />
      </section>
    )}
    <section class="panel" aria-labelledby="inside">
      <h2 id="inside">Inside</h2>
      <p class="quiet small">Written by a pen in {card.handwriting}.</p>
      {message === null ? (
        <p class="letter">The message is {gone(card.erasedAt)}.</p>
      ) : (
        <Letter message={message} hand={card.handwriting} />
      )}
    </section>
    <section class="panel" aria-labelledby="envelope">
      <h2 id="envelope">Envelope</h2>
      <address class="letter envelope">
        {card.recipient === null
          ? gone(card.erasedAt)
          : [
              card.recipient.name,
              card.recipient.line1,
              card.recipient.line2,
              `${card.recipient.city} ${card.recipient.state} ${card.recipient.zip}`,
            ]
              .filter((line) => line !== null)
              .map((line) => <span>{line}</span>)}
      </address>
    </section>
  </div>
);
