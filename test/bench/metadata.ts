import type { EventMetadata } from '../../domain/events.js';
import { derivedUuid, type Instant, type OrganizationId } from '../../domain/ids.js';

/** Of events that are written past the service: nothing checks their hashes. */
export const metadataOf = (org: OrganizationId, occurredAt: Instant): EventMetadata => ({
  org,
  actor: { kind: 'operator', id: null },
  requestId: 'req_0123456789abcdef',
  correlationId: 'req_0123456789abcdef',
  causationId: derivedUuid('bench command'),
  schemaVersion: 1,
  occurredAt,
  subject: null,
  keyId: null,
  chain: 2,
  personal: null,
  hash: '0123456789abcdef'.repeat(4),
});
