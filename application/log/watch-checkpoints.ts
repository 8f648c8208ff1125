import { insteadOf, NamedError } from '../../domain/errors.js';
import { hashBytes, hashesAt, tilePath, tileWidth, verifyConsistency } from '../../domain/merkle.js';
import { openNote, parseCheckpointText, type NoteKey, type TreeHead } from '../../domain/signed-note.js';
import { consistencyProof, MissingTiles } from './log-proofs.js';
import type { LogTiles } from '../ports/log-tiles.js';

/** Reads the public files of the log: `/log/checkpoint` and the tiles below `/log/tile/`. */
export type ReadLogFile = (path: string) => Promise<Buffer>;

/** Two checkpoints of one log, neither a prefix of the other. Together they prove the fork. */
export class ForkSeen extends NamedError {}

const tilesOf = (read: ReadLogFile, size: number): Pick<LogTiles, 'hashes'> => ({
  hashes: async (level, from, count) => {
    const n = Math.floor(from / tileWidth);
    const width = Math.min(tileWidth, hashesAt(level, size) - n * tileWidth);
    const tile = await read(`/log/${tilePath({ level, n, width })}`);
    const start = (from % tileWidth) * hashBytes;
    return tile.subarray(start, start + count * hashBytes);
  },
});

/** Throws UntrustedNote if the log did not sign it, or if fewer than `quorum` of the witnesses did. */
export const headOf = (
  note: string,
  log: NoteKey,
  witnesses: readonly NoteKey[],
  quorum: number,
): TreeHead => {
  const { text } = openNote(note, [log]);
  const head = parseCheckpointText(text);
  if (head.origin !== log.name)
    throw new ForkSeen(`This is a checkpoint of ${head.origin}, and not of ${log.name}.`);
  const signed = witnesses.length === 0 ? [] : openNote(note, [log, ...witnesses]).verified;
  const count = signed.filter(({ key }) => key.kind === 'cosignature').length;
  if (count < quorum)
    throw new ForkSeen(`${count} witnesses have signed the checkpoint, and ${quorum} were asked for.`);
  return head;
};

/** Makes sure that the older tree is a prefix of the newer one. Throws ForkSeen. */
export const proveGrowth = async (older: TreeHead, newer: TreeHead, read: ReadLogFile): Promise<void> => {
  if (older.size > newer.size)
    throw new ForkSeen(`The log has ${newer.size} events; it had ${older.size} when it was looked at last.`);
  if (older.size === newer.size) {
    if (older.root.equals(newer.root)) return;
    throw new ForkSeen(`The log has another root for the same ${newer.size} events.`);
  }
  const proving = consistencyProof(tilesOf(read, newer.size), older.size, newer.size);
  const proof = await proving.catch(insteadOf(MissingTiles, []));
  if (!verifyConsistency(older, newer, proof))
    throw new ForkSeen(
      `The ${older.size} events that were there last are no prefix of the ${newer.size} of now.`,
    );
};
