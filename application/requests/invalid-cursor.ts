import { DomainError } from '../../domain/errors.js';

/**
 * The refusal of a cursor. `what` names the entries of the list and their owner: `card of this organization`.
 */
export const invalidCursor = (what: string): DomainError =>
  new DomainError(
    'invalid_cursor',
    `\`starting_after\` matches no ${what}. Use the \`next_cursor\` of the previous page.`,
    'starting_after',
  );
