import { DomainError } from '../../domain/errors.js';
import type { Command } from '../../domain/events.js';
import type { MadeHook } from '../../domain/hook.js';
import { piecesFrom } from '../../domain/hook-message.js';
import type { Uuid } from '../../domain/ids.js';
import type { TemplatePiece } from '../../domain/template.js';
import { composeHook, type HookRequest } from './fire-hook.js';
import { placeOrder, type PlaceOrderDeps } from '../cards/place-order.js';

/** The result that a call would have. Nothing was sent, spent or recorded. */
export interface HookPreview {
  /** The message as it would be written; null if there is none. */
  readonly message: string | null;
  /** The template in pieces, of which some may lack a value; null if nothing is filled in. */
  readonly pieces: readonly TemplatePiece[] | null;
  /** The refusal that the caller would get; null if the card would be accepted. */
  readonly refusal: DomainError | null;
  /** Why the card would be held; null if it wouldn't be. */
  readonly heldReason: string | null;
}

/**
 * Previews a call of a hook with these settings and a payload, with the functions of a call. Credits are not
 * checked. Throws EventStoreUnavailable.
 */
export const previewHook = async (
  deps: PlaceOrderDeps,
  id: Uuid,
  settings: Omit<MadeHook, 'status' | 'label'>,
  request: HookRequest,
  command: Command,
): Promise<HookPreview> => {
  const { org, template } = settings;
  const { draft, sources } = await composeHook(deps, settings, request, command);
  const made = {
    message: 'value' in draft.message ? draft.message.value : null,
    pieces: sources === null || template === null ? null : piecesFrom(template, sources),
  };
  const sent = { org, command, source: { kind: 'hook', id }, idempotency: null, draft: () => draft } as const;
  try {
    const seen = { owner: await deps.organizations.read(org), isRemembered: false };
    const { event } = await placeOrder(deps, sent, draft, seen);
    return { ...made, refusal: null, heldReason: event.type === 'CardHeld' ? event.data.reason : null };
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    return { ...made, refusal: error, heldReason: null };
  }
};
