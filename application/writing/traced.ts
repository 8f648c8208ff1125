import { DomainError } from '../../domain/errors.js';
import type { EventStore, WriteOutcome } from '../ports/event-store.js';
import type { Span, SpanAttributes, SpanOptions, Tracing } from '../ports/tracing.js';
import { storeWith } from './store-with.js';

export const noSpan: Span = { traceparent: null, within: (work) => work(), end: () => undefined };

export const noTracing: Tracing = { begin: () => noSpan };

/** Does the work in a span of its own, whose attributes are what `describe` returns for the result. */
export const inSpan = async <T>(
  tracing: Tracing,
  name: string,
  options: SpanOptions,
  work: (span: Span) => Promise<T>,
  describe: (result: T) => SpanAttributes = () => ({}),
): Promise<T> => {
  const span = tracing.begin(name, options);
  let result: T;
  try {
    result = await span.within(() => work(span));
  } catch (error) {
    span.end(error instanceof DomainError ? { attributes: { 'cards.refusal': error.code } } : { error });
    throw error;
  }
  span.end({ attributes: describe(result) });
  return result;
};

/** The worst outcome of a write. A conflict is no error: its caller decides again. */
const outcomeOf = (outcomes: readonly WriteOutcome[]): SpanAttributes => {
  const kinds = outcomes.map(({ kind }) => kind);
  const worst = (['unknown', 'conflict'] as const).find((kind) => kinds.includes(kind));
  return worst === undefined ? {} : { 'cards.outcome': worst };
};

/** The store, with a span for each append, below that of whatever caused the first of its events. */
export const tracedAppends = (store: EventStore, tracing: Tracing): EventStore =>
  storeWith(store, {
    append: (writes, completing) => {
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
        outcomeOf,
      );
    },
  });
