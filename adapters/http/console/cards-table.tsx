import { Instant } from '../../../domain/ids.js';
import type { CardDocument } from '../../../projections/cards.js';
import { Day, Time } from '../web/time.js';
import type { Context } from './page.js';
import { paths } from './paths.js';
import { Status } from './status.js';

interface Props {
  readonly cards: readonly CardDocument[];
  readonly context: Context;
}

/** To whom a card goes, in a line. */
export const addressee = ({ recipient }: CardDocument): string =>
  recipient === null ? 'erased' : `${recipient.name}, ${recipient.city} ${recipient.state}`;

export const CardsTable = ({ cards, context: { url, timeZone } }: Props) => (
  <div class="scroll" role="region" aria-label="Cards" tabIndex={0}>
    <table>
      <thead>
        <tr>
          <th scope="col">Card</th>
          <th scope="col">To</th>
          <th scope="col">Status</th>
          <th scope="col">Arrives</th>
          <th scope="col">Sent</th>
          <th scope="col">Reference</th>
        </tr>
      </thead>
      <tbody>
        {cards.map((card) => (
          <tr>
            <th scope="row">
              <a href={url(paths.card, { code: card.code })}>{card.code}</a>
            </th>
            <td>{addressee(card)}</td>
            <td>
              <Status status={card.status} />
            </td>
            <td>
              <Day day={card.window.earliest} /> – <Day day={card.window.latest} />
            </td>
            <td>
              <Time at={Instant.parse(card.createdAt)} zone={timeZone} />
            </td>
            <td>{card.reference}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);
