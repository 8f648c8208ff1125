import type { ArrivalWindow } from '../../domain/calendar.js';
import { DomainError, type Captured } from '../../domain/errors.js';
import type { OrganizationId } from '../../domain/ids.js';
import { layOut } from '../../domain/letter-layout.js';
import type { Recipient } from '../../domain/recipient.js';
import { organizationOf } from '../organizations/administer.js';
import type { WriteDeps } from '../writing/execute.js';
import {
  designFor,
  handNamed,
  placeOrder,
  type CardDraft,
  type PlaceOrderDeps,
  type SendRequest,
} from './place-order.js';

/**
 * Lays a message out in a handwriting, or in the house hand for null, and finds the design unless it is left
 * out; `hand` is the canonical name. Nothing is sent, spent or recorded. Throws `not_found`,
 * `unknown_handwriting`, `design_not_found`, `no_design_available`, EventStoreUnavailable.
 */
export const previewCard = async (
  { streams }: Pick<WriteDeps, 'streams'>,
  org: OrganizationId,
  message: string,
  wanted: string | null,
  designId?: string | null,
) => {
  const owner = await organizationOf({ streams }, org);
  const hand = wanted === null ? owner.houseHand : await handNamed(streams, wanted);
  const design = designId === undefined ? null : await designFor(streams, org, owner, designId);
  return { hand, layout: layOut(message, hand), design };
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
