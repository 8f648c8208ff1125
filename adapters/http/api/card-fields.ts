import type { CardFields } from '../../../application/cards/place-order.js';
import { readArriveOn } from '../../../domain/calendar.js';
import { maxReferenceLength, readReference } from '../../../domain/card.js';
import { maxMessageLength, readMessage } from '../../../domain/message.js';
import {
  addressPart,
  maxLineLength,
  maxNameLength,
  readCountry,
  readState,
  readZip,
  withinUs,
  type SentCountry,
} from '../../../domain/recipient.js';
import { capture, unwrap } from '../../../domain/errors.js';
import { optionalText, annotations, text } from '../schema/fields.js';
import { parseFields } from '../schema/read.js';
import * as shown from '../schema/shown.js';

/** The country of an address. It may be left out: cards are mailed inside the US only. */
export const country = optionalText(
  'Cards are mailed inside the US only: US, USA or United States, in any case; or PR, GU, VI, AS or MP, which is then the state. Omit it for US.',
  'US',
  { rule: readCountry },
).transform((value): SentCountry => value ?? 'US');

export const exampleRecipient = {
  name: 'Ada Lovelace',
  line1: '12 Analytical Way',
  city: 'Springfield',
  state: 'IL',
  zip: '62701',
};
export const exampleMessage = 'Thank you for everything, Ada.';

const recipient = shown.component(
  'RecipientInput',
  'To whom the card is mailed: one address in the US.',
  {
    name: text(
      `The addressee, as on the envelope. Over ${maxNameLength} characters: the card is held.`,
      exampleRecipient.name,
      { rule: addressPart },
    ),
    line1: text(`Street line. Over ${maxLineLength} characters: the card is held.`, exampleRecipient.line1, {
      rule: addressPart,
    }),
    line2: optionalText(
      `Apartment, suite, floor, unit. Over ${maxLineLength} characters: the card is held.`,
      'Apt 4',
      { rule: addressPart },
    ),
    city: text(
      `The city. Over ${maxLineLength} characters with state and ZIP code: the card is held.`,
      exampleRecipient.city,
      { rule: addressPart },
    ),
    state: text('Two-letter US state code, in any case.', exampleRecipient.state, { rule: readState }),
    zip: text('Five digits, optionally with +4; a string, since leading zeros count.', exampleRecipient.zip, {
      hint: 'a string such as "62701" (a number loses its leading zeros)',
      examples: [exampleRecipient.zip, '62701-1234'],
      rule: readZip,
    }),
    country,
  },
  annotations({ code: 'invalid_recipient', hint: 'one address as an object (one card per request)' }),
);

/**
 * The fields of a new card, in the order in which refusals are reported. They are the body of POST
 * /api/v1/cards, and hooks find each of them in their payloads. (decision 2: of several wrong fields, one is
 * reported)
 */
export const newCard = shown.component(
  'CardInput',
  'A card to be sent.',
  {
    recipient,
    message: text(
      `Finished text, at most ${maxMessageLength} characters; line breaks are kept. If it takes more lines than the card has room for, the card is held. Text that still contains a merge field is refused: \`broken_merge_field\`.`,
      exampleMessage,
      {
        code: 'missing_message',
        codes: ['missing_message', 'message_too_long', 'broken_merge_field'],
        blank: 'refused',
        rule: readMessage,
      },
    ),
    arrive_on: optionalText(
      'Arrive-by date, YYYY-MM-DD. Omit it for the earliest possible date.',
      '2030-06-14',
      { code: 'invalid_date', blank: 'refused', format: 'date', rule: readArriveOn },
    ),
    handwriting: optionalText(
      "Name of a handwriting, case-insensitive. Omit it for the organization's house hand.",
      'Everyday',
      { code: 'unknown_handwriting', blank: 'refused' },
    ),
    reference: optionalText(
      `Free text, returned with the card; cut at ${maxReferenceLength} characters. Does not deduplicate.`,
      'order-1001',
      { number: 'text', rule: readReference },
    ),
    design_id: optionalText(
      'Id of a saved design, or `card:<slug>` of a card in the public collection. Omit it for the most recently saved design.',
      'card:thank-you-botanical',
      {
        code: 'design_not_found',
        codes: ['design_not_found', 'no_design_available', 'too_many_designs'],
        blank: 'refused',
      },
    ),
  },
  { examples: [{ recipient: exampleRecipient, message: exampleMessage, reference: 'order-1001' }] },
);

/** Reads the fields of a new card, wherever they were sent. */
export const readCardFields = (body: Readonly<Record<string, unknown>>): CardFields => {
  const fields = parseFields(newCard, body);
  return {
    recipient: capture(() => withinUs(unwrap(fields.recipient), 'recipient')),
    message: fields.message,
    arriveOn: fields.arrive_on,
    handwriting: fields.handwriting,
    designId: fields.design_id,
    reference: fields.reference,
  };
};
