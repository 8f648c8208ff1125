import { hash } from 'node:crypto';
import { z } from 'zod';

export type Brand<T, Name extends string> = T & { readonly __brand: Name };

export type Uuid = Brand<string, 'Uuid'>;
export type OrganizationId = Brand<string, 'OrganizationId'>;
export type CommandId = Brand<string, 'CommandId'>;
export type StreamName = Brand<string, 'StreamName'>;
/** An instant as ISO 8601 in UTC with milliseconds: `2026-03-01T12:00:00.000Z`. */
export type Instant = Brand<string, 'Instant'>;
/** A calendar day without a zone: `YYYY-MM-DD`. */
export type LocalDate = Brand<string, 'LocalDate'>;
export type Milliseconds = number;

export const OrganizationId = z.string().transform((id) => id as OrganizationId);
export const CommandId = z.string().transform((id) => id as CommandId);
export const Uuid = z.string().transform((id) => id as Uuid);
export const Instant = z.string().transform((at) => at as Instant);
export const LocalDate = z.string().transform((day) => day as LocalDate);

/** Whether a text has the form of the ids that are UUIDs, as this service writes them. */
export const isUuid = (text: string): text is Uuid =>
  /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);

/** The kinds of streams, one per aggregate. A stream is named `{category}-{id}`; names are never reused. */
export const categories = [
  'card', 'credits', 'contact', 'organization', 'key', 'do-not-mail', 'hook', 'webhooks', 'collection', 'handwriting', 'purchase', 'audit', 'account', 'members',
] as const; // prettier-ignore
export type Category = (typeof categories)[number];

export const streamName = (category: Category, id: string): StreamName => `${category}-${id}` as StreamName;

/** The category with which a stream's name begins; the name itself if it has none. */
export const categoryOf = (stream: StreamName): string =>
  stream.startsWith('do-not-mail-') ? 'do-not-mail' : stream.slice(0, stream.indexOf('-'));

export const idOf = (stream: StreamName): string => stream.slice(categoryOf(stream).length + 1);

const namespace = Buffer.from('7b0f5c0e6a5d4c2f9c1b3f4f0d9a1e57', 'hex');

/**
 * One buffer for everything that is hashed: a send needs several ids, and allocating a buffer for each took
 * twice as long.
 */
const assembled = Buffer.alloc(2_048);
namespace.copy(assembled);
const maxBytesOf = (name: string): number => namespace.length + 3 * name.length;

const namespaced = (name: string): Buffer =>
  maxBytesOf(name) > assembled.length
    ? Buffer.concat([namespace, Buffer.from(name)])
    : assembled.subarray(0, namespace.length + assembled.write(name, namespace.length));

/**
 * A name-based UUID (version 5) of the parts, in the service's own namespace: the same parts always give the
 * same id.
 */
export const derivedUuid = (...parts: readonly (string | number)[]): Uuid => {
  const hex = hash('sha1', namespaced(JSON.stringify(parts)), 'hex');
  const variant = '89ab'.charAt(Number.parseInt(hex.charAt(16), 16) & 3);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}` as Uuid;
};
