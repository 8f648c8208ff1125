/** One row of a file of contacts: the contact to save, or why there is none. */
export type FileRow = {
  /** The line on which the row begins; the header is line 1. */
  readonly line: number;
  /** How much of the file has been read. */
  readonly bytes?: number;
} & ({ readonly externalId: string; readonly contact: SentContact } | { readonly problem: string });

/** A contact as a client sends it. */
export type SentContact = Readonly<Record<string, unknown>>;

/**
 * The outcome of a row: the contact was created or updated, was the same already, or was refused. An error
 * stops the import.
 */
export type RowOutcome =
  { readonly kind: 'created' | 'updated' | 'same' } | { readonly kind: 'refused'; readonly reason: string };

export interface ImportOptions {
  readonly rows: AsyncIterable<FileRow>;
  readonly save: (contact: SentContact, line: number) => Promise<RowOutcome>;
  readonly onBadRow: (line: number, reason: string) => void;
  readonly onProgress: (progress: ImportProgress) => void;
  /** When it aborts, the rows under way are finished and no more are started. */
  readonly signal: AbortSignal;
}

export interface ImportProgress {
  readonly created: number;
  readonly updated: number;
  readonly same: number;
  readonly bad: number;
  readonly bytes: number;
}

export interface ImportResult extends ImportProgress {
  /**
   * The line to resume at if the import stopped before the end of the file, else null. Rows from there on
   * that are saved already are replaced by the same.
   */
  readonly resumeAt: number | null;
  /** The error that stopped it, if any. */
  readonly failure: Error | null;
}

const concurrency = 64;

/**
 * Saves the rows of a file, several at once, but those with the same external_id one after the other. Keeps
 * only the rows under way in memory. Saving a row twice creates no second contact: an import that stopped can
 * be resumed, or simply run again.
 */
export const importContacts = async (options: ImportOptions): Promise<ImportResult> => {
  const { rows, save, onBadRow, onProgress, signal } = options;
  const progress = { created: 0, updated: 0, same: 0, bad: 0, bytes: 0 };
  const underWay = new Set<Promise<void>>();
  const lastOf = new Map<string, Promise<void>>();
  let failedAt: number | null = null;
  let failure: Error | null = null;
  let nextLine: number | null = null;

  const bad = (line: number, reason: string): void => {
    progress.bad += 1;
    onBadRow(line, reason);
  };
  const fail = (line: number, error: unknown): void => {
    failure ??= error instanceof Error ? error : new Error(String(error));
    failedAt = Math.min(line, failedAt ?? line);
  };
  const saveRow = async (line: number, contact: SentContact, before?: Promise<void>): Promise<void> => {
    await before;
    try {
      const saved = await save(contact, line);
      if (saved.kind === 'refused') bad(line, saved.reason);
      else progress[saved.kind] += 1;
    } catch (error) {
      fail(line, error);
    }
  };
  const begin = (line: number, externalId: string, contact: SentContact): void => {
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
      if (underWay.size >= concurrency) await Promise.race(underWay);
      lastLine = row.line;
      progress.bytes = row.bytes ?? 0;
      onProgress(progress);
    }
  } catch (error) {
    fail(lastLine + 1, error);
  }
  await Promise.all(underWay);
  onProgress(progress);
  return { ...progress, resumeAt: failedAt ?? nextLine, failure };
};
