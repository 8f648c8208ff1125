import type { ResolvedEvent } from '@eventstore/db-client';
import type { RawEvent } from '../../application/log/hash-chain.js';
import type { RecordedEvent } from '../../domain/events.js';
import { splitText } from './events.js';

type ClientEvent = NonNullable<ResolvedEvent['event']>;

/** A message of the server with an event in it, as the client's generated code parses it. */
interface Message {
  getEvent(): {
    getEvent(): { getData_asU8(): Uint8Array; getCustomMetadata_asU8(): Uint8Array } | undefined;
  };
}

type Next = (error?: Error | null, item?: unknown) => void;
type Transform = (message: Message, encoding: BufferEncoding, next: Next) => void;

const texts = new WeakMap<object, { readonly data: string; readonly metadata: string }>();

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8');

const isTransform = (read: object): read is { _transform: Transform } =>
  '_transform' in read && typeof read._transform === 'function';

/**
 * A read of the client that keeps the exact texts of each event beside it: the client itself parses them and
 * throws them away. Call it before the read starts. (docs/engines.md#eventstoredb)
 */
export const keepingTexts = <Read extends object>(read: Read): Read => {
  if (!isTransform(read)) throw new Error('the EventStoreDB client no longer reads as this adapter expects');
  const transform = read._transform;
  read._transform = function keep(message, encoding, next) {
    transform.call(read, message, encoding, (error, item) => {
      const event = isResolved(item) ? item.event : undefined;
      const record = event && message.getEvent().getEvent();
      if (event !== undefined && record !== undefined)
        texts.set(event, {
          data: textOf(record.getData_asU8()),
          metadata: textOf(record.getCustomMetadata_asU8()),
        });
      next(error, item);
    });
  };
  return read;
};

const isResolved = (item: unknown): item is ResolvedEvent =>
  typeof item === 'object' && item !== null && 'event' in item;

/** The event as the server keeps it, with the place that it has. Its read must have kept its texts. */
export const storedEvent = (
  event: ClientEvent,
  { id, stream, revision, type }: Pick<RecordedEvent, 'id' | 'stream' | 'revision' | 'type'>,
): RawEvent => {
  const kept = texts.get(event);
  if (kept === undefined) throw new Error(`the texts of ${stream}@${revision} were not kept`);
  return { id, stream, revision, type, ...splitText(kept.data), metadata: kept.metadata };
};
