import {
  ImportsUnavailable,
  SignInUnavailable,
  type ImportRecords,
  type FoundRecord,
  type Records,
  type StoredRecord,
  type SignInRecords,
} from '../../../application/ports/records.js';
import type { Clock } from '../../../application/ports/system.js';

type KindOf<Port> = Port extends Records<infer Kind> ? Kind : never;

const keyOf = (kind: string, id: string): string => `${kind} ${id}`;

/** Records of some kinds, in memory. */
class MemoryRecords<Kind extends string> implements Records<Kind> {
  /** While true, every call throws the error of its port. */
  away = false;
  readonly #clock: Clock;
  readonly #Unavailable: new (message: string) => Error;
  readonly #records = new Map<string, FoundRecord<Kind>>();

  constructor(clock: Clock, Unavailable: new (message: string) => Error) {
    this.#clock = clock;
    this.#Unavailable = Unavailable;
  }

  async add(record: StoredRecord<Kind>): Promise<boolean> {
    if (this.#current(record.kind, record.id) !== null) return false;
    this.#records.set(keyOf(record.kind, record.id), { ...structuredClone(record), version: 0 });
    return true;
  }

  async find(kind: Kind, id: string): Promise<FoundRecord<Kind> | null> {
    return this.#current(kind, id);
  }

  async change(
    { kind, id, version }: FoundRecord<Kind>,
    { data, ends }: Pick<StoredRecord<Kind>, 'data' | 'ends'>,
  ): Promise<boolean> {
    const current = this.#current(kind, id);
    if (current?.version !== version) return false;
    this.#records.set(keyOf(kind, id), { ...current, data, ends, version: version + 1 });
    return true;
  }

  async remove(kind: Kind, id: string): Promise<boolean> {
    return this.#current(kind, id) !== null && this.#records.delete(keyOf(kind, id));
  }

  async removeAllOf(kind: Kind, owner: string, except: string | null): Promise<void> {
    for (const { id } of await this.listOf(kind, owner)) if (id !== except) await this.remove(kind, id);
  }

  async listOf(kind: Kind, owner: string): Promise<readonly FoundRecord<Kind>[]> {
    return [...this.#records.values()]
      .filter((record) => record.kind === kind && record.owner === owner)
      .filter(({ id }) => this.#current(kind, id) !== null)
      .sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  async removeEnded(): Promise<void> {
    for (const { kind, id } of this.#records.values())
      if (this.#current(kind, id) === null) this.#records.delete(keyOf(kind, id));
  }

  /** How many of a kind are there, whoever owns them. */
  countOf(kind: Kind): number {
    return [...this.#records.values()].filter((record) => record.kind === kind).length;
  }

  #current(kind: Kind, id: string): FoundRecord<Kind> | null {
    if (this.away) throw new this.#Unavailable('the records are away');
    const found = this.#records.get(keyOf(kind, id));
    return found === undefined || (found.ends !== null && found.ends <= this.#clock.now()) ? null : found;
  }
}

/** The records of signing in, in memory. */
export class MemorySignInRecords extends MemoryRecords<KindOf<SignInRecords>> {
  constructor(clock: Clock) {
    super(clock, SignInUnavailable);
  }
}

/** Files of contacts that are being imported, in memory. */
export class MemoryImportRecords extends MemoryRecords<KindOf<ImportRecords>> {
  constructor(clock: Clock) {
    super(clock, ImportsUnavailable);
  }
}
