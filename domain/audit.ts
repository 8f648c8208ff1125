import { z } from 'zod';
import { events, type Aggregate, type EventOf } from './events.js';
import { Instant, type OrganizationId } from './ids.js';
import { house } from './members.js';

export const exportKinds = ['card', 'organization', 'period'] as const;
export type ExportKind = (typeof exportKinds)[number];

/** The subject of an export of every organization's events. */
export const everything = 'all';

/**
 * Records each export of the log, since an export can't be taken back, and each head of the log and key of
 * personal data that was given up.
 */
export const auditEvents = events({
  AuditExported: {
    kind: z.enum(exportKinds),
    subject: z.string(),
    /** Whether personal data was shown. (`personal` would itself be personal data.) */
    withPersonal: z.boolean(),
    /** Whether the pictures on fronts were. */
    withArtwork: z.boolean(),
    /** Hex SHA-256 of every line but the last; null if the export was broken off before its end. */
    sum: z.string().nullable(),
  },
  /** An older copy was restored: signatures beyond it no longer hold. */
  HeadGivenUp: {
    /** Of the head that was signed last, with its root in base64; null if that was lost, too. */
    size: z.int().nullable(),
    root: z.string().nullable(),
    /** How many events the log holds, from which it goes on. */
    from: z.int(),
    /** The name of the person who decided it. */
    by: z.string(),
  },
  /**
   * Keys of personal data were lost: this many events can't be read, up to the time of the `newest`, although
   * no erasure covers them.
   */
  KeysLost: {
    events: z.int().positive(),
    newest: Instant,
    /** How many blocks of keys were lost, of all organizations together. */
    blocks: z.int().positive(),
    /** The name of the person who decided it. */
    by: z.string(),
  },
});
export type AuditEvent = EventOf<typeof auditEvents>;

/** An audit has no state: no decision depends on earlier entries. */
export const audit: Aggregate<null, AuditEvent> = {
  category: 'audit',
  schemas: auditEvents,
  initial: null,
  evolve: () => null,
  lastEventIsState: true,
};

/**
 * The id of the stream for exports of one organization; null stands for all organizations, whose exports are
 * in the house's stream.
 */
export const auditIdOf = (org: OrganizationId | null): OrganizationId => org ?? house;
