import { Counter, type Registry } from 'prom-client';

export type HookMetrics = ReturnType<typeof hookMetrics>;

/** Calls of hooks that their log does not have. `limited`: beyond the hook's rate limit. */
export const hookMetrics = (registry: Registry) => {
  const calls = new Counter({
    name: 'unlogged_hook_calls_total',
    help: 'Refused hook calls that are in no hook’s log: of deleted hooks, or beyond the rate limit after the first of a minute.',
    labelNames: ['reason'] as const,
    registers: [registry],
  });
  return { deleted: () => calls.inc({ reason: 'deleted' }), limited: () => calls.inc({ reason: 'limited' }) };
};
