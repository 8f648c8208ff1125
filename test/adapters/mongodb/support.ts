import { Collection, MongoNetworkError } from 'mongodb';
import { bounded } from '../../../adapters/mongodb/client/bounds.js';
import { MongoDatabase, type MongoLimits } from '../../../adapters/mongodb/client/database.js';
import { SystemClock } from '../../../adapters/system/clock.js';
import { derivedUuid, type Milliseconds } from '../../../domain/ids.js';
import type { VirtualClock } from '../../support/memory/clock.js';
import { eventually } from '../../support/time/eventually.js';

let made = 0;
const run = derivedUuid('mongodb tests', process.pid, Date.now()).slice(0, 8);

/** The server's connection string with a database that no other test has used. */
export const freshUrl = (url: string): string => {
  const [server, options] = url.split('?');
  const name = `test_${run}_${(made += 1)}`;
  return `${server?.replace(/^(mongodb(\+srv)?:\/\/[^/]+).*$/, '$1')}/${name}${options === undefined ? '' : `?${options}`}`;
};

/** A database of its own; `end` removes it. */
export const freshDatabase = (
  url: string,
  limits: Partial<MongoLimits> = {},
): { readonly database: MongoDatabase; readonly end: () => Promise<void> } => {
  const database = new MongoDatabase(freshUrl(url), new SystemClock(), limits);
  const end = async (): Promise<void> => {
    await database.dropAll();
    await database.close();
  };
  return { database, end };
};

/** The same object; `called` hears of every call of a method before it is made, and gives what it made. */
const hearing = <T extends object>(
  of: T,
  called: (method: string, given: readonly unknown[], make: () => unknown) => unknown,
): T =>
  new Proxy(of, {
    get: (target, property) => {
      const value: unknown = Reflect.get(target, property);
      if (typeof value !== 'function') return value;
      return (...given: unknown[]) =>
        called(String(property), given, (): unknown => Reflect.apply(value, target, given));
    },
  });

/** The same database; `called` hears of every call of a collection as `{method} {collection}`. */
export const hearingCalls = (
  database: MongoDatabase,
  called: (call: string, given: readonly unknown[], make: () => unknown) => unknown,
): MongoDatabase => {
  const heard = (name: unknown, collection: unknown): unknown =>
    hearing(Object(collection), (method, given, make) => called(`${method} ${String(name)}`, given, make));
  return hearing(database, (method, [name], make) => {
    const made = make();
    return method === 'indexed'
      ? Promise.resolve(made).then((collection) => heard(name, collection))
      : heard(name, made);
  });
};

/** The same database; every call of a collection is noted as `{method} {collection}`. */
export const noting = (database: MongoDatabase, asked: string[]): MongoDatabase =>
  hearingCalls(database, (call, _, make) => {
    asked.push(call);
    return make();
  });

/** The same database; a call for which `until` gives a promise is made when that resolves. */
export const delaying = (
  database: MongoDatabase,
  until: (call: string) => Promise<unknown> | null,
): MongoDatabase => hearingCalls(database, (call, _, make) => until(call)?.then(make) ?? make());

/**
 * The same database; a call that `refuses` names as `{method} {collection}` fails as where the connection
 * breaks, and is not made.
 */
export const refusing = (database: MongoDatabase, refuses: (call: string) => boolean): MongoDatabase =>
  hearingCalls(database, (call, _, make) => {
    if (refuses(call)) throw new MongoNetworkError('the connection broke');
    return make();
  });

/** The same database; what was asked of a collection is noted with what was given. */
export const notingFilters = (database: MongoDatabase, asked: [string, unknown][]): MongoDatabase =>
  hearingCalls(database, (call, [filter], make) => {
    asked.push([call, filter]);
    return make();
  });

/**
 * The same database; after each of these calls of a collection `written` is awaited before its caller goes
 * on.
 */
export const hearingWrites = (
  database: MongoDatabase,
  calls: readonly string[],
  written: () => Promise<void>,
): MongoDatabase =>
  hearingCalls(database, (call, _, make) => {
    const made = make();
    const heard = async (): Promise<unknown> => {
      const result = await made;
      await written();
      return result;
    };
    return calls.includes(call) ? heard() : made;
  });

/** The same database on a clock that stands still, and the clock's hand. */
export interface Paced {
  readonly database: MongoDatabase;
  /** Lets everybody come to rest: nothing is asked of the database, everybody waits for the clock. */
  readonly rest: () => Promise<void>;
  /** Lets time pass in steps; after each everybody comes to rest before the next. */
  readonly pass: (time: Milliseconds) => Promise<void>;
}

/**
 * Makes what goes by a clock and a database independent of how fast the database and this machine are.
 * `step`:
 * no more time than this passes at once.
 */
export const paced = (of: MongoDatabase, clock: VirtualClock, step: Milliseconds): Paced => {
  let underWay = 0;
  const followed = (asked: Promise<unknown>): Promise<unknown> => {
    underWay += 1;
    return asked
      .then((made) => (made instanceof Collection ? bounded(made, followed) : made))
      .finally(() => (underWay -= 1));
  };
  const rest = async (): Promise<void> => {
    do {
      await eventually(() => underWay === 0, { what: 'an answer of the database' });
      await clock.advance(0);
    } while (underWay > 0);
  };
  const pass = async (time: Milliseconds): Promise<void> => {
    await rest();
    for (let left = time; left > 0; left -= step) {
      await clock.advance(Math.min(left, step));
      await rest();
    }
  };
  return { database: bounded(of, followed), rest, pass };
};
