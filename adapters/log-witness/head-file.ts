import { readlinkSync, realpathSync } from 'node:fs';
import { open, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { UnusableHead, type SignedHead, type SignedHeads } from '../../application/ports/signed-heads.js';
import { codeOf } from '../../domain/errors.js';
import { openNote, parseCheckpointText, UntrustedNote, type NoteKey } from '../../domain/signed-note.js';

const ifThere = <Found>(work: Promise<Found>): Promise<Found | null> =>
  work.catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  });

/** Makes the names in a folder durable. */
export const syncFolder = async (path: string): Promise<void> => {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
};

/** Follows links from a path to where a file is, or would be, so that it can be replaced there. */
export const targetOf = (path: string): string => {
  try {
    return realpathSync(path);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
  const folder = realpathSync(dirname(path));
  try {
    return targetOf(resolve(folder, readlinkSync(path)));
  } catch (error) {
    if (!['EINVAL', 'ENOENT'].includes(String(codeOf(error)))) throw error;
    return join(folder, basename(path));
  }
};

/** Replaces a file, or the one that a link leads to, at once, and makes it durable. */
export const replaceFile = async (path: string, text: string): Promise<void> => {
  const target = targetOf(path);
  const unnamed = `${target}.${process.pid}.unfinished`;
  await writeFile(unnamed, text, { mode: 0o600, flush: true });
  await rename(unnamed, target);
  await syncFolder(dirname(target));
};

/** The head that a note states; null if none of the keys has signed it. */
export const headIn = (note: string, keys: readonly NoteKey[]): SignedHead | null => {
  try {
    const { size, root } = parseCheckpointText(openNote(note, keys).text);
    return { size, root, note };
  } catch (error) {
    if (error instanceof UntrustedNote) return null;
    throw error;
  }
};

/** The last signed head in a file, which a key of the log must have signed. */
export const headFile = (path: string, keys: readonly NoteKey[]): SignedHeads => ({
  place: `LOG_HEAD_FILE ${path}`,
  last: async () => {
    const note = await ifThere(readFile(path, 'utf8')).catch((error: unknown) => {
      if (codeOf(error) !== 'EISDIR') throw error;
      throw new UnusableHead(`LOG_HEAD_FILE ${path} is a folder. Restore the file.`);
    });
    const head = note === null ? null : headIn(note, keys);
    if (note !== null && head === null)
      throw new UnusableHead(
        `No key in LOG_KEY_FILE has signed the head in LOG_HEAD_FILE ${path}: it is the key of another log, or the file is not the one that the log was signed with. Put back the key, or the file. If it is damaged, and there is no other, move it aside: then it is missing.`,
      );
    return head;
  },
  since: async () => (await ifThere(stat(path)))?.mtimeMs ?? null,
  keep: (note) => replaceFile(path, note),
  isOurs: (note) => headIn(note, keys) !== null,
});
