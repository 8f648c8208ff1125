import { NumberText } from './number-text.js';

/** Whether a parsed value is an object with fields: neither null nor an array, nor a number. */
export const isPlainObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof NumberText);
