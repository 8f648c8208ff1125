import { pathToFileURL } from 'node:url';
import { exampleFile } from './examples.js';

/** A span as examples/tracing/provider.mjs hands it over. */
export interface EndedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | null;
  readonly tracestate: string | null;
  readonly name: string;
  readonly kind: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly status: { readonly code: number; readonly message?: string } | null;
}

export type RegisterTracer = (onEnd: (span: EndedSpan) => void) => void;

/** The small SDK of examples/tracing/provider.mjs. */
export const loadTracer = async (): Promise<RegisterTracer> => {
  const loaded: unknown = await import(pathToFileURL(exampleFile('tracing/provider.mjs')).href);
  return (loaded as { readonly registerTracer: RegisterTracer }).registerTracer;
};
