import { expect } from 'chai';
import { Registry } from 'prom-client';
import { SystemClock } from '../../../adapters/system/clock.js';
import { registerProcessMetrics } from '../../../bin/metrics/process-metrics.js';
import { eventually } from '../../support/time/eventually.js';

const valueOf = (text: string, name: string): number =>
  Number(
    text
      .split('\n')
      .find((line) => line.startsWith(`${name} `))
      ?.slice(name.length) ?? Number.NaN,
  );

describe('the metrics of the process', () => {
  const clock = new SystemClock();
  const registry = new Registry();
  registerProcessMetrics(registry, clock, { version: '1.2.3', role: 'api' });

  it('name the version of the service, its role and its Node', async () => {
    expect(await registry.metrics()).to.include(
      `service_info{version="1.2.3",role="api",node="${process.versions.node}"} 1`,
    );
  });

  it('tell memory, processor time and when the process began', async () => {
    const text = await registry.metrics();
    expect(valueOf(text, 'process_resident_memory_bytes')).to.be.greaterThan(10_000_000);
    expect(valueOf(text, 'process_heap_bytes')).to.be.within(1_000_000, 10_000_000_000);
    expect(valueOf(text, 'process_cpu_seconds_total')).to.be.greaterThan(0);
    expect(valueOf(text, 'process_start_time_seconds')).to.be.within(
      clock.now() / 1000 - process.uptime() - 60,
      clock.now() / 1000,
    );
  });

  it('show that the main thread was held up', async () => {
    // What held it up is counted a moment afterwards: each look in between forgets what came before.
    const over = new AbortController();
    const holding = (async () => {
      while (!over.signal.aborted) {
        const until = clock.monotonic() + 200;
        while (clock.monotonic() < until);
        await clock.sleep(100, over.signal);
      }
    })();
    const lag = async () => valueOf(await registry.metrics(), 'event_loop_lag_max_seconds');
    try {
      await eventually(async () => (await lag()) >= 0.05, { what: 'a lag of the event loop' });
    } finally {
      over.abort();
      await holding;
    }
  });
});
