import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { KnownHead, SignedHead } from '../../application/ports/signed-heads.js';
import { openNote, parseCheckpointText, UntrustedNote, type NoteKey } from '../../domain/signed-note.js';

/**
 * The heads in a folder of anchors that one of the keys has signed. Files without such a signature are
 * skipped: they prove nothing.
 */
export const headsOfAnchors = async (
  folder: string,
  keys: readonly NoteKey[],
): Promise<readonly KnownHead[]> => {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.checkpoint'));
  const heads: KnownHead[] = [];
  for (const name of names) {
    const head = headIn(await readFile(join(folder, name), 'utf8'), keys);
    if (head !== null) heads.push(head);
  }
  return heads;
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
