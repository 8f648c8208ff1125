/** A place in a trace, as W3C Trace Context defines it: the trace, the span, and whether it is recorded. */
export interface TracePlace {
  readonly traceId: string;
  readonly spanId: string;
  readonly flags: number;
}

const form = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
/** The flags that the standard defines: sampled, and random. */
const knownFlags = 0b11;

/** Reads a `traceparent` header; null if it is malformed, which is as good as none. */
export const parseTraceparent = (text: string): TracePlace | null => {
  const [, version, traceId, spanId, flags, rest] = form.exec(text) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return null;
  if (version === '00' && rest !== undefined) return null;
  return { traceId, spanId, flags: Number.parseInt(flags, 16) & knownFlags };
};

export const traceparentOf = ({ traceId, spanId, flags }: TracePlace): string =>
  `00-${traceId}-${spanId}-${flags.toString(16).padStart(2, '0')}`;

/** Begins a trace that is recorded nowhere, from two halves of 16 digits. */
export const begunPlace = (time: string, random: string): string => `00-${time}${random}-${random}-00`;

/**
 * Whether `begunPlace` made it. It must not be sent to others: they would take it that the caller decided not
 * to record the trace, and record nothing either.
 */
export const isBegunHere = (traceparent: string): boolean => /^00-.{16}(.{16})-\1-00$/.test(traceparent);

/** The id of the trace that a `traceparent` of this service names. */
export const traceIdOf = (traceparent: string): string => traceparent.slice(3, 35);
