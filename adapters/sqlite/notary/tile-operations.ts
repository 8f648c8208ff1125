import type { TileRow } from '../../../application/log/tile-rows.js';
import type { Checkpoint, LogTree } from '../../../application/ports/log-tiles.js';
import { rowFrom, type Database } from '../database.js';

/** Roots are side by side. */
interface TreeExtension extends Pick<LogTree, 'size' | 'position' | 'epoch'> {
  readonly from: number;
  readonly roots: Uint8Array;
  readonly tiles: readonly TileRow[];
}

/** `position`: before the tile's first event. `seqs`: six bytes per leaf of level 0. */
const schema = `
  create table if not exists log_tiles (
    level integer not null,
    n integer not null,
    hashes blob not null,
    position integer not null,
    seqs blob not null,
    unique (level, n)
  ) strict;
  create index if not exists log_tiles_by_position on log_tiles (level, position);
  create table if not exists log_tree (
    id integer primary key check (id = 1),
    size integer not null,
    roots blob not null,
    position integer not null,
    epoch integer not null
  ) strict;
  create table if not exists log_checkpoints (
    size integer primary key,
    root blob not null,
    note text not null,
    at text not null
  ) strict;
  create table if not exists log_damage (
    id integer primary key check (id = 1),
    position integer not null,
    reason text not null
  ) strict;
`;

const hourLength = '2026-03-01T12'.length;

/** The log of the log, beside the log. */
export const tileOperations = (database: Database) => {
  database.exec(schema);
  const tree = database.prepare('select size, epoch from log_tree');
  const putTree = database.prepare(`
    insert into log_tree (id, size, roots, position, epoch) values (1, ?, ?, ?, ?)
    on conflict (id) do update set size = excluded.size, roots = excluded.roots, position = excluded.position, epoch = excluded.epoch`);
  const putTile = database.prepare(`
    insert into log_tiles (level, n, hashes, position, seqs) values (?, ?, ?, ?, ?)
    on conflict (level, n) do update set hashes = excluded.hashes, seqs = excluded.seqs, position = excluded.position`);
  const checkpointOf = database.prepare('select root from log_checkpoints where size = ?');
  const newest = database.prepare('select size, at from log_checkpoints order by size desc limit 1');
  const putCheckpoint = database.prepare(
    'insert into log_checkpoints (size, root, note, at) values (?, ?, ?, ?) on conflict (size) do update set note = excluded.note, at = excluded.at',
  );
  const dropCheckpoint = database.prepare('delete from log_checkpoints where size = ?');

  return {
    /** False if the tree has another size, or a later epoch has written. */
    extendTree: ({ from, size, roots, position, epoch, tiles }: TreeExtension): boolean => {
      const now = rowFrom<Pick<TreeExtension, 'size' | 'epoch'>>(tree) ?? { size: 0, epoch: 0 };
      if (now.size !== from || now.epoch > epoch) return false;
      for (const tile of tiles) putTile.run(tile.level, tile.n, tile.hashes, tile.after, tile.orgSeqs);
      putTree.run(size, roots, position, epoch);
      return true;
    },

    /** False if another root is kept for the size. */
    keepCheckpoint: ({ size, root, note, at }: Checkpoint): boolean => {
      const known = rowFrom<Pick<Checkpoint, 'root'>>(checkpointOf, size);
      if (known !== undefined && Buffer.compare(known.root, root) !== 0) return false;
      const last = rowFrom<Pick<Checkpoint, 'size' | 'at'>>(newest);
      putCheckpoint.run(size, root, note, at);
      const isSameHour = last?.at.slice(0, hourLength) === at.slice(0, hourLength);
      if (last !== undefined && last.size < size && isSameHour) dropCheckpoint.run(last.size);
      return true;
    },
  };
};
