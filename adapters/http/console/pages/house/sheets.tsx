import { gone } from '../../gone.js';
import { layOut } from '../../../../../domain/letter-layout.js';
import { Sheet } from '../../../web/letter.js';
import { cardOn } from '../../floor-data.js';
import { page } from '../../page.js';
import { paths } from '../../../web/paths.js';

/** The envelope and the inside of a card, each on a page of its own size when they are printed. */
export const sheetsPage = page({
  path: paths.sheets,
  may: 'floor.work',
  load: cardOn,
  title: ({ card }) => `Envelope and card ${card.code}`,
  view: ({ card: { code, recipient, handwriting, erasedAt }, message }, { url }) => (
    <>
      <p class="crumbs">
        <a href={url(paths.floorCard, { code })}>{code}</a> › Envelope and card
      </p>
      <h1 class="hidden">Envelope and card {code}</h1>
      <p class="note screen">Print this page: the envelope and the card come out on a page each.</p>
      <section class="printed envelope-page" aria-label="Envelope">
        <address>
          {recipient === null
            ? gone(erasedAt)
            : [
                recipient.name,
                recipient.line1,
                recipient.line2,
                `${recipient.city} ${recipient.state} ${recipient.zip}`,
              ]
                .filter((line) => line !== null)
                .map((line) => <span>{line}</span>)}
        </address>
        <span class="mark">{code}</span>
      </section>
      <section class="printed card-page" aria-label="Card">
        {message === null ? (
          <p>The message is {gone(erasedAt)}.</p>
        ) : (
          <Sheet hand={handwriting} layout={layOut(message, handwriting)} />
        )}
      </section>
    </>
  ),
});
