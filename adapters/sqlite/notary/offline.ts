import type { LogTiles } from '../../../application/ports/log-tiles.js';
import type { RawLog } from '../../../application/ports/raw-log.js';
import { openForWriting } from '../database.js';
import type { InputOf, OutputOf } from '../writer/operations.js';
import { SqliteLogTiles, type TileOperation } from './log-tiles.js';
import { SqliteRawLog } from './raw-log.js';
import { tileOperations } from './tile-operations.js';

/** The log and the log of the log in a file that nobody has open. */
export interface LogFile {
  readonly log: RawLog;
  readonly tiles: LogTiles;
  readonly close: () => void;
}

/** The caller must have the data directory for itself. */
export const openLogFile = (path: string): LogFile => {
  const database = openForWriting(path);
  const byName: ReadonlyMap<string, (input: never) => unknown> = new Map(
    Object.entries(tileOperations(database).operations),
  );
  const write = async <Name extends TileOperation>(
    name: Name,
    input: InputOf<Name>,
  ): Promise<OutputOf<Name>> => {
    const run = byName.get(name);
    if (run === undefined) throw new Error(`there is no write named ${name}`);
    database.exec('begin immediate');
    try {
      const output = run(input as never) as OutputOf<Name>;
      database.exec('commit');
      return output;
    } catch (error) {
      if (database.isTransaction) database.exec('rollback');
      throw error;
    }
  };
  return {
    log: new SqliteRawLog({ database }),
    tiles: new SqliteLogTiles({ database, write }),
    close: () => {
      database.exec('pragma wal_checkpoint(truncate)');
      database.close();
    },
  };
};
