import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { numberFrom, openForWriting, type Database } from '../../adapters/sqlite/database.js';
import { newGate } from '../../adapters/sqlite/gate.js';
import { keysPath, openPersonalKeys } from '../../adapters/sqlite/keys/personal-keys.js';
import { tableOf } from '../../adapters/sqlite/read/read-tables.js';
import { isDamaged } from '../../adapters/sqlite/read/projection-store.js';
import { assertNotPast, assertWhole, checkLog } from '../../adapters/sqlite/verification/verification.js';
import { emptyWriteAheadLog } from '../../adapters/sqlite/database.js';
import { openWriter } from '../../adapters/sqlite/writer/writer-thread.js';
import { SystemEntropy } from '../../adapters/system/entropy.js';
import { masterKeys, operatorToken } from '../../bin/settings/secret-files.js';
import { messageOf } from '../../domain/errors.js';
import type { LoggedEvent } from '../../domain/events.js';
import { categoryOf } from '../../domain/ids.js';
import { allProjections } from '../../projections/all.js';
import type { Projection } from '../../projections/projection.js';
import { logViolations } from '../support/simulation/invariants.js';
import { blockOf, type Recording } from './recording.js';

/** What was certain when the power failed. */
export interface Known {
  /** The last position that a response has acknowledged. */
  readonly position: number;
  /** Whether anybody got a response. */
  readonly isAnswered: boolean;
}

/** Says what is wrong with a directory after a power loss, opened by the service's own code. */
export type Reopen = (directory: string, known: Known) => Promise<readonly string[]>;

interface Row {
  readonly position: number;
  readonly id: string;
  readonly hash: string;
}

interface BuildRow {
  readonly name: string;
  readonly version: number;
  readonly generation: number;
  readonly checkpoint: number;
}

const remembered = <Key, Value>(make: (key: Key) => Value): ((key: Key) => Value) => {
  const known = new Map<Key, Value>();
  return (key) => {
    const value = known.get(key) ?? make(key);
    known.set(key, value);
    return value;
  };
};

/** Every document of a projection as the log up to a position makes it, by key. */
const folded = (
  projection: Projection<unknown>,
  log: readonly LoggedEvent[],
): ReadonlyMap<string, string> => {
  const documents = new Map<string, unknown>();
  for (const event of log) {
    if (categoryOf(event.stream) !== projection.category) continue;
    const key = projection.key(event);
    const document = projection.evolve(documents.get(key) ?? null, event);
    if (document !== null) documents.set(key, document);
  }
  return new Map([...documents].map(([key, document]) => [key, JSON.stringify(document)]));
};

const eventsIn = (database: Database): readonly Row[] => {
  const rows: readonly Row[] = database
    .prepare("select position, id, metadata ->> 'hash' as hash from events order by position")
    .all();
  return rows;
};

const keysIn = (database: Database): string => {
  const rows: readonly { readonly key: string; readonly code: string }[] = database
    .prepare('select key, code from idempotency_keys order by key')
    .all();
  return JSON.stringify(rows.map(({ key, code }) => [key, code]));
};

const integrityOf = (database: Database): unknown => {
  const [first]: readonly Readonly<Record<string, unknown>>[] = database
    .prepare('pragma integrity_check(1)')
    .all();
  return first?.['integrity_check'];
};

const hasTables = (database: Database): boolean =>
  numberFrom(database.prepare("select count(*) from sqlite_master where name in ('events', 'log_tree')")) ===
  2;

/** The file as the writer opens it. What only costs time where every table is there is left out then. */
const recovered = (path: string): Database => {
  const database = openForWriting(path);
  emptyWriteAheadLog(database);
  if (hasTables(database)) return database;
  database.close();
  const head = new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT);
  return openWriter({ path, head, gate: newGate() }).database;
};

