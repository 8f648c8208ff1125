import { Instant } from '../../../domain/ids.js';
import type { CardDocument } from '../../../projections/cards.js';
import { Table } from '../web/parts.js';
import { Day, Time } from '../web/time.js';
import { gone } from './gone.js';
import type { Context } from './page.js';
import { paths } from '../web/paths.js';
import { Status } from './status.js';

interface Props {
  readonly cards: readonly CardDocument[];
  readonly context: Context;
}

/** To whom a card goes, in a line. */
export const addressee = ({ recipient, erasedAt }: CardDocument): string =>
  recipient === null ? gone(erasedAt) : `${recipient.name}, ${recipient.city} ${recipient.state}`;

export const CardsTable = ({ cards, context: { url, timeZone } }: Props) => (
  <Table
    label="Cards"
    rows={cards}
    columns={[
      {
        name: 'Card',
        kind: 'head',
        cell: ({ code }) => <a href={url(paths.card, { code })}>{code}</a>,
      },
      { name: 'To', cell: addressee },
      { name: 'Status', cell: ({ status }) => <Status status={status} /> },
      {
        name: 'Arrives',
        cell: ({ window }) => (
          <>
            <Day day={window.earliest} /> – <Day day={window.latest} />
          </>
        ),
      },
      {
        name: 'Sent',
        cell: ({ createdAt }) => <Time at={Instant.parse(createdAt)} zone={timeZone} />,
      },
      { name: 'Reference', cell: ({ reference }) => reference },
    ]}
  />
);
