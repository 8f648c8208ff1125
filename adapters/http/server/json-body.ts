import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { DomainError } from '../../../domain/errors.js';
import { NumberText, isPlainObject } from '../../../domain/plain-object.js';
import { asSent, type Json, type JsonObject } from '../schema/read.js';

/** How deep a body may nest; the outermost object is level one. (decision 6: what counts as valid JSON) */
export const deepestNesting = 32;

const invalid = (why: string): DomainError =>
  new DomainError('invalid_json', `The body is not valid JSON: ${why}.`);

const isList = (value: Json): value is readonly Json[] => Array.isArray(value);

const forbidden = ['__proto__', 'constructor'];

/**
 * Removes keys that could reach a prototype, and refuses too deep nesting. Changes the value: it was just
 * parsed, and nothing else uses it.
 */
const sanitise = (value: Json, level: number): void => {
  if (typeof value !== 'object' || value === null || value instanceof NumberText) return;
  if (level > deepestNesting) throw invalid(`it nests deeper than ${deepestNesting} levels`);
  if (isList(value)) {
    for (const item of value) sanitise(item, level + 1);
    return;
  }
  for (const item of Object.values(value)) sanitise(item, level + 1);
  if (!forbidden.some((name) => Object.hasOwn(value, name))) return;
  asSent.set(value, { ...value });
  for (const name of forbidden) Reflect.deleteProperty(value, name);
};

/**
 * The canonical form of a parsed body (RFC 8785), with the digits of numbers as they were sent, and with the
 * keys that were removed. (decision 39: which bodies are the same)
 */
export const canonical = (value: Json): string => {
  if (value instanceof NumberText) return value.text;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (isList(value)) return `[${value.map(canonical).join()}]`;
  const fields = Object.entries(asSent.get(value) ?? value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${canonical(field)}`).join()}}`;
};

/** Where the parser gave up, if it reports that. Its own message would quote the body. */
const placeIn = (error: unknown): string => {
  const message = error instanceof SyntaxError ? error.message : '';
  if (message.startsWith('Unexpected end')) return ': it ends too early';
  const [, position] = / in JSON at position (\d+)(?: \(line \d+ column \d+\))?$/.exec(message) ?? [];
  if (position !== undefined) return ` from character ${Number(position) + 1} on`;
  const [, character] = /^Unexpected token '(.)',/u.exec(message) ?? [];
  return character === undefined ? '' : ` from a \`${character}\` on`;
};

/** Whether a text may have a number whose digits a double changes: most bodies have none. */
const delicate = /[:[,]\s*(?:-0|-?\d+(?:\.\d|[eE])|-?\d{16})/;
/** A string or a number: so that no digits within a string are taken for a number. */
const token = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;
/**
 * Puts numbers in place of the texts with the mark. A reviver of JSON.parse would take several times as long.
 * Changes the value.
 */
const unmarked = (value: Json, mark: string): Json => {
  if (typeof value === 'string')
    return value.startsWith(mark) ? new NumberText(value.slice(mark.length)) : value;
  if (typeof value !== 'object' || value === null) return value;
  if (isList(value)) return value.map((item) => unmarked(item, mark));
  const fields = value as Record<string, Json>;
  for (const name of Object.keys(fields)) {
    const found = unmarked(fields[name] ?? null, mark);
    // An assignment would change the prototype, and is several times as fast elsewhere.
    if (name === '__proto__') Object.defineProperty(fields, name, { value: found });
    else fields[name] = found;
  }
  return fields;
};

/** Parses JSON with the digits of its numbers, which doubles may round. (decision 74: digits) */
const withDigits = (text: string): Json => {
  const value = JSON.parse(text) as Json;
  if (!delicate.test(text)) return value;
  // No text has its own digest in it, nor the first 96 bits of it, which are shorter to parse.
  const mark = createHash('sha256').update(text).digest('base64').slice(0, 16);
  const marked = text.replace(token, (found) =>
    found.startsWith('"') || String(Number(found)) === found ? found : `"${mark}${found}"`,
  );
  if (marked === text) return value;
  return unmarked(JSON.parse(marked) as Json, mark);
};

const parse = (text: string): Json => {
  try {
    return withDigits(text);
  } catch (error) {
    throw invalid(text.trim() === '' ? 'it is empty' : `it can't be parsed${placeIn(error)}`);
  }
};

const kindOf = (value: Json): string => {
  if (value === null) return 'null';
  if (isList(value)) return 'an array';
  return value instanceof NumberText ? 'a number' : `a ${typeof value}`;
};

/**
 * Parses the bytes of an object. Throws `invalid_json` and `invalid_body`. (decision 6: what counts as valid
 * JSON)
 */
export const parseObject = (bytes: Buffer): JsonObject => {
  if (!isUtf8(bytes)) throw invalid('it is not UTF-8');
  const text = bytes.toString('utf8');
  const value = parse(text.startsWith('\ufeff') ? text.slice(1) : text);
  sanitise(value, 1);
  if (!isPlainObject(value))
    throw new DomainError('invalid_body', `The body must be a JSON object, not ${kindOf(value)}.`);
  return value;
};
