import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { Checkpoint } from '../../application/ports/log-tiles.js';

/**
 * Writes checkpoints into a folder, one for each hour: `2026-03-02T15.checkpoint`. Existing files are never
 * changed; mount the folder so that other programs can't change them either.
 */
export const anchorsIn =
  (folder: string) =>
  async ({ note }: Checkpoint, hour: string): Promise<void> => {
    try {
      const file = await open(join(folder, `${hour}.checkpoint`), 'wx');
      try {
        await file.writeFile(note);
        await file.sync();
      } finally {
        await file.close();
      }
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    }
  };
