import type { SeededEntropy } from '../support/memory/entropy.js';
import type { Operation } from './operations.js';

type Change = { readonly at: number; readonly bytes: Buffer } | { readonly size: number };

/** What a file certainly holds, and what was written since it was last synced. */
interface Inode {
  synced: Buffer;
  pending: Change[];
}

type Entries = ReadonlyMap<string, Inode>;

/** The smallest piece that a disk writes as a whole. */
const sector = 512;
const page = 4096;

/** How what wasn't synced reaches the disk when the power fails. */
export const losses = ['nothing', 'everything', 'in order', 'pages', 'sectors'] as const;
export type Loss = (typeof losses)[number];

const emptied = (): Inode => ({ synced: Buffer.alloc(0), pending: [] });

/**
 * Files as they are on a disk: a piece of a file is certainly there once it was synced, an entry once its
 * directory was.
 */
export class Disk {
  #syncedEntries: Entries = new Map();
  /** Every state of the directory since it was last synced; a journaling file system keeps their order. */
  #entries: Entries[] = [new Map()];

  apply(operation: Operation): void {
    switch (operation.kind) {
      case 'create':
        return this.#change((entries) => entries.set(operation.path, emptied()));
      case 'write':
        return void this.#inode(operation.path).pending.push({ at: operation.at, bytes: operation.bytes });
      case 'resize':
        return void this.#inode(operation.path).pending.push({ size: operation.size });
      case 'link':
      case 'rename': {
        const moved = this.#inode(operation.from);
        return this.#change((entries) => {
          entries.set(operation.path, moved);
          if (operation.kind === 'rename') entries.delete(operation.from);
        });
      }
      case 'unlink':
        return this.#change((entries) => entries.delete(operation.path));
      case 'sync': {
        const inode = this.#inode(operation.path);
        inode.synced = contentOf(inode, () => Infinity, Infinity);
        inode.pending = [];
        return;
      }
      case 'sync directory':
        this.#syncedEntries = this.#now;
        this.#entries = [this.#now];
        return;
      case 'answered':
    }
  }

  /** The files after the power has failed now. */
  cut(loss: Loss, dice: SeededEntropy): ReadonlyMap<string, Buffer> {
    const entries =
      loss === 'everything'
        ? this.#now
        : loss === 'nothing'
          ? this.#syncedEntries
          : (([this.#syncedEntries, ...this.#entries] as const)[dice.below(this.#entries.length + 1)] ??
            this.#now);
    return new Map([...entries].map(([path, inode]) => [path, lost(inode, loss, dice)]));
  }

  get #now(): Entries {
    return this.#entries.at(-1) ?? this.#syncedEntries;
  }

  #inode(path: string): Inode {
    const found = this.#now.get(path);
    if (found === undefined) throw new Error(`${path} is changed, but was never made`);
    return found;
  }

  #change(make: (entries: Map<string, Inode>) => void): void {
    const entries = new Map(this.#now);
    make(entries);
    this.#entries.push(entries);
  }
}

/**
 * A file that the power left: each piece holds what it held after one of the changes since the last sync. A
 * file is cut short as a whole, because file systems keep a journal of that: before it, nothing of what came
 * later is there; after it, nothing of what it took away.
 */
const lost = (inode: Inode, loss: Loss, dice: SeededEntropy): Buffer => {
  const { pending, synced } = inode;
  if (loss === 'nothing' || pending.length === 0) return synced;
  if (loss === 'everything') return contentOf(inode, () => pending.length, pending.length);
  const shortened = pending.flatMap((change, index) => ('size' in change ? [index] : []));
  const shorter = dice.below(shortened.length + 1);
  const least = shorter === 0 ? 0 : (shortened[shorter - 1] ?? 0) + 1;
  const most = shortened[shorter] ?? pending.length;
  const any = (): number => least + dice.below(most - least + 1);
  if (loss === 'in order') {
    const reached = any();
    return contentOf(inode, () => reached, reached);
  }
  const piece = loss === 'pages' ? page : sector;
  const drawn = new Map<number, number>();
  const reached = (at: number): number => {
    const place = Math.floor(at / piece);
    const known = drawn.get(place) ?? any();
    drawn.set(place, known);
    return known;
  };
  return contentOf(inode, reached, any());
};

/** `reached`: how many changes the sector at an offset has seen. `sized`: how many changes the size has. */
const contentOf = ({ synced, pending }: Inode, reached: (at: number) => number, sized: number): Buffer => {
  const sizes = pending.map((change) => ('size' in change ? change.size : change.at + change.bytes.length));
  const room = Buffer.alloc(Math.max(synced.length, ...sizes));
  synced.copy(room);
  let size = synced.length;
  for (const [index, change] of pending.entries()) {
    if (index < sized) size = 'size' in change ? change.size : Math.max(size, sizes[index] ?? 0);
    const from = 'size' in change ? change.size : change.at;
    const to = 'size' in change ? room.length : change.at + change.bytes.length;
    for (let at = from; at < to;) {
      const end = Math.min(to, (Math.floor(at / sector) + 1) * sector);
      if (index < reached(at)) {
        if ('size' in change) room.fill(0, at, end);
        else change.bytes.copy(room, at, at - from, end - from);
      }
      at = end;
    }
  }
  return room.subarray(0, size);
};
