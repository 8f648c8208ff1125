import { context, trace } from '@opentelemetry/api';
import { expect } from 'chai';
import { openTelemetry } from '../../../adapters/opentelemetry/tracing.js';
import { inSpan, type Tracing } from '../../../application/ports/tracing.js';
import { DomainError } from '../../../domain/errors.js';
import { loadTracer, type EndedSpan } from '../../support/examples/tracer.js';

const parent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
const placeOf = ({ traceId, spanId }: EndedSpan): string => `00-${traceId}-${spanId}-01`;

describe('spans through OpenTelemetry', () => {
  let spans: EndedSpan[];
  let onEnd: (span: EndedSpan) => void;
  let tracing: Tracing;
  before(async () => {
    const registerTracer = await loadTracer();
    registerTracer((span) => onEnd(span));
    tracing = openTelemetry('1.2.3');
  });
  beforeEach(() => {
    spans = [];
    onEnd = (span) => spans.push(span);
  });
  after(() => {
    trace.disable();
    context.disable();
  });

  it('belong below a place that was sent, and below each other', async () => {
    const request = tracing.begin('POST', {
      kind: 'server',
      parent: { traceparent: parent, tracestate: 'a=1, b=2=3' },
    });
    await request.within(() =>
      inSpan(tracing, 'command', { kind: 'internal' }, async (command) => {
        await Promise.resolve();
        const below = { kind: 'client', parent: { traceparent: parent } } as const;
        await inSpan(tracing, 'append', below, (append) => {
          expect(append.traceparent).not.to.equal(command.traceparent);
          return Promise.resolve();
        });
      }),
    );
    request.end({ name: 'POST /cards', attributes: { 'http.response.status_code': 201 } });
    const [append, command, top] = spans;
    expect(spans.map(({ name }) => name)).to.deep.equal(['append', 'command', 'POST /cards']);
    expect(spans.map(({ parentSpanId }) => parentSpanId)).to.deep.equal([
      command?.spanId,
      top?.spanId,
      '00f067aa0ba902b7',
    ]);
    expect(new Set(spans.map(({ traceId }) => traceId))).to.deep.equal(
      new Set(['4bf92f3577b34da6a3ce929d0e0e4736']),
    );
    expect(top).to.include({ tracestate: 'a=1,b=2=3', kind: 1, status: null });
    expect(top && placeOf(top)).to.equal(request.traceparent);
    expect(top?.attributes).to.deep.equal({ 'http.response.status_code': 201 });
    expect(append?.kind).to.equal(2);
  });

  it('say that the work failed, and let its error pass', async () => {
    const failing = inSpan(tracing, 'append', { kind: 'client' }, () => Promise.reject(new Error('no disk')));
    expect(await failing.catch(String)).to.equal('Error: no disk');
    expect(spans).to.containSubset([{ name: 'append', status: { code: 2, message: 'no disk' } }]);
  });

  it('are no error where the work was refused, but say its code', async () => {
    const refused = inSpan(tracing, 'command', { kind: 'internal' }, () =>
      Promise.reject(new DomainError('not_found', 'There is no such card.')),
    );
    expect(await refused.catch((error: unknown) => error)).to.be.instanceOf(DomainError);
    expect(spans).to.containSubset([{ status: null, attributes: { 'cards.refusal': 'not_found' } }]);
  });

  it('leave the result of the work alone when the SDK throws', async () => {
    onEnd = () => {
      throw new Error('no span processor');
    };
    const work = () => inSpan(tracing, 'append', { kind: 'client' }, () => Promise.resolve('done'));
    expect(await work()).to.equal('done');
    const failing = inSpan(tracing, 'append', { kind: 'client' }, () => Promise.reject(new Error('no disk')));
    expect(await failing.catch(String)).to.equal('Error: no disk');
  });

  it('begin a trace where there is none', () => {
    const span = tracing.begin('delivery attempt', { kind: 'client' });
    span.end();
    const [ended] = spans;
    expect(ended?.parentSpanId).to.equal(null);
    expect(ended && placeOf(ended)).to.equal(span.traceparent);
  });
});
