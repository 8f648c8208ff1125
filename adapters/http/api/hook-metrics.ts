import { Counter, type Registry } from 'prom-client';

/** Calls of hooks that their log does not have. */
export interface HookMetrics {
  readonly deleted: () => void;
  /** A call beyond the hook's rate limit. */
  readonly limited: () => void;
}

export const hookMetrics = (registry: Registry): HookMetrics => {
  const calls = new Counter({
    name: 'unlogged_hook_calls_total',
    help: 'Calls of hooks that were refused and are not in the log of the hook, by reason.',
    labelNames: ['reason'] as const,
    registers: [registry],
  });
  return { deleted: () => calls.inc({ reason: 'deleted' }), limited: () => calls.inc({ reason: 'limited' }) };
};
