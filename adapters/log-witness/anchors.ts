import { link, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Checkpoint } from '../../application/ports/log-tiles.js';
import type { KnownHead } from '../../application/ports/signed-heads.js';
import { codeOf, messageOf } from '../../domain/errors.js';
import type { NoteKey } from '../../domain/signed-note.js';
import { headIn, syncFolder } from './head-file.js';

/**
 * Writes checkpoints into a folder, one for each hour: `2026-03-02T15.checkpoint`. A file gets its name once
 * it is whole and on the disk, and is never changed; mount the folder so that other programs can't change it
 * either. `report`: told of a file with such a name that none of the keys has signed.
 */
export const anchorsIn =
  (folder: string, keys: readonly NoteKey[], report: (error: unknown) => void) =>
  async ({ note }: Checkpoint, hour: string): Promise<void> => {
    const path = join(folder, `${hour}.checkpoint`);
    const unnamed = `${path}.${process.pid}.unfinished`;
    try {
      await writeFile(unnamed, note, { flush: true });
      await link(unnamed, path);
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
      if (headIn(await readFile(path, 'utf8'), keys) === null)
        report(new Error(`${path} is no checkpoint of this log, so the log has no anchor of that hour`));
    } finally {
      // Where nothing can be removed it stays, which does no harm.
      await rm(unnamed, { force: true }).catch(() => undefined);
    }
    await syncFolder(folder);
  };

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
