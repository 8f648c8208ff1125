import { contact, contactIdOf, importContact, type ContactDetails } from '../../domain/contact.js';
import { capture, DomainError } from '../../domain/errors.js';
import type { Command } from '../../domain/events.js';
import { CommandId, derivedUuid, streamName, type Milliseconds, type Uuid } from '../../domain/ids.js';
import { isBy, type Moment } from '../history/as-of.js';
import { executeOnce, isPassing, type WriteDeps } from '../writing/execute.js';
import { nextDeleted } from './save-contact.js';
import { importContacts, type RowOutcome } from './import-contacts.js';
import {
  addImport,
  badLinesId,
  changeImport,
  findImport,
  type BadLines,
  type ContactImport,
  type BadLine,
  type FoundImport,
  type ImportDeps,
  type ReadContact,
} from './imports.js';
import { ImportsUnavailable } from '../ports/records.js';
import { givingWay } from '../timing/next-turn.js';
import { untilAborted } from '../timing/until-aborted.js';
import {
  changeRecord,
  listUploads,
  readPart,
  reasonOf,
  removePart,
  removeUpload,
  type Upload,
  type WaitingRow,
} from './waiting-rows.js';

export interface RunImportsDeps extends ImportDeps, WriteDeps {
  readonly readContact: ReadContact;
}

const pause: Milliseconds = 1_000;
/** An upload that is incomplete by then broke off, or stands still: a file is uploaded within 10 minutes. */
const uploadTimeout: Milliseconds = 20 * 60 * 1000;
/** A part that fails so often, and not because a store is away, ends its import. */
const maxTries = 20;
/** The bad lines that an import lists; further ones are only counted. */
const maxBadLines = 1_000;

/** The command of a line. It is always the same, so that a repeated part finds its own writes. */
const commandOf = ({ clock }: RunImportsDeps, work: FoundImport, line: number): Command => ({
  id: CommandId.parse(derivedUuid('import', work.id, line)),
  org: work.org,
  actor: work.actor,
  requestId: work.requestId,
  at: clock.instant(),
});

const refused = (reason: string): RowOutcome => ({ kind: 'refused', reason });

const saved = ({ type }: { readonly type: string }): RowOutcome => ({
  kind: type === 'ContactCreated' ? 'created' : 'updated',
});

/**
 * Saves a line once, though another process may be at it, too, or was. One that changed nothing has left no
 * trace: it is through if one of the `later` lines of its contact was saved, which it must not undo.
 */
const saveLine = async (
  deps: RunImportsDeps,
  { org, head, at }: FoundImport,
  externalId: string,
  details: ContactDetails,
  [command, ...later]: readonly [Command, ...Command[]],
): Promise<RowOutcome> => {
  const uploaded: Moment = { position: BigInt(head), at };
  const save = importContact(org, details, command.at);
  const wasBefore = async (id: Uuid): Promise<boolean> => {
    const deletion = await deps.store.readLast(streamName('contact', id));
    return deletion !== null && isBy(uploaded, deletion);
  };
  for (let deleted = 0; ; deleted = await nextDeleted(deps.streams, org, externalId, deleted, wasBefore)) {
    const id = contactIdOf(org, externalId, deleted);
    const { state, events, recorded } = await executeOnce(deps, contact, id, command, save, later);
    if (recorded !== null)
      return recorded.metadata.causationId === command.id ? saved(recorded) : { kind: 'same' };
    if (state !== null && state.deletedAt !== null) {
      if (await wasBefore(id)) continue;
      return refused('the contact was deleted after the file was uploaded');
    }
    const [event] = events;
    return event === undefined ? { kind: 'same' } : saved(event);
  }
};

/** The lines of a part that come after this one and have the same key. */
const laterLines = (rows: readonly WaitingRow[], externalId: string, line: number): readonly number[] =>
  rows.flatMap((row) =>
    row.line > line && 'externalId' in row && row.externalId === externalId ? [row.line] : [],
  );

/** Notes the result of a part, even if the import was stopped while it was saved. */
const note = async (
  deps: RunImportsDeps,
  begun: FoundImport,
  came: Partial<ContactImport>,
): Promise<void> => {
  if ((await changeImport(deps, begun, came)) !== null) return;
  const now = await findImport(deps, begun.org, begun.id);
  // No other process has started the part since.
  if (now?.status === 'stopped' && now.next === begun.next && now.tries === begun.tries)
    await changeImport(deps, now, came);
};

async function* inTurns({ clock }: RunImportsDeps, rows: readonly WaitingRow[]): AsyncGenerator<WaitingRow> {
  const giveWay = givingWay(clock);
  for (const row of rows) {
    await giveWay();
    yield row;
  }
}

