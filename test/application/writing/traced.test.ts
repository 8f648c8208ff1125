import { expect } from 'chai';
import { tracedAppends, type Tracing } from '../../../application/ports/tracing.js';
import { derivedUuid, streamName, type Instant } from '../../../domain/ids.js';
import { sealEvents } from '../../support/fixtures/seal-events.js';
import { MemoryEventStore } from '../../support/memory/event-store.js';

const stream = streamName('card', 'HC-7K3M9QX');
const metadata = {
  org: null,
  actor: { kind: 'operator', id: 'root' },
  requestId: 'req-1',
  correlationId: 'corr-1',
  causationId: 'cause-1',
  schemaVersion: 1,
  occurredAt: '2026-03-01T12:00:00.000Z' as Instant,
  subject: null,
} as const;

describe('the span of an append', () => {
  it('is no error after a conflict, but says so', async () => {
    const ends: unknown[] = [];
    const tracing: Tracing = {
      begin: () => ({
        traceparent: null,
        within: (work) => work(),
        end: (result) => void ends.push(result),
      }),
    };
    const store = tracedAppends(new MemoryEventStore({ atomic: true }), tracing);
    const append = (name: string) => {
      const event = { id: derivedUuid(name), type: 'Noted', data: {}, metadata };
      return store.append([{ stream, expected: -1, events: sealEvents(stream, null, [event]) }]);
    };
    const outcomes = [await append('first'), await append('second')];
    expect(outcomes.flat().map(({ kind }) => kind)).to.deep.equal(['appended', 'conflict']);
    expect(ends).to.deep.equal([{ attributes: {} }, { attributes: { 'cards.outcome': 'conflict' } }]);
  });
});
