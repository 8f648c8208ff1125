import type { Clock } from '../../application/ports/system.js';

/** What the server keeps of an event. */
export interface StoredRecord {
  readonly id: string;
  readonly stream: string;
  readonly revision: bigint;
  readonly type: string;
  readonly contentType: string;
  readonly data: Uint8Array;
  readonly metadata: Uint8Array;
  /** Also its prepare position: every event of an append has its own. */
  readonly commit: bigint;
  /** In ticks of 100 ns. */
  readonly created: bigint;
}

export interface ProposedRecord {
  readonly id: string;
  readonly type: string;
  readonly contentType?: string;
  readonly data?: Uint8Array;
  readonly metadata?: Uint8Array;
}

/**
 * What other programs write in large quantities: `count` records that are made when they are read, of these
 * streams and types by turns. A link is a record of a stream such as `$ce-invoice`, of the type `$>`.
 */
export interface OthersRecords {
  readonly count: number;
  readonly kinds: readonly { readonly stream: string; readonly type: string }[];
}

/** Records of others in a row, from a place and a position on. */
interface Run extends OthersRecords {
  readonly commit: bigint;
  readonly created: bigint;
}

/** Which streams a reader wants. */
export type Wanted = (stream: string) => boolean;

export const everything: Wanted = () => true;

/** The records of the log in order, those of others without keeping them. */
class Records {
  readonly #parts: (StoredRecord | Run)[] = [];
  /** The place of the first record of each part. */
  readonly #places: number[] = [];
  length = 0;

  push(part: StoredRecord | Run): void {
    this.#parts.push(part);
    this.#places.push(this.length);
    this.length += 'count' in part ? part.count : 1;
  }

  clear(): void {
    this.truncate(0);
  }

