import { expect } from 'chai';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { exampleFile } from '../../support/examples/examples.js';
import type { EndedSpan } from '../../support/examples/tracer.js';
import { aCard, clientOf } from '../../support/http/service.js';
import { start } from '../../support/servers/programs.js';
import { eventually } from '../../support/time/eventually.js';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';

describe('the service with an SDK of OpenTelemetry', () => {
  it('has spans for a request, its command and its append, in the trace of the client', async function () {
    // A start takes seconds where the machine is busy.
    this.timeout(120_000);
    const directory = await mkdtemp(join(tmpdir(), 'cards-'));
    const service = start('serve', [], {
      PORT: '0',
      DATA_DIR: directory,
      NODE_OPTIONS: `--import ${pathToFileURL(exampleFile('tracing/to-stderr.mjs')).href}`,
    });
    try {
      const [, key = ''] = await eventually(() => /(hck_[\w-]{43})/.exec(service.out()), { within: 60_000 });
      const [, baseUrl = ''] = /(http:\/\/[^\s"]+)/.exec(service.out()) ?? [];
      const headers = { traceparent: `00-${traceId}-00f067aa0ba902b7-01` };
      expect((await clientOf(baseUrl, key)('/api/v1/cards', { body: aCard(), headers })).status).to.equal(
        201,
      );
    } finally {
      service.kill('SIGTERM');
    }
    const { error } = await service.ended;
    await rm(directory, { recursive: true, force: true });
    const spans = error
      .split('\n')
      .filter((line) => line.startsWith('{"traceId"'))
      .map((line) => JSON.parse(line) as EndedSpan)
      .filter((span) => span.traceId === traceId);
    const named = (name: string) => spans.find((span) => span.name === name);
    const [request, command] = [named('POST /api/v1/cards'), named('command sendCard')];
    expect(request).to.include({ parentSpanId: '00f067aa0ba902b7' });
    expect(request?.attributes).to.include({
      'http.route': '/api/v1/cards',
      'http.response.status_code': 201,
    });
    expect(command?.parentSpanId).to.equal(request?.spanId);
    expect(named('append')?.parentSpanId).to.equal(command?.spanId);
  });
});
