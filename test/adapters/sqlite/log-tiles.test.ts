import { sqliteLogTiles } from '../../../adapters/sqlite/notary/log-tiles.js';
import { logTilesContract } from '../../contract/log-tiles.js';
import { openNew } from './setup.js';

describe('the tiles of the log in SQLite', () =>
  logTilesContract(async () => {
    const { database, writer, close } = await openNew();
    const tiles = sqliteLogTiles({ database, write: (name, input) => writer.run(name, input) });
    return { tiles, close };
  }));
