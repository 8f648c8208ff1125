import type { CardDocument } from '../../../projections/cards.js';
import type { OrganizationDocument } from '../../../projections/organizations.js';
import { Cover } from '../web/cover.js';
import { Table } from '../web/parts.js';
import { Day, Time } from '../web/time.js';
import { gone, Status } from './card-words.js';
import { CardLink } from './links.js';

interface FrontProps {
  readonly card: CardDocument;
  readonly owner: OrganizationDocument | undefined;
}

/** The front of a card in a list, if it has a picture. */
export const SmallFront = ({ card: { design }, owner }: FrontProps) => {
  const isIts = ({ id }: { readonly id: string }) => id === design;
  const found = owner?.designs.find(isIts) ?? owner?.archived.find(isIts);
  return (
    <span class="small-front">
      {found === undefined || found.artwork === null ? null : (
        <Cover title={found.name} artwork={found.artwork} />
      )}
    </span>
  );
};

interface Props {
  readonly cards: readonly CardDocument[];
  readonly owner: OrganizationDocument;
}

/** To whom a card goes, in a line. */
export const addressee = ({ recipient, erasedAt }: CardDocument): string =>
  recipient === null ? gone(erasedAt) : `${recipient.name}, ${recipient.city} ${recipient.state}`;

export const CardsTable = ({ cards, owner }: Props) => (
  <Table
    label="Cards"
    rows={cards}
    columns={[
      {
        name: 'Card',
        kind: 'head',
        cell: (card) => (
          <>
            <SmallFront card={card} owner={owner} /> <CardLink code={card.code} />
          </>
        ),
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
      { name: 'Sent', cell: ({ createdAt }) => <Time at={createdAt} /> },
      { name: 'Reference', cell: ({ reference }) => reference },
    ]}
  />
);
