import {
  noStream,
  type EventStore,
  type NewEvent,
  type StreamWrite,
} from '../../../application/ports/event-store.js';
import { derivedUuid, streamName, type Instant, type StreamName } from '../../../domain/ids.js';
import { sealEvents } from '../../support/fixtures/seal-events.js';

/** Events without a meaning, sealed like real ones. */
export const notes = (
  stream: StreamName,
  command: string,
  data: readonly object[],
  before: { readonly revision: number; readonly hash: string } | null = null,
): readonly NewEvent[] =>
  sealEvents(
    stream,
    before,
    data.map((each, index) => ({
      id: derivedUuid(stream, command, index),
      type: 'Noted',
      data: each,
      metadata: {
        org: null,
        actor: { kind: 'system', id: null },
        requestId: null,
        correlationId: command,
        causationId: command,
        schemaVersion: 1,
        occurredAt: '2026-03-01T12:00:00.000Z' as Instant,
        subject: null,
        keyId: null,
      },
    })),
  );

export const noteStream = (id: string | number): StreamName => streamName('card', `note-${id}`);

/** The first write of a stream. */
export const firstNote = (id: string | number, data: object = { id }): StreamWrite => ({
  stream: noteStream(id),
  expected: noStream,
  events: notes(noteStream(id), 'first', [data]),
});

/** Appends `count` new streams of one event, one after the other. */
export const appendNotes = async (store: EventStore, count: number, from = 0): Promise<void> => {
  for (let id = from; id < from + count; id += 1) await store.append([firstNote(id)]);
};
