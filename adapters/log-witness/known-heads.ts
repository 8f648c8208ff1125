import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { KnownHead, SignedHead } from '../../application/ports/signed-heads.js';
import { messageOf } from '../../domain/errors.js';
import { openNote, parseCheckpointText, UntrustedNote, type NoteKey } from '../../domain/signed-note.js';

/**
 * The heads in a folder of anchors that one of the keys has signed. Files without such a signature are
 * skipped: they prove nothing. `report`: told of what can't be read.
 */
export const headsOfAnchors = async (
  folder: string,
  keys: readonly NoteKey[],
  report: (error: unknown) => void,
): Promise<readonly KnownHead[]> => {
  const told = (path: string) => (error: unknown) =>
    report(new Error(`LOG_ANCHOR_DIR: ${path} can't be read: ${messageOf(error)}`, { cause: error }));
  const names = (await readdir(folder).catch(told(folder))) ?? [];
  const heads: KnownHead[] = [];
  for (const name of names.filter((each) => each.endsWith('.checkpoint'))) {
    const path = join(folder, name);
    const note = await readFile(path, 'utf8').catch(told(path));
    const head = typeof note === 'string' ? headIn(note, keys) : null;
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
