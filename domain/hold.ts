import { penReason, unwritable } from './pen.js';
import { doesNotFit, unwritableInAddress, type Recipient } from './recipient.js';

/**
 * Why a card needs a person before it can be made, in plain words; null if it doesn't. (decision 14:
 * characters beyond the pen; decision 15: how long an address may be)
 */
export const reasonToHold = (card: {
  readonly recipient: Recipient;
  readonly message: string;
  readonly doNotMail: boolean;
}): string | null => {
  const inMessage = unwritable(card.message, { lineFeed: true });
  const inAddress = unwritableInAddress(card.recipient);
  const reasons = [
    card.doNotMail ? 'The recipient is on the do-not-mail list' : null,
    inAddress.length > 0 ? penReason(inAddress, 'address') : null,
    inMessage.length > 0 ? penReason(inMessage, 'message') : null,
    doesNotFit(card.recipient),
  ].filter((reason) => reason !== null);
  return reasons.length === 0 ? null : reasons.join('. ');
};
