import type { ComponentChildren } from 'preact';
import type { ErrorCode } from '../../../domain/errors.js';
import { useVisit } from '../web/visit.js';

interface CardLinkProps {
  readonly code: string;
  /** The code, if they are left out. */
  readonly children?: ComponentChildren;
}

export const CardLink = ({ code, children = code }: CardLinkProps) => (
  <a href={useVisit().url('card', { code })}>{children}</a>
);

/** An error code, with the way to its page of the documentation. */
export const ErrorCodeLink = ({ code }: { readonly code: ErrorCode }) => (
  <a href={useVisit().url('/docs/errors/:code', { code })}>
    <code>{code}</code>
  </a>
);
