import { DomainError } from '../../domain/errors.js';
import { storeWith, type EventStore, type WriteOutcome } from './event-store.js';

export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

export interface SpanOptions {
  readonly kind: 'server' | 'client' | 'internal';
  /** The parent span, if it is not the current one. */
  readonly parent?: { readonly traceparent: string; readonly tracestate?: string };
  readonly attributes?: SpanAttributes;
}

/** A stretch of work in a trace. */
export interface Span {
  /** Its place in the trace; null if there is no trace. */
  readonly traceparent: string | null;
  /** Does the work so that spans which it begins belong below this one. */
  within<T>(work: () => T): T;
  /** `error`: the work failed with it. */
  end(result?: {
    readonly name?: string;
    readonly attributes?: SpanAttributes;
    readonly error?: unknown;
  }): void;
}

/** Reports durations to a tracing system. None of it throws, and nothing depends on it. */
export interface Tracing {
  begin(name: string, options: SpanOptions): Span;
}

/** Counts calls to an engine, by their kind. */
export type CountCall = (call: string, times?: number) => void;

export const uncounted: CountCall = () => undefined;

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
