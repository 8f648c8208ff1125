import {
  SignInUnavailable,
  type FoundSignInRecord,
  type SignInKind,
  type SignInRecord,
  type SignInRecords,
} from '../../../application/ports/sign-in-records.js';
import type { Clock } from '../../../application/ports/system.js';

const keyOf = (kind: SignInKind, id: string): string => `${kind} ${id}`;

/** The records of signing in, in memory. */
export class MemorySignInRecords implements SignInRecords {
  /** While true, every call throws SignInUnavailable. */
  away = false;
  readonly #clock: Clock;
  readonly #records = new Map<string, FoundSignInRecord>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async add(record: SignInRecord): Promise<boolean> {
    if (this.#current(record.kind, record.id) !== null) return false;
    this.#records.set(keyOf(record.kind, record.id), { ...structuredClone(record), version: 0 });
    return true;
  }

  async find(kind: SignInKind, id: string): Promise<FoundSignInRecord | null> {
    return this.#current(kind, id);
  }

  async change(
    { kind, id, version }: FoundSignInRecord,
    { data, ends }: Pick<SignInRecord, 'data' | 'ends'>,
  ): Promise<boolean> {
    const current = this.#current(kind, id);
    if (current?.version !== version) return false;
    this.#records.set(keyOf(kind, id), { ...current, data, ends, version: version + 1 });
    return true;
  }

  async remove(kind: SignInKind, id: string): Promise<boolean> {
    return this.#current(kind, id) !== null && this.#records.delete(keyOf(kind, id));
  }

  async removeAllOf(kind: SignInKind, owner: string, except: string | null): Promise<void> {
    for (const { id } of await this.listOf(kind, owner)) if (id !== except) await this.remove(kind, id);
  }

  async listOf(kind: SignInKind, owner: string): Promise<readonly FoundSignInRecord[]> {
    return [...this.#records.values()]
      .filter((record) => record.kind === kind && record.owner === owner)
      .filter(({ id }) => this.#current(kind, id) !== null)
      .sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  async removeEnded(): Promise<void> {
    for (const { kind, id } of this.#records.values())
      if (this.#current(kind, id) === null) this.#records.delete(keyOf(kind, id));
  }

  #current(kind: SignInKind, id: string): FoundSignInRecord | null {
    if (this.away) throw new SignInUnavailable('the records are away');
    const found = this.#records.get(keyOf(kind, id));
    return found === undefined || (found.ends !== null && found.ends <= this.#clock.now()) ? null : found;
  }
}
