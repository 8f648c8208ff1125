import { cardStatuses, steps, type CardStatus } from '../../../../domain/card.js';
import { Call } from '../code.js';
import { grid, part } from '../text.js';
import type { Guide } from '../page.js';

const meanings: Readonly<Record<CardStatus, readonly [means: string, cancel: string]>> = {
  pending: ['Accepted and paid for; production begins later.', 'Yes, the credit comes back.'],
  queued: ['Production begins as soon as there is room.', 'Yes, the credit comes back.'],
  blocked: ['A person has to look at it; `held_reason` says why.', 'Yes, nothing was charged.'],
  in_production: ['On the machines.', 'No.'],
  written: ['The pen has finished card and envelope.', 'No.'],
  packed: ['In its envelope, with a stamp.', 'No.'],
  posted: ['Handed to the carrier. The last status of a card that was mailed.', 'No.'],
  cancelled: ['Stopped before it was made.', 'It is.'],
  failed: ['Spoiled in production; its credit came back.', 'There is nothing to cancel.'],
};

const doings: Readonly<Record<(typeof steps)[number], string>> = {
  card_stock_prepared: 'The printed card is laid out.',
  card_written: 'The pen writes the message.',
  envelope_addressed: 'The pen writes the address.',
  packed: 'The card goes into its envelope.',
  stamped: 'The stamp goes on.',
  posted: 'The carrier takes it; `mailed_at` is set.',
};

export const cards: Guide = ({ baseUrl }) => [
  part(
    'arrival',
    'When a card arrives',
    '`arrives_between` is a window of four or five days that ends on the arrive-by date: the `arrive_on` that you sent, or the earliest possible date. It is a window and never a promise.',
    'Making a card takes business days, mailing it calendar days; the earliest possible date is never a Sunday or a postal holiday. A date that is too soon is refused with [`invalid_date`](/docs/errors/invalid_date), and the message gives the earliest possible one.',
  ),
  part(
    'states',
    'States',
    '`status` of a card that you look up. On the response to a send, `pending` is called `scheduled` and `blocked` is called `held`; both words also work as filters.',
    grid(
      'States of a card',
      ['Status', 'Means', 'Can be cancelled'],
      cardStatuses.map((status) => [`\`${status}\``, ...meanings[status]]),
    ),
    <Call name="list" url={`${baseUrl}/api/v1/cards?status=pending`} />,
  ),
  part(
    'steps',
    'Steps',
    'A card that you look up has six `steps`, always in this order. Each is `pending`, `in_progress`, `completed` or `failed`; a failed step is tried again.',
    grid(
      'Steps of production',
      ['Step', 'What is done'],
      steps.map((step) => [`\`${step}\``, doings[step]]),
    ),
  ),
  part(
    'held-cards',
    'Cards that wait for a person',
    "Some valid requests need a person before the card is written: the pen can't write some of the characters, a line does not fit on the envelope, a part of the address was not filled in, the message does not fit on the card, or the recipient is on your do-not-mail list. The response is still a 201. Its status is `held`, `held_reason` says why in plain words, and nothing is charged.",
    'When the card is released, one credit is spent; when you cancel it, there is nothing to refund. `POST /api/v1/previews` shows beforehand whether a message fits, and what the card will look like.',
  ),
  part(
    'cancelling',
    'Cancelling',
    'Until it reaches a machine. A repeat is answered with 200, too, and gives back nothing: its `credits_refunded` is 0.',
    <Call name="cancel" method="DELETE" url={`${baseUrl}/api/v1/cards/$CARD`} />,
    'Afterwards it is a 409, [`too_late_to_cancel`](/docs/errors/too_late_to_cancel), and the message says where the card is. A later `arrive_on` leaves more time.',
  ),
];
