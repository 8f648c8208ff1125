import { z } from 'zod';
import type { Instant, Milliseconds, StreamName } from '../../../domain/ids.js';
import * as shown from '../schema/shown.js';
import { jsonType } from '../server/respond.js';
import type { DocumentedHeader, TextResponse } from '../server/route.js';

/** The schema of a timestamp in a response. */
export const instant = (description: string) =>
  z.string().meta(shown.words(description, '2026-03-02T15:04:05.678+00:00', { format: 'date-time' }));

/** A timestamp as the API writes it. (decision 22: how timestamps are written) */
export const timestamp = (at: Instant): string => at.replace('Z', '+00:00');

/** A time of the delivery store as the API writes it. */
export const timestampAt = (time: Milliseconds): string => timestamp(new Date(time).toISOString() as Instant);

/**
 * The schema of a list of rows, with a name for the document, and with more fields than lists have. (decision
 * 53: the form of lists)
 */
export const listOf = (row: z.ZodType, id: string, more: z.ZodRawShape = {}) =>
  shown.component(id, 'Rows, and where the next page begins.', {
    object: shown.objectKind('list'),
    has_more: shown.boolean('True if the page is full: it has `limit` rows, or 2 MiB.', false),
    next_cursor: shown.nullText('Pass as `starting_after` for the next page; null on the last page.'),
    data: z.array(row).describe('The rows of this page.'),
    ...more,
  });

/**
 * The size of the largest page, in bytes. A page has at least one row, whatever its size.
 * (docs/contract.md#limits)
 */
export const maxPageBytes = 2 * 1024 * 1024;
/** More than the fields around the rows of a page take, with the longest cursor. */
const aroundRows = 1_024;

/** Makes the JSON of a row once for as long as its document is kept. The shape depends on nothing else. */
export const jsonOnce = <Row extends object>(shape: (row: Row) => object): ((row: Row) => string) => {
  const made = new WeakMap<Row, string>();
  return (row) => {
    const json = made.get(row) ?? JSON.stringify(shape(row));
    made.set(row, json);
    return json;
  };
};

/** The cursor of most lists. */
export const byId = ({ id }: { readonly id: string }): string => id;

/**
 * The rows that a page has room for, as a JSON array, and the cursor of the next page. `shape`: of a row, or
 * its JSON.
 */
export const firstRows = <Row>(
  rows: readonly Row[],
  limit: number,
  cursorOf: (row: Row) => string,
  shape: (row: Row) => object | string,
): { readonly json: string; readonly next: string | null } => {
  const fitting: string[] = [];
  let left = maxPageBytes - aroundRows;
  for (const row of rows) {
    const shaped = shape(row);
    const json = typeof shaped === 'string' ? shaped : JSON.stringify(shaped);
    left -= Buffer.byteLength(json) + 1;
    if (left < 0 && fitting.length > 0) break;
    fitting.push(json);
  }
  const last = rows[fitting.length - 1];
  const goesOn = last !== undefined && (fitting.length < rows.length || rows.length >= limit);
  return { json: `[${fitting.join(',')}]`, next: goesOn ? cursorOf(last) : null };
};

/**
 * One page of a list. A full page has a next one, which may be empty. A page is full with `limit` rows, or
 * before the row that it has no room for. `more`: fields of the list beside its rows. (decision 28: order and
 * end of a list)
 */
export const pageOf = <Row>(
  rows: readonly Row[],
  limit: number,
  cursorOf: (row: Row) => string,
  shape: (row: Row) => object | string,
  more: object = {},
): TextResponse => {
  const { json, next } = firstRows(rows, limit, cursorOf, shape);
  return {
    type: jsonType,
    text: `{"object":"list","has_more":${next !== null},"next_cursor":${JSON.stringify(next)},${fieldsOf(more)}"data":${json}}`,
  };
};

/** The JSON of fields before another one. */
const fieldsOf = (fields: object): string => {
  const inside = JSON.stringify(fields).slice(1, -1);
  return inside === '' ? '' : `${inside},`;
};

/** A list without pages. (decision 53: the form of lists) */
export const wholeList = (data: readonly object[]) => ({
  object: 'list',
  has_more: false,
  next_cursor: null,
  data,
});

const receipt = 'x-log-event';

/**
 * The receipt with which a client can show later that an event was acknowledged. (docs/contract.md#responses)
 */
export const receiptHeader: Readonly<Record<string, DocumentedHeader>> = {
  [receipt]: {
    description:
      'The event in which this was recorded, as `{stream}@{revision}`: keep it, and a proof or an export must show that event.',
    schema: { type: 'string', pattern: '@[0-9]+$' },
  },
};

export const receiptFor = (stream: StreamName, revision: number): Readonly<Record<string, string>> => ({
  [receipt]: `${stream}@${revision}`,
});
