import { NamedError } from './errors.js';
import type { OrganizationId, StreamName } from './ids.js';
import { leafHash, type Hash } from './merkle.js';

/** The entry of one event in the signed log. It contains no personal data. */
export interface LogEntry {
  readonly stream: StreamName;
  readonly revision: number;
  /** The event's own hash, which chains it to the event before it in its stream. */
  readonly hash: string;
  readonly org: OrganizationId | null;
  /**
   * How many events of the organization precede it in the log. Events without an organization count together.
   */
  readonly orgSeq: number;
}

const heading = 'handwritten-card-service/event/v1';
const maxBytes = 1024;
const printable = /^[^\n]*$/u;

/** An event can't be entered as it is: it must not be left out, so the log of the log ends before it. */
export class ImpossibleEntry extends NamedError {}

/**
 * The entry as it is hashed: six lines, each with its line feed. Throws ImpossibleEntry if a line break in a
 * name would make it another entry, or if it is longer than 1 KiB.
 */
export const entryBytes = ({ stream, revision, hash, org, orgSeq }: LogEntry): Buffer => {
  const lines = [heading, stream, String(revision), hash, org ?? '', String(orgSeq)];
  if (!lines.every((line) => printable.test(line)))
    throw new ImpossibleEntry(
      `a line break stands in the stream, hash or organization of ${stream}@${revision}`,
    );
  const bytes = Buffer.from(`${lines.join('\n')}\n`);
  if (bytes.length > maxBytes)
    throw new ImpossibleEntry(
      `the entry of ${stream.slice(0, 60)}…@${revision} is longer than ${maxBytes} bytes`,
    );
  return bytes;
};

export const entryHash = (entry: LogEntry): Hash => leafHash(entryBytes(entry));
