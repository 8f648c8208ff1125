import type { Command } from '../../domain/events.js';
import type { MadeHook } from '../../domain/hook.js';
import { piecesFrom } from '../../domain/hook-message.js';
import type { Uuid } from '../../domain/ids.js';
import type { TemplatePiece } from '../../domain/template.js';
import type { PlaceOrderDeps } from '../cards/place-order.js';
import { previewSend, type SendPreview } from '../cards/preview.js';
import { composeHook, type HookRequest } from './fire-hook.js';

/** The result that a call would have. Nothing was sent, spent or recorded. */
export interface HookPreview extends SendPreview {
  /** The template in pieces, of which some may lack a value; null if nothing is filled in. */
  readonly pieces: readonly TemplatePiece[] | null;
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
  const sent = { org, command, source: { kind: 'hook', id }, idempotency: null } as const;
  return {
    ...(await previewSend(deps, sent, draft)),
    pieces: sources === null || template === null ? null : piecesFrom(template, sources),
  };
};
