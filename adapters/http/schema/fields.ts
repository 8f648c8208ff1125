import { z } from 'zod';
import { DomainError, type ErrorCode } from '../../../domain/errors.js';
import { onlyItem } from '../../../domain/email.js';
import { countCharacters, readLine, type TextRule } from '../../../domain/text.js';
import { idExample, idMeaning, words } from './shown.js';

/**
 * Facts about a field of a request, beside its type. A field is declared once, as a Zod schema: its
 * TypeScript type, its place in the OpenAPI document, its check and its reading all come from that. Before a
 * schema sees a value, `read.ts` has trimmed strings and removed nulls; a blank is then the empty string.
 */
export interface FieldMeta {
  readonly description?: string;
  readonly format?: 'date' | 'uri';
  readonly examples?: readonly unknown[];
  /**
   * The code of a value that breaks the field's rules. Inherited from the object around it;
   * `invalid_parameter` if nothing is said.
   */
  readonly code?: ErrorCode;
  /** Every code that the field is refused with, if there are several. */
  readonly codes?: readonly ErrorCode[];
  /** Completes "{param} must be …". */
  readonly hint?: string;
}

/** Facts in the form in which Zod keeps them and the document shows them. */
export const annotations = ({ code, codes, hint, ...rest }: FieldMeta) => ({
  ...rest,
  ...(code !== undefined && { 'x-error-code': code }),
  ...(codes !== undefined && { 'x-error-codes': codes }),
  ...(hint !== undefined && { 'x-hint': hint }),
});

interface TextFacts<T> extends FieldMeta {
  /** The rule of the domain that reads it, if there is one. */
  readonly rule?: TextRule<T>;
  /** In characters (code points). A rule of the domain brings its own limit. */
  readonly maxLength?: number;
  readonly pattern?: RegExp;
  /** A JSON number is read as its text. */
  readonly number?: 'text';
  /** A list of one text is read as that one. */
  readonly list?: 'of one';
  /**
   * For a field that may be left out: a blank is refused, not read as left out. (decision 8: an empty choice
   * is no default)
   */
  readonly blank?: 'refused';
}

type RuledText<T> = TextFacts<T> & { readonly rule: TextRule<T> };

/** The longest description of a webhook endpoint. (docs/contract.md#limits) */
export const maxDescriptionLength = 255;
/** The label of a key or a hook, or the title of a collection card. (docs/contract.md#limits) */
export const labelFacts = { maxLength: 100, rule: readLine };
/** The reason that is given for a change. (docs/contract.md#limits) */
export const reasonFacts = { maxLength: 500, rule: readLine };

const numberAsText = (value: unknown): unknown =>
  typeof value === 'number' && Number.isFinite(value) ? String(value) : value;

/** The text as it is sent, with its description in the document. */
const sentText = <T>(
  base: z.ZodString,
  description: string,
  example: string | undefined,
  { maxLength, pattern, number, list, rule, ...facts }: TextFacts<T>,
): z.ZodType<string> => {
  const limit = rule?.maxLength ?? maxLength;
  const shaped = pattern === undefined ? base : base.refine((sent) => sent === '' || pattern.test(sent));
  const limited =
    maxLength === undefined ? shaped : shaped.refine((sent) => countCharacters(sent) <= maxLength);
  const { blank, ...rest } = facts;
  const described = limited.meta({
    ...annotations({ description, ...(example !== undefined && { examples: [example] }), ...rest }),
    ...(limit !== undefined && { maxLength: limit }),
    ...(pattern !== undefined && { pattern: pattern.source }),
    ...(blank !== undefined && { 'x-blank': blank }),
    ...(number !== undefined && { 'x-number': number }),
  });
  if (list !== undefined) return z.preprocess(onlyItem, described);
  return number === undefined ? described : z.preprocess(numberAsText, described);
};

type Issues = Pick<z.core.ParsePayload, 'issues'>;

