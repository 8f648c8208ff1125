import type { Milliseconds } from '../../domain/ids.js';
import { NamedError } from '../../domain/errors.js';

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

/**
 * Records of files that were uploaded. `import`: a file of contacts, and how far it is saved. `import-part`:
 * the rest of it. `import-bad`: its bad lines. `import-upload`: marks that some of it is left. `front`: a
 * picture for the front of a design that is not saved yet.
 */
export const importKinds = ['import', 'import-part', 'import-bad', 'import-upload', 'front'] as const;
type ImportKind = (typeof importKinds)[number];

export type FoundImportRecord = FoundRecord<ImportKind>;

/** The records can't be reached. */
export class ImportsUnavailable extends NamedError {}

/** Files that people upload. All methods throw ImportsUnavailable. */
export type ImportRecords = Records<ImportKind>;

/**
 * Records so that people can sign in. `session`: a person is signed in. `link`: a link that works once.
 * `form`: a form that was sent. `password`: the hash of an account's password, by the account; it belongs to
 * the account's e-mail address.
 */
export const signInKinds = ['session', 'link', 'form', 'password'] as const;
type SignInKind = (typeof signInKinds)[number];

/**
 * The id is the SHA-256 of a browser's secret, which isn't kept. The owner is the account that a record
 * belongs to, or `root` for the operator.
 */
export type FoundSignInRecord = FoundRecord<SignInKind>;

/** The records can't be reached. Without them, people can be neither let in nor refused. */
export class SignInUnavailable extends NamedError {}

/** Records of signing in. All methods throw SignInUnavailable. */
export type SignInRecords = Records<SignInKind>;
