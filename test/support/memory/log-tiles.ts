import {
  ForkedLog,
  type Checkpoint,
  type Leaf,
  type LogDamage,
  type LogTiles,
  type LogTree,
} from '../../../application/ports/log-tiles.js';
import { emptyFrontier, grow, tileWidth, type Frontier, type Hash } from '../../../domain/merkle.js';

/** The tiles by the book: a list of leaves. Tests may look at and change what it holds. */
export class MemoryLogTiles implements LogTiles {
  leafList: Leaf[] = [];
  levels: Hash[][] = [];
  checkpoints: Checkpoint[] = [];
  #frontier: Frontier = emptyFrontier;
  #position = 0n;
  #epoch = 0;
  #damage: LogDamage | null = null;

  async tree(): Promise<LogTree> {
    return { ...this.#frontier, position: this.#position, epoch: this.#epoch };
  }

  async extend(from: number, leaves: readonly Leaf[], to: bigint, epoch: number): Promise<boolean> {
    if (from !== this.#frontier.size || epoch < this.#epoch) return false;
    const { frontier, levels } = grow(
      this.#frontier,
      leaves.map(({ hash }) => hash),
    );
    levels.forEach(({ from: start, hashes }, level) => {
      const known = (this.levels[level] ??= []);
      known.splice(start, known.length, ...hashes);
    });
    this.leafList.push(...leaves);
    this.#frontier = frontier;
    this.#position = to;
    this.#epoch = epoch;
    return true;
  }

  async hashes(level: number, from: number, count: number): Promise<Buffer> {
    return Buffer.concat(this.levels[level]?.slice(from, from + count) ?? []);
  }

  async leaves(tile: number) {
    const start = tile * tileWidth;
    const found = this.leafList.slice(start, start + tileWidth);
    if (found.length === 0) return null;
    return {
      after: this.leafList[start - 1]?.position ?? 0n,
      hashes: this.levels[0]?.slice(start, start + tileWidth) ?? [],
      orgSeqs: found.map(({ orgSeq }) => orgSeq),
    };
  }

  async tileOf(position: bigint): Promise<number> {
    const index = this.leafList.findIndex((leaf) => leaf.position >= position);
    return Math.floor((index === -1 ? Math.max(0, this.leafList.length - 1) : index) / tileWidth);
  }

  async keep(checkpoint: Checkpoint): Promise<void> {
    const { size, root } = checkpoint;
    const known = this.checkpoints.find((kept) => kept.size === size);
    if (known !== undefined && !known.root.equals(root)) throw new ForkedLog(size);
    const others = this.checkpoints.filter((kept) => kept.size !== size);
    const last = this.checkpoints.at(-1);
    const isReplaced = last !== undefined && last.size < size && hourOf(last) === hourOf(checkpoint);
    this.checkpoints = [...(isReplaced ? others.slice(0, -1) : others), checkpoint].toSorted(
      (one, other) => one.size - other.size,
    );
  }

  async newest(): Promise<Checkpoint | null> {
    return this.checkpoints.at(-1) ?? null;
  }

  async kept(): Promise<readonly Checkpoint[]> {
    return this.checkpoints;
  }

  async reset(): Promise<void> {
    this.leafList = [];
    this.levels = [];
    this.#frontier = emptyFrontier;
    this.#position = 0n;
  }

  async damage(): Promise<LogDamage | null> {
    return this.#damage;
  }

  async reportDamage(damage: LogDamage | null): Promise<void> {
    this.#damage = damage === null ? null : (this.#damage ?? damage);
  }
}

const hourOf = ({ at }: Checkpoint): string => at.slice(0, 13);
