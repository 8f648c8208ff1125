/**
 * A number of JSON whose digits a double would change, such as 820982911946154508, 1.10 or 1e2. Where a
 * number becomes text, it is this text.
 */
export class NumberText {
  constructor(readonly text: string) {}
}

/** Whether a parsed value is an object with fields: neither null nor an array, nor a number. */
export const isPlainObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof NumberText);

/** A property of an object's own, never an inherited one; undefined if there is none. */
export const ownProperty = (value: unknown, name: string): unknown =>
  isPlainObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
