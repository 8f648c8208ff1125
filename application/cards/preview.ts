import type { ArrivalWindow } from '../../domain/calendar.js';
import { handwriting, handwritingId, offeredHand } from '../../domain/catalogue.js';
import { DomainError, type Captured } from '../../domain/errors.js';
import type { OrganizationId } from '../../domain/ids.js';
import { layOut, type Layout } from '../../domain/letter-layout.js';
import type { Recipient } from '../../domain/recipient.js';
import { organizationOf } from '../organizations/administer.js';
import type { WriteDeps } from '../writing/execute.js';
import { lookUp, placeOrder, type CardDraft, type PlaceOrderDeps, type SendRequest } from './place-order.js';

/** The layout of a message on the card. Nothing was sent, spent or recorded. */
export interface LetterPreview extends Layout {
  /** The canonical name of the handwriting. */
  readonly hand: string;
}

/**
 * Lays a message out in a handwriting, or in the house hand for null. Throws `not_found`,
 * `unknown_handwriting`, EventStoreUnavailable.
 */
export const previewLetter = async (
  deps: Pick<WriteDeps, 'streams'>,
  org: OrganizationId,
  message: string,
  wanted: string | null,
): Promise<LetterPreview> => {
  const { houseHand } = await organizationOf(deps, org);
  const load = (id: string) => deps.streams.load(handwriting, id);
  const hand = wanted === null ? houseHand : offeredHand(await lookUp(handwritingId(wanted), load), wanted);
  return { hand, ...layOut(message, hand) };
};

/** The result that sending a card would have. Nothing was sent, spent or recorded. */
export interface SendPreview {
  /** Null if no card can have it. */
  readonly message: string | null;
  readonly recipient: Recipient | null;
  /** The refusal that a send would get; null if none. Credits are not checked. */
  readonly refusal: DomainError | null;
  /** Why it would be held; null if it wouldn't be. */
  readonly heldReason: string | null;
  readonly window: ArrivalWindow | null;
}

const orNull = <T>(field: Captured<T>): T | null => ('value' in field ? field.value : null);

/** Previews a send, with the functions of a send. Throws EventStoreUnavailable. */
export const previewSend = async (
  deps: PlaceOrderDeps,
  request: Omit<SendRequest, 'draft'>,
  draft: CardDraft,
): Promise<SendPreview> => {
  const shown = { message: orNull(draft.message), recipient: orNull(draft.recipient) };
  try {
    const seen = { owner: await deps.organizations.read(request.org), isRemembered: false };
    const { event } = await placeOrder(deps, { ...request, draft: () => draft }, draft, seen);
    const heldReason = event.type === 'CardHeld' ? event.data.reason : null;
    return { ...shown, refusal: null, heldReason, window: event.data.order?.window ?? null };
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    return { ...shown, refusal: error, heldReason: null, window: null };
  }
};
