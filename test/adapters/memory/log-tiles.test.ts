import { logTilesContract } from '../../contract/log-tiles.js';
import { MemoryLogTiles } from '../../support/memory/log-tiles.js';

describe('the tiles of the log in memory', () =>
  logTilesContract(async () => ({ tiles: new MemoryLogTiles(), close: () => Promise.resolve() })));
