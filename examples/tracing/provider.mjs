// The smallest SDK of OpenTelemetry that there can be: it keeps no spans, but hands each one over when it
// ends. In production use a real one, such as @opentelemetry/sdk-node.
import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import { context, isSpanContextValid, ROOT_CONTEXT, trace } from '@opentelemetry/api';

class Span {
  constructor(name, { kind, attributes = {} }, parent, onEnd) {
    this.onEnd = onEnd;
    this.place = {
      traceId: parent?.traceId ?? randomBytes(16).toString('hex'),
      spanId: randomBytes(8).toString('hex'),
      traceFlags: 1,
      ...(parent?.traceState && { traceState: parent.traceState }),
    };
    this.told = { name, kind, attributes, parentSpanId: parent?.spanId ?? null, status: null };
  }
  spanContext() {
    return this.place;
  }
  isRecording() {
    return true;
  }
  updateName(name) {
    this.told.name = name;
    return this;
  }
  setAttribute(name, value) {
    this.told.attributes = { ...this.told.attributes, [name]: value };
    return this;
  }
  setAttributes(attributes) {
    this.told.attributes = { ...this.told.attributes, ...attributes };
    return this;
  }
  setStatus(status) {
    this.told.status = status;
    return this;
  }
  end() {
    const { traceId, spanId, traceState } = this.place;
    const state = traceState?.serialize() ?? null;
    this.onEnd({ traceId, spanId, tracestate: state, ...this.told });
  }
}

/** Registers it, once in a process: `onEnd` gets every span that ends. */
export const registerTracer = (onEnd) => {
  const tracer = {
    startSpan: (name, options = {}, around = context.active()) => {
      const parent = trace.getSpanContext(around);
      return new Span(name, options, parent && isSpanContextValid(parent) ? parent : undefined, onEnd);
    },
  };
  const active = new AsyncLocalStorage();
  const manager = {
    active: () => active.getStore() ?? ROOT_CONTEXT,
    with: (around, work, self, ...args) => active.run(around, () => work.call(self, ...args)),
    bind: (around, target) => target,
    enable: () => manager,
    disable: () => manager,
  };
  context.setGlobalContextManager(manager);
  trace.setGlobalTracerProvider({ getTracer: () => tracer });
};
