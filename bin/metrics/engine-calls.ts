import { Counter, type Registry } from 'prom-client';
import type { CountCall } from '../../application/ports/tracing.js';

/** Counts this process's calls to its servers: a counter of metrics takes twenty times as long for each. */
export class EngineCalls {
  readonly #engines = new Map<string, Map<string, number>>();

  counterOf(engine: string): CountCall {
    const calls = this.#engines.get(engine) ?? new Map<string, number>();
    this.#engines.set(engine, calls);
    return (call, times = 1) => void calls.set(call, (calls.get(call) ?? 0) + times);
  }

  register(registry: Registry): void {
    const counter = new Counter({
      name: 'engine_calls_total',
      help: 'Calls to the servers; conflict: another process came first.',
      labelNames: ['engine', 'call'],
      registers: [registry],
      collect: () => {
        counter.reset();
        for (const [engine, calls] of this.#engines)
          for (const [call, times] of calls) counter.inc({ engine, call }, times);
      },
    });
  }
}
