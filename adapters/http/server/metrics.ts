import { Histogram, type Registry } from 'prom-client';

const methods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

export type HttpMetrics = ReturnType<typeof httpMetrics>;

export const httpMetrics = (registry: Registry) => {
  const histogram = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from the head of a request to the end of its response, by route template. Status 0: dropped without a response; 499: the client left.',
    labelNames: ['method', 'route', 'status'] as const,
    buckets: [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  });
  return {
    /** `route` is a template of the route table, never a raw path. */
    observe: (method: string, route: string, status: number, ms: number): void =>
      histogram.observe({ method: methods.has(method) ? method : 'other', route, status }, ms / 1000),
  };
};
