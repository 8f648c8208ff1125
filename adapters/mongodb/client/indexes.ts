import type { IndexDescription } from 'mongodb';
import { keptLonger } from '../../../application/ports/idempotency-store.js';

/** Deliveries that are claimed: few, and found by an index. */
export const claimed = { claimedUntil: { $gt: 0 } } as const;

/** Dead letters, of all organizations. */
export const dead = { status: 'exhausted' } as const;

const withSubjects = { subjects: { $exists: true } } as const;

/**
 * The indexes of all collections, except for read models, which get theirs while they are empty. An index
 * that changes needs another name.
 */
export const allIndexes: Readonly<Record<string, readonly IndexDescription[]>> = {
  // Named as by GridFS.
  'artwork.files': [{ key: { filename: 1, uploadDate: 1 }, name: 'filename_1_uploadDate_1' }],
  'artwork.chunks': [{ key: { files_id: 1, n: 1 }, name: 'files_id_1_n_1', unique: true }],
  builds: [{ key: { name: 1, generation: 1 }, name: 'by_name', unique: true }],
  deliveries: [
    { key: { org: 1, seq: -1 }, name: 'by_org' },
    { key: { org: 1, status: 1, type: 1, seq: -1 }, name: 'by_kind' },
    { key: { endpoint: 1, status: 1, type: 1, seq: -1 }, name: 'of_endpoint' },
    { key: { card: 1, seq: -1 }, name: 'of_card' },
    { key: { endpoint: 1, status: 1, expires: 1 }, name: 'by_expiry' },
    { key: { org: 1, status: 1, occurredAt: 1, seq: 1 }, name: 'dead_letters' },
    { key: { seq: -1 }, name: 'all_dead_letters', partialFilterExpression: dead },
    { key: { removeAt: 1 }, name: 'ended', expireAfterSeconds: 0 },
    { key: { endpoint: 1, status: 1, due: 1, seq: 1 }, name: 'by_endpoint_and_due' },
    { key: { status: 1, endpoint: 1, due: 1 }, name: 'by_status' },
    { key: { org: 1, changedAt: 1 }, name: 'by_change' },
    { key: { 'uncounted.attempt': 1 }, name: 'uncounted', sparse: true },
    { key: { endpoint: 1 }, name: 'claimed', partialFilterExpression: claimed },
  ],
  delivery_targets: [
    { key: { org: 1 }, name: 'by_org' },
    { key: { state: 1, changedAt: 1 }, name: 'by_state' },
  ],
  hook_calls: [
    { key: { number: 1 }, name: 'by_number' },
    { key: { hook: 1, number: -1 }, name: 'by_hook' },
    { key: { endsAt: 1 }, name: 'ended', expireAfterSeconds: 0 },
  ],
  idempotency_keys: [{ key: { until: 1 }, name: 'until', expireAfterSeconds: keptLonger / 1_000 }],
  log_tiles: [{ key: { level: 1, position: 1 }, name: 'level_position_1' }],
  rate_counters: [{ key: { until: 1 }, name: 'until', expireAfterSeconds: 0 }],
  // MongoDB itself removes the row of a release that nothing runs any more.
  releases: [{ key: { signAt: 1 }, name: 'gone', expireAfterSeconds: 3_600 }],
  sign_in_records: [
    { key: { owner: 1, kind: 1, id: 1 }, name: 'by_owner' },
    { key: { ends: 1 }, name: 'ended', expireAfterSeconds: 0 },
  ],
  requests: [
    { key: { at: 1 }, name: 'by_at' },
    {
      key: { subjects: 1, at: -1, _id: -1 },
      name: 'by_subject',
      partialFilterExpression: withSubjects,
    },
    {
      key: { org: 1, subjects: 1, at: -1, _id: -1 },
      name: 'by_org_and_subject',
      partialFilterExpression: withSubjects,
    },
  ],
};
