import { closeSync, openSync, readSync, statSync } from 'node:fs';

const headerSize = 32;
const frameHeaderSize = 24;
const littleEndianMagic = 0x377f0682;

/** SQLite's running checksum over 32-bit words, taken in pairs. (SQLite file format, section 4.2) */
interface Checksum {
  readonly first: number;
  readonly second: number;
}

const words = (bytes: Buffer, littleEndian: boolean): Uint32Array => {
  const copy = Buffer.from(bytes);
  if (!littleEndian) copy.swap32();
  return new Uint32Array(copy.buffer, copy.byteOffset, copy.length / 4);
};

const checksum = (start: Checksum, bytes: Uint32Array): Checksum => {
  let { first, second } = start;
  for (let at = 0; at + 1 < bytes.length; at += 2) {
    first = (first + (bytes[at] ?? 0) + second) >>> 0;
    second = (second + (bytes[at + 1] ?? 0) + first) >>> 0;
  }
  return { first, second };
};

interface Frame {
  readonly page: number;
  /** Whether it is the last frame of a transaction. */
  readonly commits: boolean;
  /** Whether it was written since the log was last restarted. */
  readonly current: boolean;
  /** Whether its checksum and the checksums of all frames before it are right: SQLite will use it. */
  readonly whole: boolean;
}

/** Every frame of a write-ahead log. None if SQLite would not read the file. */
function* framesOf(path: string): Generator<Frame> {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size < headerSize) return;
  const file = openSync(path, 'r');
  try {
    const header = Buffer.alloc(headerSize);
    readSync(file, header, 0, headerSize, 0);
    const littleEndian = header.readUInt32BE(0) === littleEndianMagic;
    const pageSize = header.readUInt32BE(8);
    let sum = checksum({ first: 0, second: 0 }, words(header.subarray(0, 24), littleEndian));
    let whole = sum.first === header.readUInt32BE(24) && sum.second === header.readUInt32BE(28);
    if (!whole) return;
    const frame = Buffer.alloc(frameHeaderSize + pageSize);
    for (let at = headerSize; at + frame.length <= size; at += frame.length) {
      readSync(file, frame, 0, frame.length, at);
      const current = frame.compare(header, 16, 24, 8, 16) === 0;
      if (whole) {
        sum = checksum(
          checksum(sum, words(frame.subarray(0, 8), littleEndian)),
          words(frame.subarray(frameHeaderSize), littleEndian),
        );
        whole = current && sum.first === frame.readUInt32BE(16) && sum.second === frame.readUInt32BE(20);
      }
      yield { page: frame.readUInt32BE(0), commits: frame.readUInt32BE(4) !== 0, current, whole };
    }
  } finally {
    closeSync(file);
  }
}

/** The content of an earlier run's write-ahead log. */
export interface WalContent {
  /** The pages that SQLite will take from it. */
  readonly pages: ReadonlySet<number>;
  /** How many transactions it will take from it. None if the run was stopped. */
  readonly commits: number;
  /**
   * How many transactions follow a broken frame. SQLite drops them without a word. A crash can leave one,
   * because each commit is synced before the next begins. Two mean that durable content was changed later.
   * (docs/engines.md#sqlite)
   */
  readonly lostCommits: number;
}

export const readWal = (path: string): WalContent => {
  const pages = new Set<number>();
  let taken = 0;
  let lostCommits = 0;
  for (const { page, commits, current, whole } of framesOf(path)) {
    if (whole) pages.add(page);
    if (whole && commits) taken += 1;
    if (!whole && current && commits) lostCommits += 1;
  }
  return { pages, commits: taken, lostCommits };
};
