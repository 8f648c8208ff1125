import type { Registry } from 'prom-client';
import { z } from 'zod';
import { route, type Route } from './route.js';

/** One engine or projection: whether it is ready, and how it is doing, in plain words. */
export interface Part {
  readonly name: string;
  readonly ready: boolean;
  readonly detail: string | null;
}

/** Asks every part. A rejection counts as not ready. */
export type Readiness = () => Promise<readonly Part[]>;

const readyBody = z.object({
  status: z.enum(['ready', 'not_ready']),
  parts: z.array(
    z.object({
      name: z.string(),
      ready: z.boolean(),
      detail: z.string().nullable().describe('How this part is doing, in plain words.'),
    }),
  ),
});

const publicly = { kind: 'public' } as const;

/** What load balancers and monitoring systems ask for. (docs/operations.md#health) */
export const healthRoutes = (readiness: Readiness, registry: Registry, version: string): readonly Route[] => [
  route({
    method: 'GET',
    path: '/healthz',
    access: publicly,
    failure: 'internal_error',
    operation: {
      operationId: 'getHealth',
      summary: 'Check that the process is alive',
      tags: ['health'],
      responses: {
        200: {
          description: 'The process is alive.',
          schema: z.object({
            status: z.enum(['ok']),
            version: z.string().describe('The version of the service.'),
          }),
        },
      },
      errors: [],
    },
    handle: () => Promise.resolve({ status: 200, body: { status: 'ok', version } }),
  }),
  route({
    method: 'GET',
    path: '/readyz',
    access: publicly,
    failure: 'internal_error',
    operation: {
      operationId: 'getReadiness',
      summary: 'Check that every engine responds and the projections have caught up',
      tags: ['health'],
      responses: {
        200: { description: 'Ready.', schema: readyBody },
        503: { description: 'Not ready: `parts` says what is missing.', schema: readyBody },
      },
      errors: [],
    },
    handle: async () => {
      const parts = await readiness();
      const ready = parts.every((part) => part.ready);
      return { status: ready ? 200 : 503, body: { status: ready ? 'ready' : 'not_ready', parts } };
    },
  }),
  route({
    method: 'GET',
    path: '/metrics',
    access: publicly,
    failure: 'internal_error',
    operation: {
      operationId: 'getMetrics',
      summary: 'Read metrics in the text format of Prometheus',
      tags: ['health'],
      responses: { 200: { description: 'The metrics.', schema: null, type: 'text/plain' } },
      errors: [],
    },
    handle: async () => ({ status: 200, type: registry.contentType, text: await registry.metrics() }),
  }),
];
