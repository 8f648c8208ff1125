import { Counter, type Registry } from 'prom-client';
import type { CountCall } from '../../application/ports/tracing.js';

export class EngineCalls {
  readonly #counter = new Counter({
    name: 'engine_calls_total',
    help: 'Calls to the servers; conflict: another process came first.',
    labelNames: ['engine', 'call'],
    registers: [],
  });

  counterOf(engine: string): CountCall {
    return (call, times = 1) => this.#counter.inc({ engine, call }, times);
  }

  register(registry: Registry): void {
    registry.registerMetric(this.#counter);
  }
}
