import { MongoDatabase, type MongoTimes } from '../../../adapters/mongodb/database.js';
import { derivedUuid } from '../../../domain/ids.js';

let made = 0;
const run = derivedUuid('mongodb tests', process.pid, Date.now()).slice(0, 8);

/** The server's connection string with a database that no other test has used. */
export const freshUrl = (url: string): string => {
  const [server, options] = url.split('?');
  const name = `test_${run}_${(made += 1)}`;
  return `${server?.replace(/^(mongodb(\+srv)?:\/\/[^/]+).*$/, '$1')}/${name}${options === undefined ? '' : `?${options}`}`;
};

/** A database of its own; `end` removes it. */
export const freshDatabase = (url: string, times: Partial<MongoTimes> = {}): { readonly database: MongoDatabase; readonly end: () => Promise<void> } => {
  const database = new MongoDatabase(freshUrl(url), times);
  const end = async (): Promise<void> => {
    await database.dropAll();
    await database.close();
  };
  return { database, end };
};
