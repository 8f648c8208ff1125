/** Every code that a client can get. (docs/contract.md#errors) */
// prettier-ignore
export const errorCodes = [
  'invalid_json', 'invalid_body', 'missing_id', 'invalid_cursor', 'invalid_idempotency_key',
  'missing_key', 'malformed_key', 'invalid_key', 'revoked_key', 'invalid_hook',
  'no_credits',
  'missing_scope', 'hook_disabled', 'suspended',
  'card_not_found', 'design_not_found',
  'request_in_progress', 'too_late_to_cancel',
  'unsupported_media_type',
  'invalid_recipient', 'missing_message', 'message_too_long', 'broken_merge_field', 'invalid_date', 'unknown_handwriting',
  'no_design_available', 'idempotency_key_reused', 'missing_name', 'invalid_birthday', 'template_incomplete',
  'rate_limited',
  'read_failed', 'create_failed', 'update_failed', 'order_failed', 'production_failed', 'log_damaged', 'internal_error',
  'not_found', 'method_not_allowed', 'body_too_large', 'invalid_parameter', 'invalid_url', 'invalid_events', 'too_many_endpoints', 'too_many_designs',
  'invalid_transition', 'invalid_request',
  'rehearsal',
] as const;

export type ErrorCode = (typeof errorCodes)[number];

/** An error that is named like its class. */
export class NamedError extends Error {
  override readonly name = this.constructor.name;
}

/**
 * A refusal that the caller can act on. `param` names the field at fault, such as a variable of a template;
 * fields of requests are named where requests are read.
 */
export class DomainError extends NamedError {
  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly param: string | null = null,
  ) {
    super(message);
  }
}

export interface Refusal {
  readonly code: string;
  readonly message: string;
  readonly param: string | null;
}

/** A refusal on one line: what it concerns stands before a message that doesn't name it. */
export const refusalLine = ({ code, message, param }: Refusal): string =>
  `${code}: ${param === null || message.includes(param) ? '' : `\`${param}\`: `}${message}`;

/** A refusal of a name that doesn't exist. The adapter that reports it adds what does. */
export class UnknownName extends DomainError {
  constructor(
    code: 'unknown_handwriting' | 'design_not_found',
    message: string,
    readonly wanted: string,
  ) {
    super(code, message);
  }
}

/**
 * A value, or why it was refused: several fields can be read before the first refusal in order is reported.
 * (decision 2: of several wrong fields, one is reported)
 */
export type Captured<T> = { readonly value: T } | { readonly refusal: DomainError };

export const capture = <T>(read: () => T): Captured<T> => {
  try {
    return { value: read() };
  } catch (error) {
    if (error instanceof DomainError) return { refusal: error };
    throw error;
  }
};

/** Returns the value, or throws the refusal. */
export const unwrap = <T>(field: Captured<T>): T => {
  if ('refusal' in field) throw field.refusal;
  return field.value;
};

/**
 * An error that stays, however often the work is tried again: the process that meets it has to end, with this
 * message.
 */
export class FinalError extends NamedError {}

/** Handles a rejection: `value` stands for an error of this class. Throws all others. */
export const insteadOf =
  <T>(kind: abstract new (...given: never[]) => Error, value: T) =>
  (error: unknown): T => {
    if (error instanceof kind) return value;
    throw error;
  };

/** The code of a caught value, such as the system's `ENOENT`; null if it has none. */
export const codeOf = (error: unknown): unknown =>
  error instanceof Error && 'code' in error ? error.code : null;

/** The message of a caught value: anything can be thrown. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
