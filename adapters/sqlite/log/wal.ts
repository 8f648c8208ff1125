import { closeSync, openSync, readSync, statSync } from 'node:fs';

const headerSize = 32;
const frameHeaderSize = 24;
const littleEndianMagic = 0x377f0682;

/** SQLite's running checksum over 32-bit words, taken in pairs. (SQLite file format, section 4.2) */
type Checksum = readonly [first: number, second: number];

const checksum = ([first, second]: Checksum, bytes: Buffer, isLittleEndian: boolean): Checksum => {
  const copy = Buffer.from(bytes);
  if (!isLittleEndian) copy.swap32();
  const words = new Uint32Array(copy.buffer, copy.byteOffset, copy.length / 4);
  let [one, two] = [first, second];
  for (let at = 0; at + 1 < words.length; at += 2) {
    one = (one + (words[at] ?? 0) + two) >>> 0;
    two = (two + (words[at + 1] ?? 0) + one) >>> 0;
  }
  return [one, two];
};

/** Whether a checksum stands in a header. */
const stands = ([first, second]: Checksum, header: Buffer, at: number): boolean =>
  first === header.readUInt32BE(at) && second === header.readUInt32BE(at + 4);

/** The content of an earlier run's write-ahead log. Nothing is in a file that SQLite would not read. */
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
  let [commits, lostCommits] = [0, 0];
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size < headerSize) return { pages, commits, lostCommits };
  const file = openSync(path, 'r');
  try {
    const header = Buffer.alloc(headerSize);
    readSync(file, header, 0, headerSize, 0);
    const isLittleEndian = header.readUInt32BE(0) === littleEndianMagic;
    let sum = checksum([0, 0], header.subarray(0, 24), isLittleEndian);
    if (!stands(sum, header, 24)) return { pages, commits, lostCommits };
    // Whether the checksums of a frame and of all frames before it are right: SQLite will use it.
    let isWhole = true;
    const frame = Buffer.alloc(frameHeaderSize + header.readUInt32BE(8));
    for (let at = headerSize; at + frame.length <= size; at += frame.length) {
      readSync(file, frame, 0, frame.length, at);
      // Written since the log was last restarted.
      const isCurrent = frame.compare(header, 16, 24, 8, 16) === 0;
      const isCommit = frame.readUInt32BE(4) !== 0;
      if (isWhole) {
        sum = checksum(sum, frame.subarray(0, 8), isLittleEndian);
        sum = checksum(sum, frame.subarray(frameHeaderSize), isLittleEndian);
        isWhole = isCurrent && stands(sum, frame, 16);
      }
      if (isWhole) pages.add(frame.readUInt32BE(0));
      if (isWhole && isCommit) commits += 1;
      if (!isWhole && isCurrent && isCommit) lostCommits += 1;
    }
  } finally {
    closeSync(file);
  }
  return { pages, commits, lostCommits };
};