/** Saves one part, and notes that. Throws the error that stopped it; then the part is repeated. */
const savePart = async (
  deps: RunImportsDeps,
  work: FoundImport,
  rows: readonly WaitingRow[],
  signal: AbortSignal,
): Promise<void> => {
  const bad: BadLine[] = [];
  const { failure, resumeAt, created, updated, same } = await importContacts({
    rows: inTurns(deps, rows),
    save: async (sent, line) => {
      const read = capture(() => deps.readContact(sent));
      if ('refusal' in read) return refused(reasonOf(read.refusal));
      const { externalId } = read.value;
      if (externalId === null) return refused('it has no external_id');
      const commandAt = (number: number): Command => commandOf(deps, work, number);
      const later = laterLines(rows, externalId, line).map(commandAt);
      const commands = [commandAt(line), ...later] as const;
      return saveLine(deps, work, externalId, read.value, commands).catch((error: unknown) => {
        if (error instanceof DomainError) return refused(error.message);
        throw error;
      });
    },
    onBadRow: (line, reason) => bad.push({ line, reason }),
    onProgress: () => undefined,
    signal,
  });
  if (failure !== null) throw failure;
  if (resumeAt !== null) return;
  const { next, tries, savedBy, through, bad: badBefore, record } = work;
  const told = bad.toSorted((a, b) => a.line - b.line).slice(0, Math.max(0, maxBadLines - badBefore));
  if (told.length > 0) {
    const data: BadLines = { lines: told };
    const id = badLinesId(work.id, next, tries);
    await deps.importRecords.add({ kind: 'import-bad', id, owner: work.id, data, ends: record.ends });
  }
  await note(deps, work, {
    next: next + 1,
    tries: 0,
    ...(tries > 1 && { savedBy: { ...savedBy, [next]: tries } }),
    through: through + rows.length,
    created: work.created + created,
    updated: work.updated + updated,
    same: work.same + same,
    bad: badBefore + bad.length,
  });
};

/** Does the next part of an import; false if it is finished, or has not started. */
const goOn = async (deps: RunImportsDeps, upload: Upload, signal: AbortSignal): Promise<boolean> => {
  const { beginning } = upload;
  const isLate = deps.clock.now() - Date.parse(upload.at) > uploadTimeout;
  let work = await findImport(deps, upload.org, upload.import);
  if (work === null && beginning !== undefined) {
    await addImport(deps, upload, beginning);
    work = await findImport(deps, upload.org, upload.import);
  }
  if (work?.upload !== upload.id) {
    // A complete one has lost to another of its form, or its import has ended. Any other may be completed by
    // a process that stands still, unless this changes its record first.
    if (beginning !== undefined || (isLate && (await changeRecord(deps, upload.record, {})) !== null))
      await removeUpload(deps, upload.id);
    return false;
  }
  const { next, parts } = work;
  if (next > 0) await removePart(deps, upload.id, next - 1);
  if (work.status !== 'running' || next >= parts) {
    if (work.status === 'running' && (await changeImport(deps, work, { status: 'done' })) === null)
      return true;
    await removeUpload(deps, upload.id, { from: next, to: parts });
    return false;
  }
  const rows = await readPart(deps, upload.id, next);
  if (rows === null) {
    await changeImport(deps, work, { status: 'failed', why: 'What is left of the file is gone.' });
    return true;
  }
  // Counted before it begins, so that one that ends the process is given up, too.
  const begun = await changeImport(deps, work, { tries: work.tries + 1 });
  if (begun !== null) await savePart(deps, begun, rows, signal);
  return true;
};

/** Ends an import whose part fails again and again, so that it does not do so for days. */
const giveUpOn = async (deps: RunImportsDeps, upload: Upload, error: unknown): Promise<void> => {
  const mayPass = error instanceof ImportsUnavailable || isPassing(error);
  const work = mayPass ? null : await findImport(deps, upload.org, upload.import);
  if (work?.status !== 'running' || work.tries < maxTries) return;
  const why = `The part with row ${work.through + 1} failed ${maxTries} times.`;
  await changeImport(deps, work, { status: 'failed', why });
};

/**
 * Does one part of each waiting import in turn, until all are done. A failed import does not hold up the
 * others: it is left for the next time, and the first failure is thrown at the end.
 */
export const workOnImports = async (deps: RunImportsDeps, signal: AbortSignal): Promise<void> => {
  const failed = new Map<string, unknown>();
  for (let isBusy = true; isBusy && !signal.aborted;) {
    isBusy = false;
    for (const upload of await listUploads(deps)) {
      if (signal.aborted || failed.has(upload.id)) continue;
      try {
        if (await goOn(deps, upload, signal)) isBusy = true;
      } catch (error) {
        failed.set(upload.id, error);
        if (!signal.aborted) await giveUpOn(deps, upload, error).catch(() => undefined);
      }
    }
  }
  for (const error of failed.values()) throw error;
};

/** Saves uploaded files, until the signal aborts. Only one may run at a time. */
export const runImports = (
  deps: RunImportsDeps,
  signal: AbortSignal,
  report: (error: unknown) => void,
): Promise<void> =>
  untilAborted({ clock: deps.clock, signal, pause, onError: report }, () => workOnImports(deps, signal));
