import type { Stored } from '../../application/ports/read-models.js';
import type { LoggedEvent } from '../../domain/events.js';
import { derivedUuid, idOf, Instant, streamName, type StreamName } from '../../domain/ids.js';
import type { Projection } from '../../projections/projection.js';

/** A document made for tests: what happened to a note, with two fields to filter by and one to wait by. */
export interface Note {
  readonly org: string | null;
  readonly texts: readonly string[];
  readonly status: string;
  readonly tag: string | null;
  readonly due: string | null;
}

export interface NoteChange {
  readonly org?: string | null;
  readonly text?: string;
  readonly status?: string;
  readonly tag?: string | null;
  readonly due?: string | null;
}

const blank: Note = { org: null, texts: [], status: 'open', tag: null, due: null };

const changed = (note: Note, { text, ...rest }: NoteChange): Note => ({ ...note, ...rest, texts: text === undefined ? note.texts : [...note.texts, text] });

/** Events of type `Ignored` change nothing. */
export const notes: Projection<Note> = {
  name: 'notes',
  version: 1,
  category: 'contact',
  key: ({ stream }) => idOf(stream),
  evolve: (note, { type, data }) => (type === 'Ignored' ? note : changed(note ?? blank, data)),
  org: ({ org }) => org,
  indexes: { status: ({ status }) => status, tag: ({ tag }) => tag },
  agenda: ({ due }) => due,
};

/** How often each stream of the notes was written to: a second projection of the same events. */
export const counts: Projection<{ readonly count: number }> = {
  name: 'counts',
  version: 1,
  category: 'contact',
  key: ({ stream }) => idOf(stream),
  evolve: (known) => ({ count: (known?.count ?? 0) + 1 }),
  org: () => null,
  indexes: {},
};

export const noteStream = (id: string): StreamName => streamName('contact', id);

const metadata: LoggedEvent['metadata'] = {
  org: null,
  actor: { kind: 'system', id: null },
  requestId: null,
  correlationId: 'test',
  causationId: 'test',
  schemaVersion: 1,
  occurredAt: Instant.parse('2026-03-02T15:00:00.000Z'),
  subject: null,
  keyId: null,
  personal: null,
  hash: 'hash',
};

/** An event of a note as a store takes it. */
export const noteEvent = (id: string, revision: number, data: NoteChange, type = 'Changed') => ({ id: derivedUuid(id, revision), type, data, metadata });

/** A document as a projector saves it. */
export const storedNote = (key: string, created: number, note: NoteChange = {}, position = created): Stored<Note> => ({
  key,
  created: BigInt(created),
  position: BigInt(position),
  document: changed(blank, note),
});
