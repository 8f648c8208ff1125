import { z } from 'zod';
import type { Instant, Milliseconds } from '../../domain/ids.js';

/** The schema of a timestamp in a response. */
export const instant = (description: string) =>
  z.string().meta({ format: 'date-time', description, examples: ['2026-03-02T15:04:05.678+00:00'] });

/** A timestamp as the API writes it. (decision 22: how timestamps are written) */
export const timestamp = (at: Instant): string => at.replace('Z', '+00:00');

/** A time of the delivery store as the API writes it. */
export const timestampAt = (time: Milliseconds): string => timestamp(new Date(time).toISOString() as Instant);

/** The schema of a list of rows. (decision 53: the form of lists) */
export const listOf = (row: z.ZodType) =>
  z.object({
    object: z.literal('list'),
    has_more: z.boolean().describe('True if the page is full.'),
    next_cursor: z
      .string()
      .nullable()
      .describe('Pass as `starting_after` for the next page; null on the last page.'),
    data: z.array(row),
  });

/**
 * One page of a list. A full page has a next one, which may be empty. (decision 28: order and end of a list)
 */
export const listBody = <Row>(
  rows: readonly Row[],
  limit: number,
  cursorOf: (row: Row) => string,
  shape: (row: Row) => object,
): object => {
  const last = rows.at(-1);
  const more = last !== undefined && rows.length >= limit;
  return { object: 'list', has_more: more, next_cursor: more ? cursorOf(last) : null, data: rows.map(shape) };
};

/** A list without pages. (decision 53: the form of lists) */
export const wholeList = (data: readonly object[]) => ({
  object: 'list',
  has_more: false,
  next_cursor: null,
  data,
});
