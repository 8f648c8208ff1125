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
