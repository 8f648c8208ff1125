import { expect } from 'chai';
import { z } from 'zod';
import { route } from '../../../../adapters/http/server/route.js';
import type { SpanOptions, Tracing } from '../../../../application/ports/tracing.js';
import { call, startHttp, type TestService } from '../../../support/http/http.js';

const sent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

const routes = (['GET', 'POST'] as const).map((method) =>
  route(`${method} /place/:what`, {
    id: method === 'GET' ? 'getPlace' : 'makePlace',
    summary: 'The place of this request in a trace',
    access: { kind: 'public' },
    params: z.object({ what: z.string() }),
    failure: 'internal_error',
    tags: ['health'],
    responses: { 200: { description: 'The place.', schema: z.object({ traceparent: z.string() }) } },
    handle: ({ params, traceparent }) =>
      params.what === 'failure'
        ? Promise.reject(new Error('on purpose'))
        : Promise.resolve({ status: 200, body: { traceparent } }),
  }),
);

describe('the trace of a request', () => {
  let service: TestService;
  before(async () => {
    service = await startHttp(routes);
  });
  after(() => service.close());

  const placeOf = async (headers: Readonly<Record<string, string>>): Promise<string> => {
    const { body } = await call(service, { path: '/place/x', headers });
    return z.object({ traceparent: z.string() }).parse(body).traceparent;
  };

  it('is the one that its traceparent names', async () => {
    expect(await placeOf({ traceparent: sent })).to.equal(sent);
  });

  it('begins with the request if it names none, or if that is malformed', async () => {
    const begun = [await placeOf({}), await placeOf({ traceparent: `${sent}-more` })];
    for (const place of begun) expect(place).to.match(/^00-0{5}[0-9a-f]{27}-[0-9a-f]{16}-00$/);
    expect(new Set(begun).size).to.equal(2);
  });

  it('is named by every log line about it', async () => {
    await call(service, { path: '/place/failure', headers: { traceparent: sent } });
    const lines = service.log.slice(-2).map(({ msg, trace_id: traceId }) => [msg, traceId]);
    expect(lines).to.deep.equal([
      ['request failed', '4bf92f3577b34da6a3ce929d0e0e4736'],
      ['request', '4bf92f3577b34da6a3ce929d0e0e4736'],
    ]);
  });
});

describe('the spans of a request', () => {
  it('are its own, with route and status, and that of its command', async () => {
    const begun: (readonly [string, SpanOptions])[] = [];
    const ended: unknown[] = [];
    const tracing: Tracing = {
      begin: (name, options) => {
        begun.push([name, options]);
        const traceparent = sent.replace('00f067aa0ba902b7', `000000000000000${begun.length}`);
        return { traceparent, within: (work) => work(), end: (result) => void ended.push(result) };
      },
    };
    const service = await startHttp(routes, { tracing });
    try {
      const state = { traceparent: sent, tracestate: 'vendor=1' };
      const { body } = await call(service, { method: 'POST', path: '/place/x', headers: state });
      await call(service, { path: '/place/failure' });
      expect(body).to.deep.equal({ traceparent: sent.replace('00f067aa0ba902b7', '0000000000000001') });
    } finally {
      await service.close();
    }
    expect(begun).to.deep.equal([
      ['POST', { kind: 'server', parent: { traceparent: sent, tracestate: 'vendor=1' } }],
      ['command makePlace', { kind: 'internal' }],
      ['GET', { kind: 'server' }],
    ]);
    const shown = (method: string, status: number) => ({
      'http.request.method': method,
      'http.response.status_code': status,
      'http.route': '/place/{what}',
    });
    expect(ended).to.containSubset([
      { attributes: {} },
      { name: 'POST /place/{what}', attributes: shown('POST', 200) },
      { name: 'GET /place/{what}', attributes: shown('GET', 500), error: 'status 500' },
    ]);
  });
});
