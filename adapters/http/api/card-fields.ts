import { z } from 'zod';
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
import { optionalText, annotations, text, textOr } from '../schema/fields.js';

import { parseFields } from '../schema/read.js';

/** The country of an address. It may be left out: cards are mailed inside the US only. */
export const country = textOr<SentCountry>(
  'US',
  {
    description:
      'Cards are mailed inside the US only: US, USA or United States, in any case; or PR, GU, VI, AS or MP, which is then the state. Omit it for US.',
    examples: ['US'],
  },
  readCountry,
);

export const exampleRecipient = {
  name: 'Ada Lovelace',
  line1: '12 Analytical Way',
  city: 'Springfield',
  state: 'IL',
  zip: '62701',
};
export const exampleMessage = 'Thank you for everything, Ada.';

const recipient = z
  .object({
    name: text(
      {
        description: `The addressee, as on the envelope. Over ${maxNameLength} characters: the card is held.`,
        examples: [exampleRecipient.name],
      },
      addressPart,
    ),
    line1: text(
      {
        description: `Street line. Over ${maxLineLength} characters: the card is held.`,
        examples: [exampleRecipient.line1],
      },
      addressPart,
    ),
    line2: optionalText(
      {
        description: `Apartment, suite, floor, unit. Over ${maxLineLength} characters: the card is held.`,
        examples: ['Apt 4'],
      },
      addressPart,
    ),
    city: text({ description: 'The city.', examples: [exampleRecipient.city] }, addressPart),
    state: text(
      {
        description: 'Two-letter US state code, in any case.',
        examples: [exampleRecipient.state],
      },
      readState,
    ),
    zip: text(
      {
        hint: 'a string such as "62701" (a number loses its leading zeros)',
        description: 'Five digits, optionally with +4; a string, since leading zeros count.',
        examples: [exampleRecipient.zip, '62701-1234'],
      },
      readZip,
    ),
    country,
  })
  .meta({
    id: 'RecipientInput',
    description: 'To whom the card is mailed: one address in the US.',
    ...annotations({ code: 'invalid_recipient', hint: 'one address as an object (one card per request)' }),
  });

/**
 * The fields of a new card, in the order in which refusals are reported. They are the body of POST
 * /api/v1/cards, and hooks find each of them in their payloads. (decision 2: of several wrong fields, one is
 * reported)
 */
export const newCard = z
  .object({
    recipient,
    message: text(
      {
        code: 'missing_message',
        codes: ['missing_message', 'message_too_long', 'broken_merge_field'],
        blank: 'refused',
        description: `Finished text, at most ${maxMessageLength} characters; line breaks are kept. If it takes more lines than the card has room for, the card is held. Text that still contains a merge field is refused: \`broken_merge_field\`.`,
        examples: [exampleMessage],
      },
      readMessage,
    ),
    arrive_on: optionalText(
      {
        code: 'invalid_date',
        blank: 'refused',
        format: 'date',
        description: 'Arrive-by date, YYYY-MM-DD. Omit it for the earliest possible date.',
        examples: ['2030-06-14'],
      },
      readArriveOn,
    ),
    handwriting: optionalText({
      code: 'unknown_handwriting',
      blank: 'refused',
      description: "Name of a handwriting, case-insensitive. Omit it for the organization's house hand.",
      examples: ['Everyday'],
    }),
    reference: optionalText(
      {
        number: 'text',
        description: `Free text, returned with the card; cut at ${maxReferenceLength} characters. Does not deduplicate.`,
        examples: ['order-1001'],
      },
      readReference,
    ),
    design_id: optionalText({
      code: 'design_not_found',
      codes: ['design_not_found', 'no_design_available', 'too_many_designs'],
      blank: 'refused',
      description:
        'Id of a saved design, or `card:<slug>` of a card in the public collection. Omit it for the most recently saved design.',
      examples: ['card:thank-you-botanical'],
    }),
  })
  .meta({
    id: 'CardInput',
    description: 'A card to be sent.',
    examples: [{ recipient: exampleRecipient, message: exampleMessage, reference: 'order-1001' }],
  });

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
