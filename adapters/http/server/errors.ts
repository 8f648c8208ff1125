import { IdempotencyUnavailable } from '../../../application/ports/idempotency-store.js';
import { DomainError, type ErrorCode, NamedError } from '../../../domain/errors.js';

/** The HTTP status of each code. (docs/contract.md#errors) */
export const statuses: Readonly<Record<ErrorCode, number>> = {
  invalid_json: 400,
  invalid_body: 400,
  missing_id: 400,
  invalid_cursor: 400,
  invalid_idempotency_key: 400,
  invalid_parameter: 400,
  invalid_request: 400,
  missing_key: 401,
  malformed_key: 401,
  invalid_key: 401,
  revoked_key: 401,
  invalid_hook: 401,
  no_credits: 402,
  missing_scope: 403,
  hook_disabled: 403,
  suspended: 403,
  card_not_found: 404,
  design_not_found: 404,
  not_found: 404,
  method_not_allowed: 405,
  request_in_progress: 409,
  too_late_to_cancel: 409,
  invalid_transition: 409,
  body_too_large: 413,
  unsupported_media_type: 415,
  invalid_recipient: 422,
  missing_message: 422,
  message_too_long: 422,
  broken_merge_field: 422,
  invalid_date: 422,
  unknown_handwriting: 422,
  no_design_available: 422,
  idempotency_key_reused: 422,
  missing_name: 422,
  invalid_birthday: 422,
  template_incomplete: 422,
  invalid_url: 422,
  invalid_events: 422,
  too_many_endpoints: 422,
  too_many_designs: 422,
  rate_limited: 429,
  read_failed: 500,
  create_failed: 500,
  update_failed: 500,
  order_failed: 500,
  production_failed: 500,
  log_damaged: 500,
  internal_error: 500,
  rehearsal: 503,
};

export const statusOf = (code: ErrorCode): number => statuses[code];

/**
 * A refusal of the HTTP request itself: its status isn't that of its code, and the connection may have to be
 * closed. (decision 9: requests that aren't proper HTTP)
 */
export class HttpFailure extends NamedError {
  constructor(
    readonly status: 400 | 408 | 413 | 417 | 431,
    message: string,
  ) {
    super(message);
  }
}

/** The client went away before its request was complete, so there is no one to respond to. */
export class ClientGone extends NamedError {}

export interface Refusal {
  readonly status: number;
  readonly code: ErrorCode;
  readonly message: string;
  readonly param: string | null;
}

export const refusalWith = (code: ErrorCode, message: string, param: string | null = null): Refusal => ({
  status: statusOf(code),
  code,
  message,
  param,
});

/** The refusal for an error; null if the client gets a 500, which has no details. */
export const refusalOf = (error: unknown): Refusal | null => {
  if (error instanceof DomainError) return refusalWith(error.code, error.message, error.param);
  if (error instanceof IdempotencyUnavailable)
    return refusalWith(
      'invalid_idempotency_key',
      'Idempotency keys cannot be looked up at the moment. Nothing was sent: try the same request again shortly.',
    );
  if (!(error instanceof HttpFailure)) return null;
  const code = error.status === 413 ? 'body_too_large' : 'invalid_request';
  return { ...refusalWith(code, error.message), status: error.status };
};

/** The text of a 500. Each promises that nothing was charged or sent. (docs/contract.md#retry-safety) */
export const failureOf = (code: ErrorCode): Refusal =>
  refusalWith(
    code,
    'Something went wrong on our side. Nothing was charged or sent, so it is safe to try again.',
  );

/** The body of every error. (docs/contract.md#errors) */
export const errorBody = (
  { code, message, param }: Omit<Refusal, 'status'>,
  baseUrl: string,
  requestId: string,
) => ({
  error: {
    code,
    message,
    docs: `${baseUrl}/docs/errors/${code}`,
    ...(param === null ? {} : { param }),
    request_id: requestId,
  },
});
