import {
  SignInUnavailable,
  type FoundSignInRecord,
  type SignInKind,
  type SignInRecord,
  type SignInRecords,
} from '../../../application/ports/sign-in-records.js';
import type { Clock } from '../../../application/ports/system.js';
import { messageOf } from '../../../domain/errors.js';
import type { Database, Statement } from '../database.js';
import type { SqliteWriter } from '../writer/writer.js';

interface Row {
  readonly kind: string;
  readonly id: string;
  readonly owner: string;
  readonly data: string;
  readonly ends: number | null;
  readonly version: number;
}

/** The record that a row holds. Its kind was written from a SignInKind. */
const recordOf = ({ kind, id, owner, data, ends, version }: Row): FoundSignInRecord => {
  const parsed: object = JSON.parse(data);
  return { kind: kind as SignInKind, id, owner, data: parsed, ends, version };
};

const columns = 'kind, id, owner, data, ends, version';
const isCurrent = '(ends is null or ends > ?)';

export interface SqliteSignInRecordsOptions {
  readonly writer: SqliteWriter;
  readonly database: Database;
  readonly clock: Clock;
}

/** The records of signing in, in events.db. */
export class SqliteSignInRecords implements SignInRecords {
  readonly #writer: SqliteWriter;
  readonly #clock: Clock;
  readonly #find: Statement;
  readonly #list: Statement;

  constructor({ writer, database, clock }: SqliteSignInRecordsOptions) {
    this.#writer = writer;
    this.#clock = clock;
    this.#find = database.prepare(
      `select ${columns} from sign_in_records where kind = ? and id = ? and ${isCurrent}`,
    );
    this.#list = database.prepare(
      `select ${columns} from sign_in_records where kind = ? and owner = ? and ${isCurrent} order by id`,
    );
  }

  add(record: SignInRecord): Promise<boolean> {
    return reachable(() => this.#writer.run('addSignInRecord', { ...record, now: this.#clock.now() }));
  }

  find(kind: SignInKind, id: string): Promise<FoundSignInRecord | null> {
    return reachable(async () => {
      const row: Row | undefined = this.#find.get(kind, id, this.#clock.now());
      return row === undefined ? null : recordOf(row);
    });
  }

  change(found: FoundSignInRecord, next: Pick<SignInRecord, 'data' | 'ends'>): Promise<boolean> {
    return reachable(() =>
      this.#writer.run('changeSignInRecord', { ...found, ...next, now: this.#clock.now() }),
    );
  }

  remove(kind: SignInKind, id: string): Promise<boolean> {
    return reachable(() => this.#writer.run('removeSignInRecord', { kind, id, now: this.#clock.now() }));
  }

  removeAllOf(kind: SignInKind, owner: string, except: string | null): Promise<void> {
    return reachable(() => this.#writer.run('removeSignInRecordsOf', { kind, owner, except }));
  }

  listOf(kind: SignInKind, owner: string): Promise<readonly FoundSignInRecord[]> {
    return reachable(async () => {
      const rows: readonly Row[] = this.#list.all(kind, owner, this.#clock.now());
      return rows.map(recordOf);
    });
  }

  removeEnded(): Promise<void> {
    return reachable(() => this.#writer.run('removeEndedSignInRecords', this.#clock.now()));
  }
}

const reachable = async <T>(work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    throw new SignInUnavailable(messageOf(error), { cause: error });
  }
};
