import { z } from 'zod';
import { DamagedLog } from '../../../application/log/damaged-log.js';
import type { EventMark } from '../../../application/ports/event-store.js';
import type { EventMetadata, LoggedEvent } from '../../../domain/events.js';
import { Instant, Uuid, type StreamName } from '../../../domain/ids.js';

/** One row of the log, in the order of `eventColumns`. */
export type EventRow = readonly [
  position: number, stream: string, revision: number, id: string, type: string, data: string, personal: string | null, metadata: string,
]; // prettier-ignore

const eventColumns = 'position, stream, revision, id, type, data, personal, metadata';

export const rowsOfStream = `select ${eventColumns} from events where stream = ? and revision >= ? order by revision limit ?`;
export const lastOfStream = `select ${eventColumns} from events where stream = ? order by revision desc limit 1`;
export const rowsOfLog = `select ${eventColumns} from events where position > ? order by position limit ?`;

/** A row, and the position of the row that the index by stream leads to for it. */
export type CheckedRow = readonly [...EventRow, indexed: number | null];

/** A limited number of rows after a position, in the order of the log and not by an index. */
export const checkedRows = `
  select ${eventColumns}, (select i.position from events i where i.stream = e.stream and i.revision = e.revision)
  from events e not indexed where position > ? order by position limit ?`;

/** Positions have no gap, and the index leads to the same rows. Throws DamagedLog. */
export const assertInPlace = (row: CheckedRow, expected: number): void => {
  const [position, stream] = row;
  if (position !== expected)
    throw new DamagedLog(BigInt(expected), `the event is missing; the next one is at ${position}`);
  if (row[8] !== position)
    throw new DamagedLog(BigInt(expected), `the index of ${stream} does not lead to the event`);
};

/** The event that a row holds. Throws a SyntaxError if its JSON is damaged. */
export const eventOf = (row: EventRow): LoggedEvent => {
  const [position, stream, revision, id, type, data, personal, metadata] = row;
  return {
    id: id as Uuid,
    stream: stream as StreamName,
    revision,
    position: BigInt(position),
    type,
    data: parseData(data, personal),
    metadata: JSON.parse(metadata) as EventMetadata,
  };
};

/** An event's data, from its stored texts. */
export const parseData = (data: string, personal: string | null): object => {
  const parsed = JSON.parse(data) as object;
  return personal === null ? parsed : Object.assign(parsed, { personal: JSON.parse(personal) as unknown });
};

const Mark = z.object({ id: Uuid, hash: z.string(), at: Instant });

/** The event of a checkpoint from its stored JSON; none if there is none. */
export const markFrom = (stored: string | null | undefined): { readonly event?: EventMark } =>
  stored === null || stored === undefined ? {} : { event: Mark.parse(JSON.parse(stored)) };