/** Opens what is left of a recording's files. What it finds out about the recording it finds out once. */
export const reopening = ({ log, keys, blocks, secrets }: Recording): Reopen => {
  const madeAt = new Map(
    log.flatMap(({ stream, revision, position }) =>
      categoryOf(stream) === 'card' && revision === 0
        ? [[stream.slice('card-'.length), position] as const]
        : [],
    ),
  );
  const keysAt = remembered((head: number) =>
    JSON.stringify(
      keys.filter(({ code }) => (madeAt.get(code) ?? Infinity) <= head).map(({ key, code }) => [key, code]),
    ),
  );
  const violatedAt = remembered((head: number) => logViolations(log.slice(0, head), { settled: true }));
  const foldAt = new Map(
    allProjections.map((projection) => [
      projection.name,
      remembered((head: number) => folded(projection, log.slice(0, head))),
    ]),
  );
  const blocksAt = remembered((head: number) => [
    ...new Set(log.slice(0, head).flatMap((event) => blockOf(event) ?? [])),
  ]);

  /** An error tells which part of the start it is of. */
  const opening = async <T>(what: string, open: () => T | Promise<T>): Promise<T> => {
    try {
      return await open();
    } catch (error) {
      throw new Error(`${what}: ${messageOf(error)}`, { cause: error });
    }
  };

  const eventsWrong = (
    directory: string,
    known: Known,
  ): { readonly head: number; readonly wrong: string[] } => {
    const path = join(directory, 'events.db');
    assertWhole(path);
    const database = recovered(path);
    try {
      checkLog(database);
      const rows = eventsIn(database);
      const wrong: string[] = [];
      const other = rows.find(
        ({ position, id, hash }, index) =>
          position !== index + 1 || id !== log[index]?.id || hash !== log[index]?.metadata.hash,
      );
      if (other !== undefined) wrong.push(`the event at position ${other.position} is another one`);
      if (rows.length < known.position)
        wrong.push(`the log ends at ${rows.length}, but position ${known.position} was acknowledged`);
      if (keysIn(database) !== keysAt(rows.length))
        wrong.push(`the idempotency keys are not those of the cards up to position ${rows.length}`);
      const integrity = integrityOf(database);
      if (integrity !== 'ok') wrong.push(`events.db: ${String(integrity)}`);
      return { head: rows.length, wrong: [...wrong, ...violatedAt(rows.length)] };
    } finally {
      database.close();
    }
  };

  const keysWrong = async (directory: string, head: number): Promise<readonly string[]> => {
    const store = openPersonalKeys(keysPath(directory));
    try {
      const found = new Map((await store.load(blocksAt(head))).map((block) => [block.number, block]));
      return blocksAt(head).flatMap((number) => {
        const [was, is] = [blocks.find((block) => block.number === number), found.get(number)];
        return is !== undefined && was?.sealed.equals(is.sealed) === true
          ? []
          : [
              `keys.db: block ${number}, which the log needs, is ${is === undefined ? 'missing' : 'another one'}`,
            ];
      });
    } finally {
      store.close();
    }
  };

  const secretsWrong = (directory: string, { isAnswered }: Known): readonly string[] => {
    const entropy = new SystemEntropy();
    const before = new Set([...secrets.keys()].filter((name) => existsSync(join(directory, name))));
    operatorToken(join(directory, 'operator.token'), entropy);
    masterKeys(join(directory, 'secret.key'), entropy, true);
    masterKeys(join(directory, 'personal.key'), entropy, true, 'PERSONAL_KEY_FILE');
    masterKeys(join(directory, 'event.key'), entropy, true, 'EVENT_KEY_FILE');
    return isAnswered
      ? [...secrets.keys()].filter((name) => !before.has(name)).map((name) => `${name} is missing`)
      : [];
  };

  const readModelsWrong = (directory: string, head: number): readonly string[] => {
    const path = join(directory, 'read.db');
    if (!existsSync(path)) return [];
    try {
      const database = new DatabaseSync(path);
      try {
        const builds: readonly BuildRow[] = database
          .prepare("select name, version, generation, checkpoint from builds where state <> 'retired'")
          .all();
        return builds.flatMap((build) => {
          assertNotPast(BigInt(head), build.name, build.checkpoint);
          const rows: readonly { readonly key: string; readonly document: string }[] = database
            .prepare(`select key, document from ${tableOf(build, build.version, build.generation)}`)
            .all();
          const wanted = foldAt.get(build.name)?.(build.checkpoint) ?? new Map<string, string>();
          return rows.length === wanted.size &&
            rows.every(({ key, document }) => wanted.get(key) === document)
            ? []
            : [`read.db: ${build.name} is no fold of the log up to ${build.checkpoint}`];
        });
      } finally {
        database.close();
      }
    } catch (error) {
      // The projector makes a damaged file anew, and one without tables is empty.
      if (isDamaged(error)) return [];
      throw error;
    }
  };

  return async (directory, known) => {
    try {
      const { head, wrong } = await opening('events.db', () => eventsWrong(directory, known));
      return [
        ...wrong,
        ...(await opening('keys.db', () => keysWrong(directory, head))),
        ...(await opening('secrets', () => secretsWrong(directory, known))),
        ...(await opening('read.db', () => readModelsWrong(directory, head))),
      ];
    } catch (error) {
      return [`the start is refused: ${messageOf(error)}`];
    }
  };
};
