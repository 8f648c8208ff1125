import type { Registry } from 'prom-client';
import { z } from 'zod';
import * as shown from '../schema/shown.js';
import { route, type Route } from './route.js';

/** Asks every part. A rejection counts as not ready. */
export type Readiness = () => Promise<readonly Part[]>;

const readyBody = z.object({
  status: z.enum(['ready', 'not_ready']).describe('Whether every part is ready.'),
  parts: shown.list('What must be ready.', {
    name: shown.text('The engine or the projection.', 'event store'),
    ready: shown.boolean('Whether it is ready.'),
    detail: shown.nullText('How this part is doing, in plain words.'),
  }),
});

/** One engine or projection: whether it is ready, and how it is doing. */
export type Part = z.output<typeof readyBody>['parts'][number];

const shared = { access: { kind: 'public' }, failure: 'internal_error', tags: ['health'] } as const;

/** Routes for load balancers and monitoring systems. (docs/operations.md#health) */
export const healthRoutes = (readiness: Readiness, registry: Registry, version: string): readonly Route[] => [
  route('GET /healthz', {
    id: 'getHealth',
    summary: 'Check that the process is alive',
    ...shared,
    answers: {
      200: [
        'The process is alive.',
        shown.component('Health', 'The process is alive.', {
          status: z.enum(['ok']).describe('Always `ok`.'),
          version: shown.text('The version of the service.', '1.0.0'),
        }),
      ],
    },
    handle: () => Promise.resolve({ body: { status: 'ok', version } }),
  }),
  route('GET /readyz', {
    id: 'getReadiness',
    summary: 'Check that every engine responds and the projections have caught up',
    ...shared,
    answers: { 200: ['Ready.', readyBody], 503: ['Not ready: `parts` says what is missing.', readyBody] },
    handle: async () => {
      const parts = await readiness();
      const ready = parts.every((part) => part.ready);
      return { status: ready ? 200 : 503, body: { status: ready ? 'ready' : 'not_ready', parts } };
    },
  }),
  route('GET /metrics', {
    id: 'getMetrics',
    summary: 'Read metrics in the text format of Prometheus',
    ...shared,
    responses: { 200: { description: 'The metrics.', schema: null, type: 'text/plain' } },
    handle: async () => ({ type: registry.contentType, text: await registry.metrics() }),
  }),
];