  truncate(length: number): void {
    while ((this.#places.at(-1) ?? -1) >= length) {
      this.#places.pop();
      this.#parts.pop();
    }
    const [part, place] = [this.#parts.at(-1), this.#places.at(-1)];
    if (part !== undefined && place !== undefined && 'count' in part)
      this.#parts.splice(-1, 1, { ...part, count: Math.min(part.count, length - place) });
    this.length = Math.min(this.length, length);
  }

  at(place: number): StoredRecord | undefined {
    const index = this.#indexOf(place);
    const [part, first] = [this.#parts[index], this.#places[index]];
    if (part === undefined || first === undefined || place >= this.length) return undefined;
    return 'count' in part ? recordOf(part, place - first) : part;
  }

  /** The next place from one on, or the last one up to it, whose record is wanted; null if there is none. */
  next(from: number, wanted: Wanted, isBackwards = false): number | null {
    const step = isBackwards ? -1 : 1;
    for (let place = from; place >= 0 && place < this.length; place += step) {
      const index = this.#indexOf(place);
      const [part, first] = [this.#parts[index], this.#places[index]];
      if (part === undefined || first === undefined) return null;
      if (!('count' in part)) {
        if (wanted(part.stream)) return place;
      } else if (part.kinds.some(({ stream }) => wanted(stream))) {
        if (wanted(recordOf(part, place - first).stream)) return place;
      } else place = isBackwards ? first : first + part.count - 1;
    }
    return null;
  }

  /** The index of the part that a place lies in. */
  #indexOf(place: number): number {
    let [low, high] = [0, this.#places.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#places[middle] ?? 0) <= place) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  *[Symbol.iterator](): Generator<StoredRecord> {
    for (let place = 0; place < this.length; place += 1) {
      const record = this.at(place);
      if (record !== undefined) yield record;
    }
  }
}

const recordOf = ({ kinds, commit, created }: Run, offset: number): StoredRecord => {
  const { stream, type } = kinds[offset % kinds.length] ?? { stream: 'others', type: 'Other' };
  return {
    id: `d1d1d1d1-0000-4000-8000-${String(offset).padStart(12, '0')}`,
    stream,
    revision: BigInt(Math.floor(offset / kinds.length)),
    type,
    contentType: type === '$>' ? 'application/octet-stream' : 'application/json',
    data: type === '$>' ? Buffer.from(`${offset}@elsewhere`) : empty,
    metadata: empty,
    commit: commit + BigInt(offset) * othersSize,
    created,
  };
};

export type Expected = number | 'any' | 'exists';

/** `position`: null for a repeat whose events were truncated since. */
export type Accepted =
  | { readonly kind: 'stored'; readonly revision: number; readonly position: bigint | null }
  | { readonly kind: 'wrong revision'; readonly current: number }
  | { readonly kind: 'tombstoned' }
  | { readonly kind: 'too large' };

/** What a reader of a stream finds. */
export type StreamState =
  | { readonly kind: 'events'; readonly records: readonly StoredRecord[] }
  | { readonly kind: 'none' }
  | { readonly kind: 'tombstoned' };

/** What `$$name` says of the stream `name`. */
export interface StreamMetadata {
  /** The first revision that is visible; Infinity for a stream that is deleted, but may begin again. */
  readonly truncateBefore?: number;
  readonly maxCount?: number;
  /** Who may read it: users and groups; null if its metadata doesn't say. */
  readonly readers?: readonly string[] | null;
}

export const maxAppend = 1_048_576;
const ticksPerMillisecond = 10_000n;
const recordOverhead = 137n;
const othersSize = 300n;
/** The server's number for "everything" in `$tb`, which JSON rounds. */
const deletedFrom = 9_223_372_036_854_775_807n;

/**
 * The streams of the stand-in and their rules, as they were measured on a real server: revisions, repeats,
 * truncation, deletion. (docs/engines.md#eventstoredb)
 */
export class StandInLog {
  readonly #clock: Clock;
  readonly #records = new Records();
  readonly #streams = new Map<string, StoredRecord[]>();
  readonly #metadata = new Map<string, StreamMetadata>();
  readonly #tombstoned = new Set<string>();
  #end = 0n;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** All records, in order. */
  get records(): readonly StoredRecord[] {
    return [...this.#records];
  }

  /** How many records there are. */
  get length(): number {
    return this.#records.length;
  }

  at(place: number): StoredRecord | undefined {
    return this.#records.at(place);
  }

  /** The next place from one on, or the last one up to it, whose stream is wanted; null if there is none. */
  next(from: number, wanted: Wanted, isBackwards = false): number | null {
    return this.#records.next(from, wanted, isBackwards);
  }

  /** Adds records of others. */
  addOthers(others: OthersRecords): void {
    const created = BigInt(this.#clock.now()) * ticksPerMillisecond;
    this.#records.push({ ...others, commit: this.#end, created });
    this.#end += BigInt(others.count) * othersSize;
  }

  streamNames(): readonly string[] {
    return [...this.#streams.keys()];
  }

  metadataOf(stream: string): StreamMetadata {
    return this.#metadata.get(stream) ?? {};
  }

  /** The index of the first record at a position or after it. */
  indexFrom(position: bigint): number {
    let [low, high] = [0, this.#records.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#records.at(middle)?.commit ?? 0n) < position) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The server refuses to begin there. Past the end it waits for what may come. */
  isInsideRecord(position: bigint): boolean {
    const next = this.#records.at(this.indexFrom(position));
    return position > 0n && next !== undefined && next.commit !== position;
  }

  /** What is visible of a stream. The index of a record is not its revision if the stream was truncated. */
  stream(name: string): StreamState {
    if (this.#tombstoned.has(name)) return { kind: 'tombstoned' };
    const records = this.#streams.get(name);
    if (records === undefined || this.#isDeleted(name)) return { kind: 'none' };
    const first = this.#firstVisible(name, records);
    return { kind: 'events', records: first === 0 ? records : records.slice(first) };
  }

  /**
   * The server's rule: at the expected revision it stores. If the stream has grown since, the same ids at the
   * same revisions count as stored, and it answers their position; anything else is a conflict. On a deleted
   * stream NO_STREAM succeeds, and the revisions go on.
   */
  append(stream: string, expected: Expected, proposed: readonly ProposedRecord[]): Accepted {
    if (this.#tombstoned.has(stream)) return { kind: 'tombstoned' };
    if (proposed.reduce((size, event) => size + sizeOf(event), 0) > maxAppend) return { kind: 'too large' };
    const present = this.#streams.get(stream) ?? [];
    const current = present.length - 1;
    const isReborn = this.#isDeleted(stream) && (expected === -1 || expected === current);
    if (typeof expected === 'number' && expected !== current && !isReborn)
      return this.#repeat(stream, present, expected, proposed);
    if (expected === 'exists' && current < 0) return { kind: 'wrong revision', current };
    const last = proposed.map((event) => this.store(stream, event)).at(-1);
    if (isReborn) this.#setMetadata(stream, { ...this.metadataOf(stream), truncateBefore: current + 1 });
    return last === undefined
      ? { kind: 'wrong revision', current }
      : { kind: 'stored', revision: Number(last.revision), position: last.commit };
  }

  /** Stores an event without asking for anything. */
  store(stream: string, event: ProposedRecord): StoredRecord {
    const records = this.#streams.get(stream) ?? [];
    this.#streams.set(stream, records);
    const record = this.#write(stream, BigInt(records.length), event);
    records.push(record);
    if (stream.startsWith('$$')) this.#metadata.set(stream.slice(2), parseMetadata(record.data));
    return record;
  }

  /** Deletes a stream so that it may begin again: its events are gone from it, but not from the log. */
  softDelete(stream: string): void {
    this.#setMetadata(stream, { ...this.metadataOf(stream), truncateBefore: Infinity });
  }

  /** Deletes a stream for good. */
  tombstone(stream: string): void {
    this.#tombstoned.add(stream);
    this.#write(stream, deletedFrom, { id: newId(this.#records.length), type: '$streamDeleted' });
  }

  /** Hides the beginning of a stream. */
  truncate(stream: string, metadata: Pick<StreamMetadata, 'truncateBefore' | 'maxCount'>): void {
    this.#setMetadata(stream, { ...this.metadataOf(stream), ...metadata });
  }

  /** Forgets everything but its first `keep` records. */
  rewind(keep: number): void {
    this.#records.truncate(keep);
    const end = this.#records.at(keep - 1)?.commit ?? -1n;
    for (const [name, records] of this.#streams) {
      const kept = records.filter(({ commit }) => commit <= end);
      if (kept.length === 0) this.#streams.delete(name);
      else this.#streams.set(name, kept);
    }
    this.#end = end + recordOverhead + othersSize;
  }

  /** Puts other records in place of all, as somebody could who can write to the server's files. */
  replace(records: readonly StoredRecord[]): void {
    this.#records.clear();
    for (const record of records) this.#records.push(record);
    this.#streams.clear();
    for (const record of records) {
      const stream = this.#streams.get(record.stream) ?? [];
      stream.push(record);
      this.#streams.set(record.stream, stream);
    }
    for (const stream of this.#streams.values())
      stream.sort((one, other) => (one.revision < other.revision ? -1 : 1));
    this.#end = (records.at(-1)?.commit ?? 0n) + recordOverhead;
  }

  #repeat(
    stream: string,
    present: readonly StoredRecord[],
    expected: number,
    proposed: readonly ProposedRecord[],
  ): Accepted {
    const stored = present.slice(expected + 1, expected + 1 + proposed.length);
    const last = stored.at(-1);
    const isSame =
      stored.length === proposed.length && proposed.every(({ id }, index) => id === stored[index]?.id);
    if (!isSame || last === undefined) return { kind: 'wrong revision', current: present.length - 1 };
    const isVisible =
      !this.#isDeleted(stream) && Number(last.revision) >= this.#firstVisible(stream, present);
    return { kind: 'stored', revision: Number(last.revision), position: isVisible ? last.commit : null };
  }

  #isDeleted(stream: string): boolean {
    return this.metadataOf(stream).truncateBefore === Infinity;
  }

  #firstVisible(name: string, records: readonly StoredRecord[]): number {
    const { truncateBefore = 0, maxCount = Infinity } = this.metadataOf(name);
    return Math.max(0, truncateBefore, records.length - maxCount);
  }

  #setMetadata(stream: string, metadata: StreamMetadata): void {
    const { truncateBefore, maxCount, readers } = metadata;
    const json = {
      ...(truncateBefore !== undefined && {
        $tb: truncateBefore === Infinity ? Number(deletedFrom) : truncateBefore,
      }),
      ...(maxCount !== undefined && { $maxCount: maxCount }),
      ...(readers !== undefined && readers !== null && { $acl: { $r: readers } }),
    };
    const data = Buffer.from(JSON.stringify(json));
    this.store(`$$${stream}`, { id: newId(this.#records.length), type: '$metadata', data });
  }

  #write(stream: string, revision: bigint, event: ProposedRecord): StoredRecord {
    const { id, type, contentType = 'application/json', data = empty, metadata = empty } = event;
    const created = BigInt(this.#clock.now()) * ticksPerMillisecond;
    const record = { id, stream, revision, type, contentType, data, metadata, commit: this.#end, created };
    this.#records.push(record);
    this.#end += recordOverhead + BigInt(data.length + metadata.length);
    return record;
  }
}

const empty = Buffer.from('{}');

/** As the server counts it: the type in UTF-16. */
const sizeOf = ({ type, data = empty, metadata = empty }: ProposedRecord): number =>
  2 * type.length + data.length + metadata.length;

/** An id for an event of the server's own. */
const newId = (count: number): string => `00000000-0000-4000-9000-${String(count).padStart(12, '0')}`;

const property = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;

const parseMetadata = (data: Uint8Array): StreamMetadata => {
  const json: unknown = JSON.parse(Buffer.from(data).toString() || '{}');
  const [truncateBefore, maxCount] = [property(json, '$tb'), property(json, '$maxCount')];
  const readers = property(property(json, '$acl'), '$r');
  return {
    ...(typeof truncateBefore === 'number' && {
      truncateBefore: truncateBefore >= Number.MAX_SAFE_INTEGER ? Infinity : truncateBefore,
    }),
    ...(typeof maxCount === 'number' && { maxCount }),
    readers: typeof readers === 'string' ? [readers] : Array.isArray(readers) ? readers.map(String) : null,
  };
};
