import { fewestLines, maxLines } from './letter-layout.js';
import { penReason, unwritable } from './pen.js';
import { doesNotFit, notFilledIn, unwritableInAddress, type Recipient } from './recipient.js';

/**
 * Why a message doesn't fit the card in its handwriting; null if it does. (decision 65: a message that
 * doesn't fit)
 */
const tooManyLines = (message: string, handwriting: string): string | null => {
  const lines = fewestLines(message, handwriting);
  return lines <= maxLines
    ? null
    : `The message takes ${lines} lines in this handwriting; the card has room for ${maxLines}. Cancel the card and send it again with a shorter message, or wait for a person`;
};

const optOuts = {
  listed: 'The recipient is on the do-not-mail list',
  unclear: 'The recipient’s email is no single address, so the do-not-mail list can’t be asked about it',
  lost: 'The contact’s email can’t be read any more, so the do-not-mail list can’t be asked about it',
};
/** The result of the do-not-mail list: it can't be asked about an email that is `unclear` or `lost`. */
export type OptOut = keyof typeof optOuts;

/**
 * Why a card needs a person before it can be made, in plain words; null if it doesn't. (decision 14:
 * characters beyond the pen; decision 15: how long an address may be; decision 65: a message that doesn't
 * fit)
 */
export const reasonToHold = (card: {
  readonly recipient: Recipient;
  readonly message: string;
  readonly handwriting: string;
  readonly doNotMail: OptOut | null;
}): string | null => {
  const inMessage = unwritable(card.message, { lineFeed: true });
  const inAddress = unwritableInAddress(card.recipient);
  const reasons = [
    card.doNotMail && optOuts[card.doNotMail],
    notFilledIn(card.recipient),
    inAddress.length > 0 ? penReason(inAddress, 'address') : null,
    inMessage.length > 0 ? penReason(inMessage, 'message') : null,
    doesNotFit(card.recipient),
    tooManyLines(card.message, card.handwriting),
  ].filter((reason) => reason !== null);
  return reasons.length === 0 ? null : reasons.join('. ');
};
