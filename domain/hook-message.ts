import {
  fillIn,
  lookUp,
  ownProperty,
  piecesOf,
  scalarText,
  type Payload,
  type TemplatePiece,
} from './template.js';

/** Where the template of a hook finds its values. */
export interface TemplateSources {
  /** The body that was sent to the hook. */
  readonly payload: Payload;
  /** The first name, if the recipient's name was joined from it. */
  readonly firstName: string | null;
  readonly lastName: string | null;
  /** The recipient as the card will carry it. */
  readonly recipient: { readonly name: string } & Readonly<Record<string, string | null>>;
  /** The hook's Signed by setting. */
  readonly senderName: string | null;
  /** `company`, `job_title` and `years` of the contact, if there is one. */
  readonly contact: Readonly<Record<string, string | null>>;
}

const firstWord = (name: string): string => name.trim().split(/\s+/u)[0] ?? name;

/** The value of a variable; null if there is none. (decision 48: what a template variable stands for) */
const valueIn =
  ({ payload, firstName, lastName, recipient, senderName, contact }: TemplateSources) =>
  (name: string): string | null => {
    switch (name) {
      case 'full_name':
        return recipient.name;
      case 'first_name':
        return firstName ?? firstWord(recipient.name);
      case 'sender_name':
        return scalarText(senderName);
      default:
        return (
          lookUp(payload, name) ??
          scalarText(ownProperty(recipient, name)) ??
          (name === 'last_name' ? lastName : null) ??
          scalarText(ownProperty(contact, name))
        );
    }
  };

/**
 * The message that a hook's template makes of a payload. Throws `template_incomplete`, `message_too_long`.
 * (decision 48: what a template variable stands for)
 */
export const messageFrom = (template: string, sources: TemplateSources): string =>
  fillIn(template, valueIn(sources));

/** No message is nearly as long: more of an unfinished one shows nothing. */
const maxShownLength = 5_000;

/** The template in pieces: its text, and its variables with their values, as much as is worth showing. */
export const piecesFrom = (template: string, sources: TemplateSources): readonly TemplatePiece[] => {
  let length = 0;
  return piecesOf(template, valueIn(sources)).filter(({ text, value }) => {
    length += (value ?? text).length;
    return value === null || length <= maxShownLength;
  });
};
