import type { ComponentProps } from 'preact';
import { addressLines } from '../../../domain/recipient.js';
import type { CardDocument } from '../../../projections/cards.js';
import type { OrganizationDocument } from '../../../projections/organizations.js';
import { Envelope, Letter } from '../web/letter.js';
import { Cover, type CoverProps, Day, Panel, Table, Time } from '../web/parts.js';
import type { Html } from '../web/prose.js';
import { CardLink, gone, Status } from './card-words.js';

interface PieceProps {
  /** Null if there is no design. */
  readonly front: CoverProps | null;
  readonly inside: Html;
  readonly envelope: Html;
}

const Part = ({ id, title, children }: ComponentProps<typeof Panel>) => (
  <section aria-labelledby={id}>
    <h3 class="small" id={id}>
      {title}
    </h3>
    {children}
  </section>
);

/** The parts of a card, as large as they are beside each other: its front, its inside and its envelope. */
export const Piece = ({ front, inside, envelope }: PieceProps) => (
  <div class="piece">
    <Part id="front" title="Front">
      {front === null ? <p class="letter">No design yet.</p> : <Cover {...front} size="preview" />}
    </Part>
    <Part id="inside" title="Inside">
      {inside}
    </Part>
    <Part id="envelope" title="Envelope">
      {envelope}
    </Part>
  </div>
);

interface SentProps extends Pick<CoverProps, 'artwork' | 'isErased'> {
  readonly card: CardDocument;
  /** Null if it was erased. */
  readonly message: string | null;
  readonly design: string;
}

/** The parts of a card that was sent. */
export const SentPiece = ({ card, message, design, ...picture }: SentProps) => {
  const { handwriting: hand, recipient } = card;
  return (
    <Panel id="piece" title="The card">
      <p class="quiet small">Written by a pen in {hand}.</p>
      <Piece
        front={{ title: design, ...picture }}
        inside={
          message === null ? (
            <p class="letter">The message is {gone(card.erasedAt)}.</p>
          ) : (
            <Letter message={message} hand={hand} />
          )
        }
        envelope={
          recipient === null ? (
            <p class="letter">The address is {gone(card.erasedAt)}.</p>
          ) : (
            <Envelope hand={hand} lines={addressLines(recipient)} />
          )
        }
      />
    </Panel>
  );
};

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
  /** Takes the place of a table without cards. */
  readonly children: Html;
}

/** To whom a card goes, in a line. */
export const addressee = ({ recipient, erasedAt }: CardDocument): string =>
  recipient === null ? gone(erasedAt) : `${recipient.name}, ${recipient.city} ${recipient.state}`;

export const CardsTable = ({ cards, owner, children }: Props) => (
  <Table
    label="Cards"
    rows={cards}
    columns={{
      Card: (card) => (
        <>
          <SmallFront card={card} owner={owner} /> <CardLink code={card.code} />
        </>
      ),
      To: addressee,
      Status: ({ status }) => <Status status={status} />,
      Arrives: ({ window }) => (
        <>
          <Day day={window.earliest} /> – <Day day={window.latest} />
        </>
      ),
      Sent: ({ createdAt }) => <Time at={createdAt} />,
      Reference: ({ reference }) => reference,
    }}
  >
    {children}
  </Table>
);
