import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { syncFile } from '../../adapters/sqlite/backup.js';

const Mark = z.object({
  why: z.string(),
  /** The data directory that it was copied from. */
  original: z.string().optional(),
});
type Mark = z.infer<typeof Mark>;

const pathIn = (directory: string): string => join(directory, 'rehearsal.json');

const manifestIn = (directory: string): string => join(directory, 'backup.json');

/** Marks a data directory as a copy for rehearsal. */
export const markDirectory = (directory: string, mark: Mark): void => {
  writeFileSync(pathIn(directory), `${JSON.stringify(mark)}\n`, { mode: 0o600 });
  syncFile(pathIn(directory));
};

/** Null if the directory is that of the service. A backup is a copy, too, where it lies. */
export const markOfDirectory = (directory: string): Mark | null => {
  if (existsSync(pathIn(directory))) return Mark.parse(JSON.parse(readFileSync(pathIn(directory), 'utf8')));
  return existsSync(manifestIn(directory)) ? { why: 'it is a backup' } : null;
};

export const unmarkDirectory = (directory: string): void => {
  for (const path of [pathIn(directory), manifestIn(directory)]) rmSync(path, { force: true });
};
