import { z } from 'zod';
import { ForkedLog, type LogTiles, type LogTree } from '../../../application/ports/log-tiles.js';
import { tileGrowth, unpackSeqs } from '../../../application/log/tile-rows.js';
import { Instant } from '../../../domain/ids.js';
import { hashBytes, hashesIn, tileWidth } from '../../../domain/merkle.js';
import { numberFrom, rowsFrom, type Database, type Statement } from '../database.js';
import type { InsideGate } from '../gate.js';
import type { InputOf, OutputOf } from '../writer/operations.js';

export type TileOperation = 'extendTree' | 'keepCheckpoint' | 'write';

export interface SqliteLogTilesOptions {
  /** A read-only connection of the calling thread. */
  readonly database: Database;
  /** Runs a write of the log's tiles in the thread that writes. It is durable when the promise settles. */
  readonly write: <Name extends TileOperation>(name: Name, input: InputOf<Name>) => Promise<OutputOf<Name>>;
  /** Given in a worker thread: every query runs inside the gate. */
  readonly inGate?: InsideGate;
}

const Bytes = z.instanceof(Uint8Array).transform((bytes) => Buffer.from(bytes));
const Position = z.int().transform(BigInt);
const TreeRow = z.object({
  size: z.number(),
  roots: Bytes.transform(hashesIn),
  position: Position,
  epoch: z.number(),
});
const TileRow = z.object({ hashes: Bytes, after: Position, orgSeqs: Bytes });
const CheckpointRow = z.object({ size: z.number(), root: Bytes, note: z.string(), at: Instant });
const DamageRow = z.object({ position: Position, reason: z.string() });

const removeTiles = 'delete from log_tiles';
const emptyTree = "update log_tree set size = 0, roots = x'', position = 0";
const removeDamage = 'delete from log_damage';
/** The first damage stays until it is taken back. */
const putDamage =
  'insert into log_damage (id, position, reason) values (1, ?, ?) on conflict (id) do nothing';

const empty: LogTree = { size: 0, roots: [], position: 0n, epoch: 0 };

/** The log of the log in events.db: reads in the calling thread, writes in the writer's. */
export const sqliteLogTiles = ({
  database,
  write,
  inGate = (work) => work(),
}: SqliteLogTilesOptions): LogTiles => {
  const treeRow = database.prepare('select size, roots, position, epoch from log_tree');
  const tile = 'select hashes, position as "after", seqs as orgSeqs from log_tiles where level = ?';
  const oneTile = database.prepare(`${tile} and n = ?`);
  const severalTiles = database.prepare(`${tile} and n >= ? and n <= ? order by n`);
  const tileBefore = database.prepare(
    'select n from log_tiles where level = 0 and position < ? order by position desc limit 1',
  );
  const checkpoints = 'select size, root, note, at from log_checkpoints order by size';
  const newest = database.prepare(`${checkpoints} desc limit 1`);
  const kept = database.prepare(checkpoints);
  const damageRow = database.prepare('select position, reason from log_damage');

  const rowsOf = <Row>(form: z.ZodType<Row>, statement: Statement, ...values: number[]): readonly Row[] =>
    z.array(form).parse(inGate(() => rowsFrom(statement, ...values)));
  const tileAt = async (level: number, n: number) => rowsOf(TileRow, oneTile, level, n)[0] ?? null;
  const readTree = (): LogTree => rowsOf(TreeRow, treeRow)[0] ?? empty;

  return {
    tree: async () => readTree(),

    extend: async (from, leaves, to, epoch) => {
      const tree = readTree();
      if (tree.size !== from) return false;
      const { frontier, rows } = await tileGrowth(tree, leaves, tileAt);
      return write('extendTree', {
        from,
        size: frontier.size,
        roots: Buffer.concat(frontier.roots),
        position: to,
        epoch,
        tiles: rows,
      });
    },

    hashes: async (level, from, count) => {
      const first = Math.floor(from / tileWidth);
      const last = Math.floor((from + count - 1) / tileWidth);
      const rows = rowsOf(TileRow, severalTiles, level, first, last);
      const start = (from - first * tileWidth) * hashBytes;
      return Buffer.concat(rows.map(({ hashes }) => hashes)).subarray(start, start + count * hashBytes);
    },

    leaves: async (n) => {
      const row = await tileAt(0, n);
      return row && { after: row.after, hashes: hashesIn(row.hashes), orgSeqs: unpackSeqs(row.orgSeqs) };
    },

    tileOf: async (position) => inGate(() => numberFrom(tileBefore, Number(position))) ?? 0,

    keep: async ({ size, root, note, at }) => {
      if (!(await write('keepCheckpoint', { size, root, note, at }))) throw new ForkedLog(size);
    },

    newest: async () => rowsOf(CheckpointRow, newest)[0] ?? null,

    kept: async () => rowsOf(CheckpointRow, kept),

    reset: async () => void (await write('write', [[removeTiles], [emptyTree]])),

    damage: async () => rowsOf(DamageRow, damageRow)[0] ?? null,

    reportDamage: async (damage) =>
      void (await write('write', [
        damage === null ? [removeDamage] : [putDamage, Number(damage.position), damage.reason],
      ])),
  };
};
