import { isPlainObject } from './plain-object.js';
import { fillIn, lookUp, ownProperty, scalarText, type Payload } from './template.js';
import { clean } from './text.js';

const isBlank = (value: unknown): boolean =>
  value === undefined || value === null || (typeof value === 'string' && clean(value) === '');

/**
 * The first of the values that is not blank; undefined where all are. A value of the wrong type is not blank:
 * it is refused later, not passed over.
 */
const firstFilled = (...values: readonly unknown[]): unknown => values.find((value) => !isBlank(value));

/** The recipient's fields and their aliases. (spec: POST /api/v1/hooks/{token}) */
const recipientFields = [
  ['line1', 'address1'],
  ['line2', 'address2'],
  ['city'],
  ['state'],
  ['zip', 'postal_code'],
  ['country'],
] as const;

/**
 * What a hook's payload asks for. `card` holds the fields as POST /api/v1/cards takes them, blanks left out.
 * (decisions 8, 47)
 */
export interface HookPayload {
  readonly card: {
    /**
     * An object with canonical field names; or what was sent instead of an object, for the card's rules to
     * refuse.
     */
    readonly recipient: unknown;
    /** Undefined: the template is wanted. */
    readonly message: unknown;
    readonly handwriting: unknown;
    readonly design_id: unknown;
    readonly arrive_on: unknown;
    readonly reference: unknown;
  };
  /** Lower-cased and trimmed, for the do-not-mail list; null where none was sent. */
  readonly email: string | null;
  /** The contact whose company, job title and years the template may use; null where none was sent. */
  readonly externalId: string | null;
  /** The first name, where the recipient's name was joined from it. */
  readonly firstName: string | null;
  readonly lastName: string | null;
  readonly payload: Payload;
}

/**
 * Reads what a form tool or a shop posts to a hook. Refuses nothing: the card's own rules do, in their order.
 */
export const readHookPayload = (payload: Payload): HookPayload => {
  const sent = ownProperty(payload, 'recipient');
  const nested = isPlainObject(sent) ? sent : {};
  const pick = (...names: readonly string[]): unknown =>
    firstFilled(
      ...names.map((name) => ownProperty(nested, name)),
      ...names.map((name) => ownProperty(payload, name)),
    );
  const [whole, first, last] = [pick('name'), pick('first_name'), pick('last_name')];
  const joined = whole === undefined && typeof first === 'string' && typeof last === 'string';
  const recipient = {
    name: joined ? `${first.trim()} ${last.trim()}` : (whole ?? wrongType(first) ?? wrongType(last)),
    ...Object.fromEntries(recipientFields.map((names) => [names[0], pick(...names)])),
  };
  return {
    card: {
      recipient: sent === undefined || sent === null || isPlainObject(sent) ? recipient : sent,
      message: firstFilled(ownProperty(payload, 'message')),
      handwriting: firstFilled(ownProperty(payload, 'handwriting')),
      design_id: firstFilled(ownProperty(payload, 'design_id')),
      arrive_on: firstFilled(ownProperty(payload, 'arrive_on')),
      reference: firstFilled(ownProperty(payload, 'reference'), ownProperty(payload, 'id')),
    },
    email: scalarText(pick('email'))?.toLowerCase() ?? null,
    externalId: scalarText(firstFilled(ownProperty(payload, 'external_id'))),
    firstName: joined ? first.trim() : null,
    lastName: scalarText(last),
    payload,
  };
};

/** A name of the wrong type stands for the name, so that it is refused as one. */
const wrongType = (value: unknown): unknown => (typeof value === 'string' ? undefined : value);

/** What a template may take from outside the payload. */
export interface TemplateContext {
  /** The recipient as the card will carry it. */
  readonly recipient: { readonly name: string } & Readonly<Record<string, string | null>>;
  /** The hook's Signed by setting. */
  readonly senderName: string | null;
  /** `company`, `job_title` and `years` of the contact, where there is one. */
  readonly contact: Readonly<Record<string, string | null>>;
}

const firstWord = (name: string): string => name.trim().split(/\s+/u)[0] ?? name;

/**
 * The message that a hook's template makes of a payload. Throws `template_incomplete`, `message_too_long`.
 * (decision 48)
 */
export const messageFrom = (
  template: string,
  sent: HookPayload,
  { recipient, senderName, contact }: TemplateContext,
): string =>
  fillIn(template, (name) => {
    switch (name) {
      case 'full_name':
        return recipient.name;
      case 'first_name':
        return sent.firstName ?? firstWord(recipient.name);
      case 'sender_name':
        return scalarText(senderName);
      default:
        return (
          lookUp(sent.payload, name) ??
          scalarText(ownProperty(recipient, name)) ??
          (name === 'last_name' ? sent.lastName : null) ??
          scalarText(ownProperty(contact, name))
        );
    }
  });
