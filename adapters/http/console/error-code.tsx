import type { ErrorCode } from '../../../domain/errors.js';
import type { Context } from './page.js';

/** An error code, with the way to its page of the documentation. */
export const ErrorCodeLink = ({
  code,
  context: { url },
}: {
  readonly code: ErrorCode;
  readonly context: Context;
}) => (
  <a href={url('/docs/errors/:code', { code })}>
    <code>{code}</code>
  </a>
);
