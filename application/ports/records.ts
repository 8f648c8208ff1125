import type { Milliseconds } from '../../domain/ids.js';

/**
 * Operational records, which people need for their work. They are not domain events, because every event is
 * published.
 */
export interface StoredRecord<Kind extends string> {
  readonly kind: Kind;
  readonly id: string;
  /** Its owner, by which records can be listed. */
  readonly owner: string;
  /** JSON, read by its writer. */
  readonly data: object;
  /** From then on it counts as gone; null: never. */
  readonly ends: Milliseconds | null;
}

/** A record as it was found. `change` takes it only if it is still this version. */
export interface FoundRecord<Kind extends string> extends StoredRecord<Kind> {
  readonly version: number;
}

/**
 * Records by kind and id. Every change happens as a whole, and is durable when its promise resolves. All
 * throw the error of their port if the store can't be reached; then the change may have happened.
 */
export interface Records<Kind extends string> {
  /**
   * False if there is one of this kind and id. One that is exactly the same may count as added: put something
   * into it that only this caller knows.
   */
  add(record: StoredRecord<Kind>): Promise<boolean>;
  find(kind: Kind, id: string): Promise<FoundRecord<Kind> | null>;
  /**
   * Replaces data and end, and adds one to the version; false if the record has changed since, or is gone.
   */
  change(found: FoundRecord<Kind>, next: Pick<StoredRecord<Kind>, 'data' | 'ends'>): Promise<boolean>;
  /** True for the one caller that removed it. */
  remove(kind: Kind, id: string): Promise<boolean>;
  /** Removes all of an owner but the one with the id `except`. */
  removeAllOf(kind: Kind, owner: string, except: string | null): Promise<void>;
  /** All of an owner, in the order of their ids. */
  listOf(kind: Kind, owner: string): Promise<readonly FoundRecord<Kind>[]>;
  /** Removes ended records of this port's kinds. For the upkeep, at long intervals. */
  removeEnded(): Promise<void>;
}
