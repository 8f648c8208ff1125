import { today } from '../domain/calendar.js';
import { contact, contactIdOf, contactVariables, type Contact } from '../domain/contact.js';
import { capture, type Captured } from '../domain/errors.js';
import type { Command } from '../domain/events.js';
import { activeHook, hook, hookIdOf, type Hook, type MadeHook } from '../domain/hook.js';
import { messageFrom, type TemplateSources } from '../domain/hook-message.js';
import type { OrganizationId, Uuid } from '../domain/ids.js';
import { readMessage } from '../domain/message.js';
import type { CardDraft, CardFields } from './place-order.js';
import { sendCard, type SendCardDeps, type SentCard } from './send-card.js';
import type { Streams } from './streams.js';

/** The hook that a token belongs to. */
export interface OpenedHook {
  readonly id: Uuid;
  readonly hook: Hook;
}

/** What a payload asks for. */
export interface HookRequest extends Pick<TemplateSources, 'payload' | 'firstName' | 'lastName'> {
  readonly card: CardFields;
  /** If it has none, the message is made from the hook's template, if there is one. */
  readonly hasMessage: boolean;
  /** Lower-cased and trimmed, for the do-not-mail list; null if none was sent. */
  readonly email: string | null;
  /** The contact whose company, job title and years the template may use; null if none was sent. */
  readonly externalId: string | null;
}

/** Looks up the hook whose id is derived from the token. Throws EventStoreUnavailable. */
export const openHook = async (streams: Streams, token: string): Promise<OpenedHook> => {
  const id = hookIdOf(token);
  return { id, hook: (await streams.load(hook, id)).state };
};

/**
 * Sends the card that a payload asks for. The hook is loaded again, because it may have been paused or
 * deleted while the body was on its way. Throws `invalid_hook`, `hook_disabled`, and what `sendCard` throws.
 * (docs/contract.md#sending-through-a-hook)
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
    draft: () => draftOf(deps, fired, request, command),
  });
};

const draftOf = async (
  { streams, planning }: SendCardDeps,
  fired: MadeHook,
  { card, hasMessage, email, externalId, ...sent }: HookRequest,
  command: Command,
): Promise<CardDraft> => {
  const known = externalId === null ? null : await contactOf(streams, fired.org, externalId);
  const message = (): Captured<string> => {
    const { template, signedBy } = fired;
    const { recipient } = card;
    if (hasMessage || template === null || 'refusal' in recipient) return card.message;
    const variables =
      known === null || known.details === null
        ? {}
        : contactVariables(known.details, today(command.at, planning.timeZone));
    const sources = { ...sent, recipient: recipient.value, senderName: signedBy, contact: variables };
    return capture(() => readMessage(messageFrom(template, sources)));
  };
  const designId =
    'value' in card.designId && card.designId.value === null ? { value: fired.design } : card.designId;
  return { ...card, message: message(), designId, email, contact: known?.id ?? null };
};

const contactOf = async (
  streams: Streams,
  org: OrganizationId,
  externalId: string,
): Promise<(Exclude<Contact, null> & { readonly id: Uuid }) | null> => {
  const id = contactIdOf(org, externalId);
  const { state } = await streams.load(contact, id);
  return state === null ? null : { id, ...state };
};
