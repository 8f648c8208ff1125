import { today } from '../domain/calendar.js';
import { readCardFields } from '../domain/card-fields.js';
import { contact, contactIdOf, contactVariables, type Contact } from '../domain/contact.js';
import { capture, type Captured } from '../domain/errors.js';
import type { Command } from '../domain/events.js';
import { activeHook, hook, hookIdOf, type Hook, type MadeHook } from '../domain/hook.js';
import { messageFrom, readHookPayload, type HookPayload } from '../domain/hook-payload.js';
import type { Uuid } from '../domain/ids.js';
import { parseMessage } from '../domain/message.js';
import type { Payload } from '../domain/template.js';
import type { CardDraft } from './place-order.js';
import { sendCard, type SendCardDeps, type SentCard } from './send-card.js';
import type { Streams } from './streams.js';

/** A hook as its token opens it. */
export interface OpenedHook {
  readonly id: Uuid;
  readonly hook: Hook;
}

/** Looks a hook up by its token: by the stream that its hash names. Throws EventStoreUnavailable. */
export const openHook = async (streams: Streams, token: string): Promise<OpenedHook> => {
  const id = hookIdOf(token);
  return { id, hook: (await streams.load(hook, id)).state };
};

/**
 * Sends the card that a payload asks for. The hook is looked at again: it may have been paused or deleted
 * while the body was on its way. Throws `invalid_hook`, `hook_disabled`, and as sendCard. (spec: POST
 * /api/v1/hooks/{token}; decisions 46–49)
 */
export const fireHook = async (
  deps: SendCardDeps,
  id: Uuid,
  payload: Payload,
  commandOf: (hook: MadeHook) => Command,
): Promise<SentCard> => {
  const fired = activeHook((await deps.streams.load(hook, id)).state);
  const command = commandOf(fired);
  return sendCard(deps, {
    org: fired.org,
    command,
    source: { kind: 'hook', id },
    idempotency: null,
    draft: () => draftOf(deps, fired, readHookPayload(payload), command),
  });
};

const draftOf = async (
  { streams, planning }: SendCardDeps,
  fired: MadeHook,
  sent: HookPayload,
  command: Command,
): Promise<CardDraft> => {
  const fields = readCardFields({ ...sent.card, design_id: sent.card.design_id ?? fired.design });
  const known = await contactOf(streams, fired, sent);
  const message = (): Captured<string> => {
    const { template, signedBy } = fired;
    const { recipient } = fields;
    if (sent.card.message !== undefined || template === null || 'refusal' in recipient) return fields.message;
    const variables =
      known === null ? {} : contactVariables(known.details, today(command.at, planning.timeZone));
    return capture(() =>
      parseMessage(
        messageFrom(template, sent, { recipient: recipient.value, senderName: signedBy, contact: variables }),
      ),
    );
  };
  return { ...fields, message: message(), email: sent.email, contact: known?.id ?? null };
};

const contactOf = async (
  streams: Streams,
  { org }: MadeHook,
  { externalId }: HookPayload,
): Promise<(Exclude<Contact, null> & { readonly id: Uuid }) | null> => {
  if (externalId === null) return null;
  const id = contactIdOf(org, externalId);
  const { state } = await streams.load(contact, id);
  return state === null ? null : { id, ...state };
};
