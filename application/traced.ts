import { DomainError } from '../domain/errors.js';
import type { EventStore } from './ports/event-store.js';
import type { Span, SpanOptions, Tracing } from './ports/tracing.js';
import { withAppend } from './with-append.js';

/** A span that nobody is told of. */
export const noSpan: Span = { traceparent: null, within: (work) => work(), end: () => undefined };

/** Traces nothing. */
export const noTracing: Tracing = { begin: () => noSpan };

/** Does the work in a span of its own. */
export const inSpan = async <T>(
  tracing: Tracing,
  name: string,
  options: SpanOptions,
  work: (span: Span) => Promise<T>,
): Promise<T> => {
  const span = tracing.begin(name, options);
  let result: T;
  try {
    result = await span.within(() => work(span));
  } catch (error) {
    span.end(error instanceof DomainError ? { attributes: { 'cards.refusal': error.code } } : { error });
    throw error;
  }
  span.end();
  return result;
};

/** The store, with a span for each append, below that of whatever caused the first of its events. */
export const tracedAppends = (store: EventStore, tracing: Tracing): EventStore =>
  withAppend(store, (writes, completing) => {
    const [first] = writes;
    const traceparent = first?.events[0]?.metadata.traceparent;
    return inSpan(
      tracing,
      'append',
      {
        kind: 'client',
        ...(traceparent !== undefined && { parent: { traceparent } }),
        attributes: {
          'cards.events': writes.reduce((sum, { events }) => sum + events.length, 0),
          'cards.stream': first?.stream ?? '',
        },
      },
      () => store.append(writes, completing),
    );
  });
