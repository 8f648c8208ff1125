import { DomainError } from './errors.js';
import { NumberText, ownProperty } from './plain-object.js';
import { clean } from './text.js';

/**
 * A variable of a template: double braces around anything without braces. Other double braces are plain text
 * here; the rules of the message refuse them later. (decision 13: what looks like a merge field)
 */
const variable = /\{\{([^{}]*)\}\}/g;

/** A longer text is refused while it is put together: no message is nearly as long. */
const maxTextLength = 128 * 1024;

/**
 * The names that a template uses, each once, in their order. White space around a name is ignored; empty
 * braces are no variable.
 */
export const variablesOf = (template: string): readonly string[] => [
  ...new Set(
    [...template.matchAll(variable)].map(([, name]) => (name ?? '').trim()).filter((name) => name !== ''),
  ),
];

/**
 * Fills in a template in one pass: variables inside a value are not filled in. Nothing is escaped, because it
 * goes on paper. `valueOf` returns null if there is no value. Throws `template_incomplete`, which lists every
 * name without a value, and `message_too_long`. (decision 48: what a template variable stands for)
 */
export const fillIn = (template: string, valueOf: (name: string) => string | null): string => {
  const pieces = piecesOf(template, valueOf);
  const missing = [...new Set(pieces.flatMap(({ name, value }) => (value === null ? (name ?? []) : [])))];
  const [first] = missing;
  if (first !== undefined) {
    throw new DomainError(
      'template_incomplete',
      `The hook's template needs values that are missing from the payload: ${missing.join(', ')}. Nothing was sent. Add them, then send again.`,
      first,
    );
  }
  const parts: string[] = [];
  let length = 0;
  for (const { text, value } of pieces) {
    const part = value ?? text;
    length += part.length;
    if (length > maxTextLength)
      throw new DomainError(
        'message_too_long',
        'The filled-in template is far longer than 500 characters. Shorten the values.',
      );
    parts.push(part);
  }
  return parts.join('');
};

/** A piece of a template: plain text, or a variable with its braces. */
export interface TemplatePiece {
  readonly text: string;
  /** The name of the variable; null for plain text. */
  readonly name: string | null;
  /** The value of the variable; null for plain text, and for a variable without a value. */
  readonly value: string | null;
}

/** A template cut at its variables, each of which is looked up once. Empty braces are plain text. */
export const piecesOf = (
  template: string,
  valueOf: (name: string) => string | null,
): readonly TemplatePiece[] => {
  const values = new Map(variablesOf(template).map((name) => [name, valueOf(name)]));
  const pieces: TemplatePiece[] = [];
  let end = 0;
  const add = (text: string, name: string | null): void => {
    if (text !== '') pieces.push({ text, name, value: name === null ? null : (values.get(name) ?? null) });
  };
  for (const { 0: whole, 1: inside = '', index } of template.matchAll(variable)) {
    add(template.slice(end, index), null);
    const name = inside.trim();
    add(whole, name === '' ? null : name);
    end = index + whole.length;
  }
  add(template.slice(end), null);
  return pieces;
};

/** A parsed JSON object. Read only its own properties. */
export type Payload = Readonly<Record<string, unknown>>;

/**
 * A scalar as it goes on paper. Null, blanks, objects and arrays count as missing: null. (decision 48: what a
 * template variable stands for)
 */
export const scalarText = (value: unknown): string | null => {
  if (value instanceof NumberText) return value.text;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value !== 'string') return null;
  return clean(value) || null;
};

/**
 * Looks a name up in a payload: as it is, else along its dots through nested objects. (decision 48: what a
 * template variable stands for)
 */
export const lookUp = (payload: Payload, name: string): string | null =>
  scalarText(ownProperty(payload, name)) ?? scalarText(name.split('.').reduce<unknown>(ownProperty, payload));

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