/** Reads a text by a rule of the domain; the rule's refusal becomes that of the field. */
const read = <T>(rule: TextRule<T>, sent: string, { issues }: Issues, mayBeBlank: boolean): T | null => {
  try {
    const value = rule(sent);
    if (value === null && !mayBeBlank)
      issues.push({ code: 'too_small', origin: 'string', minimum: 1, input: sent });
    return value;
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    issues.push({ code: 'custom', input: sent, message: error.message, params: { refusal: error } });
    return z.NEVER;
  }
};

/** A text that must be there and not blank, read by a rule of the domain if there is one. */
export function text(description: string, example?: string, facts?: TextFacts<never>): z.ZodType<string>;
export function text<T>(description: string, example: string | undefined, facts: RuledText<T>): z.ZodType<T>;
export function text<T>(description: string, example?: string, facts: TextFacts<T> = {}) {
  const { rule } = facts;
  const required = sentText(z.string().min(1), description, example, facts);
  if (rule === undefined) return required;
  return required.transform((sent, context): T => read(rule, sent, context, false) ?? z.NEVER);
}

/**
 * A text that may be left out. A blank counts as left out, unless `blank` is `refused`. (decision 7: null and
 * blanks count as left out; decision 8: an empty choice is no default)
 */
export const optionalText = <T = string>(description: string, example?: string, facts: TextFacts<T> = {}) => {
  const { rule = (sent: string) => sent as T } = facts;
  const isRefused = facts.blank === 'refused';
  const base = isRefused ? z.string().min(1) : z.string();
  return sentText(base, description, example, facts)
    .optional()
    .transform((sent, context): NoInfer<T> | null => (sent ? read(rule, sent, context, !isRefused) : null));
};

/** A field that may be left out, and is null then. */
export const optional = <S extends z.ZodType>(schema: S) =>
  schema.optional().transform((value): NonNullable<z.output<S>> | null => value ?? null);

/** One of these strings, exactly; null if it is left out or blank. */
export const optionalChoice = <const V extends string>(values: readonly V[], description: string) =>
  optional(
    z.preprocess(
      (value) => (value === '' ? undefined : value),
      z.enum(values).describe(description).optional(),
    ),
  );

/** The id of something, in the path. A blank one is unknown, like any other. */
export const idParam = (thing: string) => text(idMeaning(thing), idExample(thing), { code: 'not_found' });

/** A part of the path of a route that the documents leave out. */
export const unlistedParam = text('A part of the path.', undefined, { code: 'not_found' });

/** The cursor of a list, in the query. `meaning`: the part of the last row that it is. */
export const pageCursor = (example: string, meaning?: string) =>
  optionalText(
    `The \`next_cursor\` of the page before${meaning === undefined ? '' : `: ${meaning}`}.`,
    example,
  );

/** The parameter `format` of a feed. (decision 77: CloudEvents) */
export const eventFormat = optionalChoice(
  ['cloudevents'],
  '`cloudevents`: each event is a CloudEvent 1.0 in JSON.',
);

const wholeNumber = /^-?\d+$/;

const pageLimitFrom = (value: unknown): unknown => {
  if (value === '' || value === undefined) return undefined;
  if (typeof value !== 'string' || !wholeNumber.test(value) || value === '-0') return value;
  return Math.min(Number(value), 200) || undefined;
};

/**
 * The `limit` of a list, in the query: absent, empty and 0 mean 50, more than 200 means 200, and anything
 * else that isn't a whole number is refused. (decision 27: `limit`, and parameters that come twice)
 */
export const pageLimit = z.preprocess(
  pageLimitFrom,
  z
    .int()
    .min(0)
    .meta({
      ...annotations(
        words('How many rows to return. Absent, empty or 0 means 50; more than 200 means 200.', 20, {
          code: 'invalid_parameter',
          hint: 'a whole number from 0 (0 means 50, more than 200 means 200)',
        }),
      ),
      'x-clamp': 200,
    })
    .default(50),
);
