import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Settings } from './settings.js';

/**
 * Marks a data directory that was restored from a backup, until the operator decides what its webhooks may
 * do.
 */
const markOf = (directory: string): string => join(directory, 'restored.json');

export const markRestored = (directory: string, from: object): void =>
  writeFileSync(markOf(directory), `${JSON.stringify(from)}\n`, { mode: 0o600 });

/**
 * Whether webhooks are delivered: as WEBHOOK_DELIVERY says; by default, everywhere but in a restored copy,
 * whose original may still be delivering. `on` ends that for good. (docs/operations.md#restore)
 */
export const deliversWebhooks = ({
  dataDir,
  servers,
  webhooks,
}: Pick<Settings, 'dataDir' | 'servers' | 'webhooks'>): boolean => {
  const isRestored = servers === null && existsSync(markOf(dataDir));
  if (webhooks.delivery === true && isRestored) rmSync(markOf(dataDir), { force: true });
  return webhooks.delivery ?? !isRestored;
};

/** The origin of a restored data directory, as its mark names it; null if it was not restored. */
export const restoredFrom = (directory: string): string | null =>
  existsSync(markOf(directory)) ? readFileSync(markOf(directory), 'utf8').trim() : null;
