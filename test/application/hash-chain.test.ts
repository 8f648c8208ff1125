import { createHash } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import {
  seal,
  storedTexts,
  verifiedHash,
  verifies,
  type UnsealedEvent,
} from '../../application/hash-chain.js';
import type { NewEvent } from '../../application/ports/event-store.js';
import type { RecordedEvent } from '../../domain/events.js';
import { derivedUuid, streamName, type Instant, type OrganizationId } from '../../domain/ids.js';
import { sealEvents } from '../support/fixtures/seal-events.js';

const unsealed = (data: object): UnsealedEvent => ({
  id: derivedUuid('an event'),
  type: 'Noted',
  data,
  metadata: {
    org: 'org-1' as OrganizationId,
    actor: { kind: 'key', id: 'key-1' },
    requestId: 'req-1',
    correlationId: 'correlation',
    causationId: 'causation',
    schemaVersion: 1,
    occurredAt: '2026-03-01T12:00:00.000Z' as Instant,
    subject: 'subject',
    keyId: null,
  },
});

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const previous = 'f'.repeat(64);
const salt = () => 'some salt';

/** The event as a store returns it. */
const readBack = (event: NewEvent): RecordedEvent => ({
  stream: streamName('card', 'a'),
  revision: 0,
  position: null,
  ...(JSON.parse(JSON.stringify(event)) as Pick<RecordedEvent, 'id' | 'type' | 'data' | 'metadata'>),
});

describe('the hash chain', () => {
  it('hashes the previous hash and the stored texts with SHA-256', () => {
    const event = seal({ hash: previous }, unsealed({ n: 1 }), salt);
    const { hash, ...covered } = event.metadata;
    expect(hash).to.equal(sha256(`${previous}\nNoted\n${event.id}\n{"n":1}\n${JSON.stringify(covered)}`));
    expect(covered).to.deep.equal({ ...unsealed({}).metadata, personal: null });
  });

  it('covers a salted digest of the personal data, not the data itself', () => {
    const event = seal({ hash: null }, unsealed({ n: 1, personal: { name: 'Ada' } }), salt);
    expect(event.data).to.deep.equal({ n: 1, personal: { name: 'Ada' } });
    expect(event.metadata.personal).to.deep.equal({
      salt: 'some salt',
      digest: sha256('some salt\n{"name":"Ada"}'),
    });
    expect(storedTexts(event)).to.deep.equal({
      data: '{"n":1}',
      personal: '{"name":"Ada"}',
      metadata: JSON.stringify(event.metadata),
    });
    const { hash, ...covered } = event.metadata;
    expect(hash).to.equal(sha256(`\nNoted\n${event.id}\n{"n":1}\n${JSON.stringify(covered)}`));
  });

  it('makes each event verify only after the one before it', () => {
    const events = sealEvents(previous, [unsealed({ n: 1 }), unsealed({ n: 2 })], salt);
    const [first, second] = events.map(readBack);
    if (first === undefined || second === undefined) throw new Error('two events were sealed');
    expect([verifies(previous, first), verifies(first.metadata.hash, second)]).to.deep.equal([true, true]);
    expect([verifies(null, first), verifies(previous, second)]).to.deep.equal([false, false]);
  });

  it('still verifies after personal data is erased, but after no other change of it', () => {
    const event = readBack(seal({ hash: null }, unsealed({ n: 1, personal: { name: 'Ada' } }), salt));
    const other = readBack(seal({ hash: null }, unsealed({ n: 1 }), salt));
    expect(verifies(null, { ...event, data: { n: 1 } })).to.equal(true);
    expect(verifies(null, { ...event, data: { n: 2 } })).to.equal(false);
    expect(verifies(null, { ...event, data: { n: 1, personal: { name: 'Eve' } } })).to.equal(false);
    expect(verifies(null, { ...other, data: { n: 1, personal: { name: 'Eve' } } })).to.equal(false);
    expect(verifies(null, { ...event, metadata: { ...event.metadata, personal: null } })).to.equal(false);
  });

  it('does not verify after a change of any part', () => {
    const event = readBack(seal({ hash: null }, unsealed({ n: 1 }), salt));
    const changed: readonly RecordedEvent[] = [
      { ...event, type: 'Denied' },
      { ...event, id: derivedUuid('another') },
      { ...event, data: {} },
      { ...event, metadata: { ...event.metadata, occurredAt: '2026-03-01T12:00:00.001Z' as Instant } },
      { ...event, metadata: { ...event.metadata, hash: previous } },
    ];
    expect(changed.map((each) => verifies(null, each))).to.deep.equal([false, false, false, false, false]);
  });

  it('verifies any JSON, both parsed and as stored', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.option(fc.jsonValue()), (data, personal) => {
        const event = seal(
          { hash: previous },
          unsealed(personal === null ? data : { ...data, personal }),
          salt,
        );
        expect(verifies(previous, readBack(event))).to.equal(true);
        expect(verifiedHash(previous, { id: event.id, type: event.type, ...storedTexts(event) })).to.equal(
          event.metadata.hash,
        );
        expect(
          verifiedHash(previous, { id: event.id, type: event.type, ...storedTexts({ ...event }) }),
        ).to.equal(event.metadata.hash);
        expect(verifiedHash(null, { id: event.id, type: event.type, ...storedTexts(event) })).to.equal(null);
      }),
    );
  });
});
