import type { EventMetadata, LoggedEvent } from '../../../domain/events.js';
import type { StreamName, Uuid } from '../../../domain/ids.js';

/** One row of the log, in the order of `eventColumns`. */
export type EventRow = readonly [
  position: number, stream: string, revision: number, id: string, type: string, data: string, personal: string | null, metadata: string,
]; // prettier-ignore

export const eventColumns = 'position, stream, revision, id, type, data, personal, metadata';

/** The event that a row holds. Throws a SyntaxError if its JSON is damaged. */
export const eventOf = ([
  position,
  stream,
  revision,
  id,
  type,
  data,
  personal,
  metadata,
]: EventRow): LoggedEvent => ({
  id: id as Uuid,
  stream: stream as StreamName,
  revision,
  position: BigInt(position),
  type,
  data: parseData(data, personal),
  metadata: JSON.parse(metadata) as EventMetadata,
});

/** An event's data, from its stored texts. */
export const parseData = (data: string, personal: string | null): object => {
  const parsed = JSON.parse(data) as object;
  return personal === null ? parsed : Object.assign(parsed, { personal: JSON.parse(personal) as unknown });
};
