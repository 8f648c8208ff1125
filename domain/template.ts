import { DomainError } from './errors.js';
import { isPlainObject } from './plain-object.js';
import { clean } from './text.js';

/**
 * A variable of a template: double braces around anything without braces. Whatever else is left of double
 * braces is plain text here, and the message rules refuse it afterwards. (decisions 13, 48)
 */
const variable = /\{\{([^{}]*)\}\}/g;

/** Longer texts are refused while they are put together: no message comes near. */
const longestText = 128 * 1024;

/**
 * The names that a template needs, each once, in their order. White space around a name is ignored; a
 * nameless variable is no variable.
 */
export const variablesOf = (template: string): readonly string[] => [
  ...new Set(
    [...template.matchAll(variable)].map(([, name]) => (name ?? '').trim()).filter((name) => name !== ''),
  ),
];

/**
 * Fills in a template in one pass: what a value contains is never looked at again. No escaping, because it
 * goes on paper. `valueOf` answers null where it has nothing. Throws `template_incomplete` naming every name
 * without a value, `message_too_long`. (decision 48)
 */
export const fillIn = (template: string, valueOf: (name: string) => string | null): string => {
  const values = new Map(variablesOf(template).map((name) => [name, valueOf(name)]));
  const missing = [...values].filter(([, value]) => value === null).map(([name]) => name);
  const [first] = missing;
  if (first !== undefined) {
    throw new DomainError(
      'template_incomplete',
      `The hook's template needs values that the payload lacks: ${missing.join(', ')}. Nothing was sent: fill them in, then send again.`,
      first,
    );
  }
  const parts: string[] = [];
  let length = 0;
  let end = 0;
  const add = (text: string): void => {
    length += text.length;
    if (length > longestText)
      throw new DomainError(
        'message_too_long',
        'The filled-in template is far longer than 500 characters. Shorten the values that fill it.',
      );
    parts.push(text);
  };
  for (const { 0: whole, 1: name = '', index } of template.matchAll(variable)) {
    add(template.slice(end, index));
    add(values.get(name.trim()) ?? whole);
    end = index + whole.length;
  }
  add(template.slice(end));
  return parts.join('');
};

/** A JSON object as it was parsed: look at its own properties only. */
export type Payload = Readonly<Record<string, unknown>>;

/** An object's own property, never an inherited one; undefined where there is none. */
export const ownProperty = (value: unknown, name: string): unknown =>
  isPlainObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;

/**
 * A scalar as it goes on paper; null for null, a blank, an object and an array, which count as lacking.
 * (decision 48)
 */
export const scalarText = (value: unknown): string | null => {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value !== 'string') return null;
  const text = clean(value);
  return text === '' ? null : text;
};

/**
 * Finds a name among the own properties of a payload: as it stands, else along its dots through nested
 * objects. (decision 48)
 */
export const lookUp = (payload: Payload, name: string): string | null =>
  scalarText(ownProperty(payload, name)) ?? scalarText(name.split('.').reduce<unknown>(ownProperty, payload));
