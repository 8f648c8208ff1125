import {
  context,
  isSpanContextValid,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Context,
  type TraceState,
} from '@opentelemetry/api';
import { noSpan, type Span, type SpanOptions, type Tracing } from '../../application/ports/tracing.js';
import { messageOf } from '../../domain/errors.js';
import { parseTraceparent, traceparentOf } from '../../domain/traceparent.js';

const kinds = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  internal: SpanKind.INTERNAL,
} satisfies Record<SpanOptions['kind'], SpanKind>;

/**
 * The state that tracing systems pass to each other, as members `key=value`. The one that was set last comes
 * first.
 */
const stateOf = (members: readonly string[]): TraceState => {
  const isOf = (key: string) => (member: string) => member.startsWith(`${key}=`);
  const without = (key: string) => members.filter((member) => !isOf(key)(member));
  return {
    get: (key) => members.find(isOf(key))?.slice(key.length + 1),
    set: (key, value) => stateOf([`${key}=${value}`, ...without(key)]),
    unset: (key) => stateOf(without(key)),
    serialize: () => members.join(','),
  };
};

const stateIn = (text: string): TraceState => {
  const members = text.split(',').map((member) => member.trim());
  return stateOf(members.filter((member) => /^[^=\s]+=/.test(member)));
};

/** Longer ones may be dropped, as the standard says. */
const maxStateLength = 512;

/** The active span is nearer than a parent of the same trace. */
const below = (parent: SpanOptions['parent']): Context => {
  const place = parent === undefined ? null : parseTraceparent(parent.traceparent);
  if (parent === undefined || place === null) return context.active();
  if (trace.getActiveSpan()?.spanContext().traceId === place.traceId) return context.active();
  const { traceId, spanId, flags } = place;
  const { tracestate = '' } = parent;
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags: flags,
    isRemote: true,
    ...(tracestate !== '' && tracestate.length <= maxStateLength && { traceState: stateIn(tracestate) }),
  });
};

/** Ignores errors of an SDK: the traced work goes on. */
const harmless = <T>(call: () => T): T | null => {
  try {
    return call();
  } catch {
    return null;
  }
};

/** Spans through the API of OpenTelemetry, for whatever SDK the process was started with. Never throws. */
export const openTelemetry = (version: string): Tracing => {
  const tracer = trace.getTracer('handwritten-card-service', version);
  return {
    begin: (name, { kind, parent, attributes = {} }): Span => {
      const around = below(parent);
      const span = harmless(() => tracer.startSpan(name, { kind: kinds[kind], attributes }, around));
      if (span === null) return noSpan;
      const place = span.spanContext();
      const { traceId, spanId, traceFlags } = place;
      return {
        traceparent: isSpanContextValid(place) ? traceparentOf({ traceId, spanId, flags: traceFlags }) : null,
        within: (work) => context.with(trace.setSpan(around, span), work),
        end: (result = {}) => {
          const { name: finalName, attributes: found, error } = result;
          if (finalName !== undefined) harmless(() => span.updateName(finalName));
          if (found !== undefined) harmless(() => span.setAttributes(found));
          if (error !== undefined)
            harmless(() => span.setStatus({ code: SpanStatusCode.ERROR, message: messageOf(error) }));
          harmless(() => span.end());
        },
      };
    },
  };
};
