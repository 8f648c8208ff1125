import { open, readFile, rename, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { UnusableHead, type SignedHeads } from '../../application/ports/signed-heads.js';
import type { NoteKey } from '../../domain/signed-note.js';
import { headIn } from './known-heads.js';

const ifThere = async <Found>(work: Promise<Found>): Promise<Found | null> => {
  try {
    return await work;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
};

const sync = async (path: string, flags: string, text?: string): Promise<void> => {
  const file = await open(path, flags, 0o600);
  try {
    if (text !== undefined) await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
};

/** The last signed head in a file, which a key of the log must have signed. */
export const headFile = (path: string, keys: readonly NoteKey[]): SignedHeads => ({
  place: `LOG_HEAD_FILE ${path}`,
  last: async () => {
    const note = await ifThere(readFile(path, 'utf8'));
    const head = note === null ? null : headIn(note, keys);
    if (note !== null && head === null)
      throw new UnusableHead(
        `No key in LOG_KEY_FILE has signed the head in LOG_HEAD_FILE ${path}: it is the key of another log, or the file is not the one that the log was signed with. Put back the key, or the file.`,
      );
    return head;
  },
  since: async () => (await ifThere(stat(path)))?.mtimeMs ?? null,
  keep: async (note) => {
    const unnamed = `${path}.${process.pid}.unfinished`;
    await sync(unnamed, 'w', note);
    await rename(unnamed, path);
    await sync(dirname(path), 'r');
  },
  isOurs: (note) => headIn(note, keys) !== null,
});
