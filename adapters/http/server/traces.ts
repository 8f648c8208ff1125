import type { IncomingMessage } from 'node:http';
import { noSpan, noTracing, type Span, type Tracing } from '../../../application/ports/tracing.js';
import { parseTraceparent, traceparentOf } from '../../../domain/traceparent.js';
import type { Exchange } from './exchange.js';

const headerOf = (request: IncomingMessage, name: 'traceparent' | 'tracestate'): string | undefined => {
  const value = request.headers[name];
  return typeof value === 'string' ? value : undefined;
};

/**
 * The place of a request in a trace: in that of its `traceparent`, unless that is malformed or sent twice, or
 * else in the one that begins with it. `tracestate` goes to the tracing system and is kept nowhere: anything
 * may stand in it.
 */
export const traceOf = (
  tracing: Tracing,
  request: IncomingMessage,
  begun: string,
): { readonly span: Span; readonly traceparent: string } => {
  const sent = headerOf(request, 'traceparent');
  const place = sent === undefined ? null : parseTraceparent(sent);
  if (tracing === noTracing)
    return { span: noSpan, traceparent: place === null ? begun : traceparentOf(place) };
  const tracestate = place === null ? undefined : headerOf(request, 'tracestate');
  const span = tracing.begin(request.method ?? 'UNKNOWN', {
    kind: 'server',
    ...(place !== null && {
      parent: { traceparent: traceparentOf(place), ...(tracestate !== undefined && { tracestate }) },
    }),
  });
  return { span, traceparent: span.traceparent ?? begun };
};

/** Ends the span of a request that was responded to, or dropped (status 0). */
export const endSpan = ({ span, request, template, id }: Exchange, status: number): void => {
  if (span === noSpan) return;
  const method = request.method ?? 'UNKNOWN';
  span.end({
    name: template === null ? method : `${method} ${template}`,
    attributes: {
      'http.request.method': method,
      'http.response.status_code': status,
      'cards.request': id,
      ...(template !== null && { 'http.route': template }),
    },
    ...((status === 0 || status >= 500) && { error: `status ${status}` }),
  });
};
