import { expect } from 'chai';
import { Registry } from 'prom-client';
import { EngineCalls } from '../../../bin/metrics/engine-calls.js';

describe('the calls to engines', () => {
  it('are shown by engine and call, however many parts count them', async () => {
    const calls = new EngineCalls();
    const registry = new Registry();
    calls.register(registry);
    const queue = calls.counterOf('RabbitMQ');
    queue('publish', 3);
    calls.counterOf('RabbitMQ')('publish');
    calls.counterOf('MongoDB')('find builds');
    const shown = async (): Promise<readonly string[]> =>
      (await registry.metrics()).split('\n').filter((line) => line.startsWith('engine_calls_total'));
    expect(await shown()).to.deep.equal([
      'engine_calls_total{engine="RabbitMQ",call="publish"} 4',
      'engine_calls_total{engine="MongoDB",call="find builds"} 1',
    ]);
    queue('publish');
    expect((await shown())[0]).to.equal('engine_calls_total{engine="RabbitMQ",call="publish"} 5');
  });
});
