import { noTracing, type Tracing } from '../../application/ports/tracing.js';
import { version } from '../settings/version.js';

/** Where version 1 of the OpenTelemetry API keeps its registered SDK. */
const registered = Symbol.for('opentelemetry.js.api.1');

const hasTracer = (): boolean => {
  const api: unknown = Reflect.get(globalThis, registered);
  return typeof api === 'object' && api !== null && 'trace' in api;
};

/**
 * Spans, if the process was started with an SDK of OpenTelemetry (`node --import`). Without one not even its
 * API is loaded, which takes a sixth of the start.
 */
export const tracingOfProcess = async (): Promise<Tracing> => {
  if (!hasTracer()) return noTracing;
  const { openTelemetry } = await import('../../adapters/opentelemetry/tracing.js');
  return openTelemetry(version);
};
