import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { z } from 'zod';
import { writeWhole } from '../../adapters/sqlite/backup.js';
import { isForbidden, reasonOf, UnusableFile } from '../../adapters/sqlite/errors.js';
import { RehearsalMark } from '../../application/writing/rehearsal.js';
import type { Settings } from './settings.js';

/** The mark of everything while REHEARSAL is on; null while it is off. */
export const markOfSettings = ({ rehearsal }: Pick<Settings, 'rehearsal'>): RehearsalMark | null =>
  rehearsal ? { why: 'REHEARSAL is on' } : null;

const pathIn = (directory: string): string => join(directory, 'rehearsal.json');
const manifestIn = (directory: string): string => join(directory, 'backup.json');

/** Marks a data directory that is not the service's. Null: it is. */
export const markDirectory = (directory: string, mark: RehearsalMark | null): void => {
  if (mark === null) {
    for (const path of [pathIn(directory), manifestIn(directory)]) rmSync(path, { force: true });
    return;
  }
  writeWhole(pathIn(directory), (path) => writeFileSync(path, `${JSON.stringify(mark)}\n`, { mode: 0o600 }));
};

const contentOf = <Content>(path: string, content: z.ZodType<Content>): Content => {
  try {
    return content.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch (error) {
    if (isForbidden(error)) throw new UnusableFile(`${path} can't be read: ${reasonOf(error)}`);
    throw new UnusableFile(
      `${path} can't be read, or is not as the service wrote it. It marks a copy: restore the backup into a new folder. Only if this is no copy, move it away.`,
      { cause: error },
    );
  }
};

const Manifest = RehearsalMark.pick({ original: true });

/**
 * Null if the directory is that of the service. A backup is a copy, too, where it lies. Throws UnusableFile.
 */
export const markOfDirectory = (directory: string): RehearsalMark | null => {
  if (existsSync(pathIn(directory))) return contentOf(pathIn(directory), RehearsalMark);
  if (!existsSync(manifestIn(directory))) return null;
  const { original } = contentOf(manifestIn(directory), Manifest);
  return { why: 'it is a backup', original };
};
