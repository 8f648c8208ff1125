import { today } from '../../domain/calendar.js';
import { contactVariables } from '../../domain/contact.js';
import { emailIn } from '../../domain/email.js';
import { capture, type Captured } from '../../domain/errors.js';
import type { Command } from '../../domain/events.js';
import { activeHook, hook, hookIdOf, type Hook, type MadeHook } from '../../domain/hook.js';
import { messageFrom, piecesFrom, type TemplatePiece, type TemplateSources } from '../../domain/template.js';
import type { Uuid } from '../../domain/ids.js';
import { readMessage } from '../../domain/message.js';
import { contactWith } from '../contacts/save-contact.js';
import type { CardDraft, CardFields, PlaceOrderDeps } from '../cards/place-order.js';
import { previewSend, type SendPreview } from '../cards/preview.js';
import { sendCard, type SendCardDeps, type SentCard } from '../cards/send-card.js';
import type { Streams } from '../writing/streams.js';

export interface HookRequest extends Pick<TemplateSources, 'payload' | 'firstName' | 'lastName'> {
  readonly card: CardFields;
  /** If it has none, the message is made from the hook's template, if there is one. */
  readonly hasMessage: boolean;
  /** For the do-not-mail list; null if none was sent: then the contact's counts. */
  readonly email: Captured<string | null>;
  /** The contact whose email counts, and whose company, job title and years the template may use. */
  readonly externalId: string | null;
}

/** Looks up the hook that a token belongs to. Throws EventStoreUnavailable. */
export const openHook = async (
  streams: Streams,
  token: string,
): Promise<{ readonly id: Uuid; readonly hook: Hook }> => {
  const id = hookIdOf(token);
  return { id, hook: (await streams.load(hook, id)).state };
};

/**
 * Sends the card that a payload asks for. The hook is loaded again, because it may have been paused or
 * deleted while the body was on its way. Throws `invalid_hook`, `hook_disabled`, and the errors of
 * `sendCard`. (docs/contract.md#sending-through-a-hook)
 */
export const fireHook = async (
  deps: SendCardDeps,
  id: Uuid,
  request: HookRequest,
  commandOf: (hook: MadeHook) => Command,
): Promise<SentCard> => {
  const fired = activeHook((await deps.streams.load(hook, id)).state);
  const command = commandOf(fired);
  return sendCard(deps, {
    org: fired.org,
    command,
    source: { kind: 'hook', id },
    idempotency: null,
    draft: async () => (await composeHook(deps, fired, request, command)).draft,
  });
};

/**
 * Composes a hook's card, for a call and for a preview of one. `sources`: of the template's values; null if
 * nothing is filled in, because the payload has a message, or its recipient is refused.
 */
const composeHook = async (
  { streams, planning }: Pick<SendCardDeps, 'streams' | 'planning'>,
  { org, template, signedBy, design }: Omit<MadeHook, 'status' | 'label'>,
  { card, hasMessage, email: sentEmail, externalId, ...sent }: HookRequest,
  { at }: Pick<Command, 'at'>,
) => {
  const known = externalId === null ? null : await contactWith(streams, org, externalId);
  const details = known?.details ?? null;
  const contact = details === null ? {} : contactVariables(details, today(at, planning.timeZone));
  const { recipient } = card;
  const sources =
    hasMessage || 'refusal' in recipient
      ? null
      : { ...sent, recipient: recipient.value, senderName: signedBy, contact };
  const message =
    sources === null || template === null
      ? card.message
      : capture(() => readMessage(messageFrom(template, sources)));
  const designId =
    'value' in card.designId && card.designId.value === null ? { value: design } : card.designId;
  const isLost = known !== null && details === null && known.erasedAt === null;
  const ownEmail = isLost ? 'lost' : emailIn(details?.email);
  const email = 'value' in sentEmail && sentEmail.value === null ? ownEmail : sentEmail;
  const draft: CardDraft = { ...card, message, designId, email, contact: known?.id ?? null };
  return { draft, sources };
};

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
