import type { FileRow } from './contact-file.js';

/**
 * What became of a row: the contact was created or replaced, or the service refused it. Anything that is
 * thrown stops the import.
 */
export type RowSaved =
  { readonly kind: 'created' | 'updated' } | { readonly kind: 'refused'; readonly reason: string };

export interface Importing {
  readonly rows: AsyncIterable<FileRow>;
  readonly save: (contact: object) => Promise<RowSaved>;
  readonly onBad: (line: number, reason: string) => void;
  readonly onProgress: (progress: Progress) => void;
  /** Aborts: what is under way is finished, nothing more is begun. */
  readonly signal: AbortSignal;
}

export interface Progress {
  readonly created: number;
  readonly updated: number;
  readonly bad: number;
  readonly bytes: number;
}

export interface Imported extends Progress {
  /**
   * The line to go on with, where the import stopped before the end of the file. Rows that were saved before
   * are replaced by themselves.
   */
  readonly goOnWith: number | null;
  /** Why it stopped, where something failed. */
  readonly failure: Error | null;
}

const mostAtOnce = 64;

/**
 * Saves the rows of a file, several at once, those of one external_id in their order. Holds no more rows than
 * are under way. Saving a row twice makes no second contact: an import that stopped is gone on with, or
 * simply run again.
 */
export const importContacts = async ({
  rows,
  save,
  onBad,
  onProgress,
  signal,
}: Importing): Promise<Imported> => {
  const progress = { created: 0, updated: 0, bad: 0, bytes: 0 };
  const underWay = new Set<Promise<void>>();
  const lastOf = new Map<string, Promise<void>>();
  let failedAt: number | null = null;
  let failure: Error | null = null;
  let nextLine: number | null = null;

  const bad = (line: number, reason: string): void => {
    progress.bad += 1;
    onBad(line, reason);
  };
  const fail = (line: number, error: unknown): void => {
    failure ??= error instanceof Error ? error : new Error(String(error));
    failedAt = Math.min(line, failedAt ?? line);
  };
  const saveRow = async (line: number, contact: object, before: Promise<void> | undefined): Promise<void> => {
    await before;
    try {
      const saved = await save(contact);
      if (saved.kind === 'refused') bad(line, saved.reason);
      else progress[saved.kind] += 1;
    } catch (error) {
      fail(line, error);
    }
  };
  const begin = (line: number, externalId: string, contact: object): void => {
    const saving = saveRow(line, contact, lastOf.get(externalId)).finally(() => {
      underWay.delete(saving);
      if (lastOf.get(externalId) === saving) lastOf.delete(externalId);
    });
    underWay.add(saving);
    lastOf.set(externalId, saving);
  };

  let lastLine = 0;
  try {
    for await (const row of rows) {
      if (signal.aborted || failedAt !== null) {
        nextLine = row.line;
        break;
      }
      if ('problem' in row) bad(row.line, row.problem);
      else begin(row.line, row.externalId, row.contact);
      if (underWay.size >= mostAtOnce) await Promise.race(underWay);
      lastLine = row.line;
      progress.bytes = row.bytes;
      onProgress(progress);
    }
  } catch (error) {
    fail(lastLine + 1, error);
  }
  await Promise.all(underWay);
  onProgress(progress);
  return { ...progress, goOnWith: failedAt ?? nextLine, failure };
};
