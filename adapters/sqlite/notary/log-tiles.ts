import { z } from 'zod';
import {
  ForkedLog,
  type Checkpoint,
  type LeafTile,
  type Leaf,
  type LogDamage,
  type LogTiles,
  type LogTree,
} from '../../../application/ports/log-tiles.js';
import { tileGrowth, unpackSeqs } from '../../../application/log/tile-rows.js';
import { Instant } from '../../../domain/ids.js';
import { hashBytes, hashesIn, tileWidth } from '../../../domain/merkle.js';
import { numberFrom, type Database, type Statement } from '../database.js';
import type { InsideGate } from '../gate.js';
import type { InputOf, OutputOf } from '../writer/operations.js';

export type TileOperation = 'extendTree' | 'keepCheckpoint' | 'resetTree' | 'putLogDamage';

/** Runs a write of the log's tiles in the thread that writes. It is durable when the promise settles. */
export type WriteTiles = <Name extends TileOperation>(
  name: Name,
  input: InputOf<Name>,
) => Promise<OutputOf<Name>>;

export interface SqliteLogTilesOptions {
  /** A read-only connection of the calling thread. */
  readonly database: Database;
  readonly write: WriteTiles;
  /** Given in a worker thread: every query runs inside the gate. */
  readonly inGate?: InsideGate;
}

const Bytes = z.instanceof(Uint8Array).transform((bytes) => Buffer.from(bytes));
const TreeRow = z.object({ size: z.number(), roots: Bytes, position: z.number(), epoch: z.number() });
const TileRow = z.object({ hashes: Bytes, position: z.number(), seqs: Bytes });
const CheckpointRow = z.object({ size: z.number(), root: Bytes, note: z.string(), at: Instant });
const DamageRow = z.object({ position: z.number(), reason: z.string() });

const empty: LogTree = { size: 0, roots: [], position: 0n, epoch: 0 };

/** The log of the log in events.db: reads in the calling thread, writes in the writer's. */
export class SqliteLogTiles implements LogTiles {
  readonly #write: WriteTiles;
  readonly #inGate: InsideGate;
  readonly #tree: Statement;
  readonly #tile: Statement;
  readonly #tiles: Statement;
  readonly #tileOf: Statement;
  readonly #newest: Statement;
  readonly #kept: Statement;
  readonly #damage: Statement;

  constructor({ database, write, inGate = (work) => work() }: SqliteLogTilesOptions) {
    this.#write = write;
    this.#inGate = inGate;
    this.#tree = database.prepare('select size, roots, position, epoch from log_tree');
    this.#tile = database.prepare('select hashes, position, seqs from log_tiles where level = ? and n = ?');
    this.#tiles = database.prepare(
      'select hashes, position, seqs from log_tiles where level = ? and n >= ? and n <= ? order by n',
    );
    this.#tileOf = database.prepare(
      'select n from log_tiles where level = 0 and position < ? order by position desc limit 1',
    );
    const checkpoints = 'select size, root, note, at from log_checkpoints order by size';
    this.#newest = database.prepare(`${checkpoints} desc limit 1`);
    this.#kept = database.prepare(checkpoints);
    this.#damage = database.prepare('select position, reason from log_damage');
  }

  async tree(): Promise<LogTree> {
    const row = this.#rowFrom(this.#tree);
    if (row === undefined) return empty;
    const { size, roots, position, epoch } = TreeRow.parse(row);
    return { size, roots: hashesIn(roots), position: BigInt(position), epoch };
  }

  async extend(from: number, leaves: readonly Leaf[], to: bigint, epoch: number): Promise<boolean> {
    const tree = await this.tree();
    if (tree.size !== from) return false;
    const { frontier, rows } = await tileGrowth(tree, leaves, (level, n) => this.#rowOf(level, n));
    return this.#write('extendTree', {
      from,
      size: frontier.size,
      roots: Buffer.concat(frontier.roots),
      position: Number(to),
      epoch,
      tiles: rows.map((row) => ({ ...row, after: Number(row.after) })),
    });
  }

  async hashes(level: number, from: number, count: number): Promise<Buffer> {
    const first = Math.floor(from / tileWidth);
    const last = Math.floor((from + count - 1) / tileWidth);
    const rows = z.array(TileRow).parse(this.#rowsFrom(this.#tiles, level, first, last));
    const start = from - first * tileWidth;
    return Buffer.concat(rows.map(({ hashes }) => hashes)).subarray(
      start * hashBytes,
      (start + count) * hashBytes,
    );
  }

  async leaves(tile: number): Promise<LeafTile | null> {
    const row = await this.#rowOf(0, tile);
    return row === null
      ? null
      : { after: row.after, hashes: hashesIn(row.hashes), orgSeqs: unpackSeqs(row.orgSeqs) };
  }

  async tileOf(position: bigint): Promise<number> {
    return this.#inGate(() => numberFrom(this.#tileOf, Number(position))) ?? 0;
  }

  async keep({ size, root, note, at }: Checkpoint): Promise<void> {
    if (!(await this.#write('keepCheckpoint', { size, root, note, at }))) throw new ForkedLog(size);
  }

  async newest(): Promise<Checkpoint | null> {
    const row = this.#rowFrom(this.#newest);
    return row === undefined ? null : CheckpointRow.parse(row);
  }

  async kept(): Promise<readonly Checkpoint[]> {
    return z.array(CheckpointRow).parse(this.#rowsFrom(this.#kept));
  }

  async reset(): Promise<void> {
    await this.#write('resetTree', undefined);
  }

  async damage(): Promise<LogDamage | null> {
    const row = this.#rowFrom(this.#damage);
    if (row === undefined) return null;
    const { position, reason } = DamageRow.parse(row);
    return { position: BigInt(position), reason };
  }

  async reportDamage(damage: LogDamage | null): Promise<void> {
    await this.#write('putLogDamage', damage && { position: Number(damage.position), reason: damage.reason });
  }

  async #rowOf(level: number, n: number) {
    const row = this.#rowFrom(this.#tile, level, n);
    if (row === undefined) return null;
    const { hashes, position, seqs } = TileRow.parse(row);
    return { hashes, after: BigInt(position), orgSeqs: seqs };
  }

  #rowFrom(statement: Statement, ...parameters: readonly number[]): unknown {
    return this.#rowsFrom(statement, ...parameters)[0];
  }

  #rowsFrom(statement: Statement, ...parameters: readonly number[]): readonly unknown[] {
    return this.#inGate((): readonly unknown[] => statement.all(...parameters));
  }
}
