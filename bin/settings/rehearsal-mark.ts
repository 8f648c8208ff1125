import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { syncFile } from '../../adapters/sqlite/backup.js';
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
  writeFileSync(pathIn(directory), `${JSON.stringify(mark)}\n`, { mode: 0o600 });
  syncFile(pathIn(directory));
};

const Manifest = RehearsalMark.pick({ original: true });

/** Null if the directory is that of the service. A backup is a copy, too, where it lies. */
export const markOfDirectory = (directory: string): RehearsalMark | null => {
  if (existsSync(pathIn(directory)))
    return RehearsalMark.parse(JSON.parse(readFileSync(pathIn(directory), 'utf8')));
  if (!existsSync(manifestIn(directory))) return null;
  const { original } = Manifest.parse(JSON.parse(readFileSync(manifestIn(directory), 'utf8')));
  return { why: 'it is a backup', original };
};
