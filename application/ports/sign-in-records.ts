import type { Milliseconds } from '../../domain/ids.js';

/**
 * What is kept so that people can sign in and work: operational records, not domain events, because every
 * event is published. `session`: somebody is signed in. `link`: a link that works once. `form`: a form that
 * was sent. `password`: the hash of a password. `import`: a file of contacts that was uploaded, `import-part`
 * what is left of it, `import-bad` its bad lines, `import-upload` that some of it is left.
 */
export type SignInKind =
  'session' | 'link' | 'form' | 'password' | 'import' | 'import-part' | 'import-bad' | 'import-upload';

export interface SignInRecord {
  readonly kind: SignInKind;
  /** Of what a browser holds only its SHA-256 is kept. */
  readonly id: string;
  /** The account that it belongs to, or `root` for the operator. */
  readonly owner: string;
  /** JSON, read by whoever wrote it. */
  readonly data: object;
  /** From then on it counts as gone; null: never. */
  readonly ends: Milliseconds | null;
}

/** A record as it was found. `change` takes it only if it is still this version. */
export interface FoundSignInRecord extends SignInRecord {
  readonly version: number;
}

/** The records can't be reached. Nobody can be let in, or be refused, on a guess. */
export class SignInUnavailable extends Error {
  override readonly name = 'SignInUnavailable';
}

/**
 * Records by kind and id. Every change is atomic, and durable when its promise resolves. All throw
 * SignInUnavailable; then the change may have happened.
 */
export interface SignInRecords {
  /**
   * False if there is one of this kind and id. One that is exactly the same may count as added: put something
   * into it that only this caller knows.
   */
  add(record: SignInRecord): Promise<boolean>;
  find(kind: SignInKind, id: string): Promise<FoundSignInRecord | null>;
  /**
   * Replaces data and end, and adds one to the version; false if the record has changed since, or is gone.
   */
  change(found: FoundSignInRecord, next: Pick<SignInRecord, 'data' | 'ends'>): Promise<boolean>;
  /** True for the one caller that removed it. */
  remove(kind: SignInKind, id: string): Promise<boolean>;
  /** Removes all of an owner but the one with the id `except`. */
  removeAllOf(kind: SignInKind, owner: string, except: string | null): Promise<void>;
  /** All of an owner, in the order of their ids. */
  listOf(kind: SignInKind, owner: string): Promise<readonly FoundSignInRecord[]>;
  /** Removes what has ended. For the upkeep, at long intervals. */
  removeEnded(): Promise<void>;
}
