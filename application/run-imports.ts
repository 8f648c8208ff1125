import { contact, contactIdOf, importContact, type ContactDetails } from '../domain/contact.js';
import { capture, DomainError } from '../domain/errors.js';
import type { Command } from '../domain/events.js';
import { CommandId, derivedUuid, streamName, type OrganizationId } from '../domain/ids.js';
import { execute, type WriteDeps } from './execute.js';
import { importContacts, type FileRow, type RowOutcome } from './import-contacts.js';
import {
  type BadLines,
  changeImport,
  everybody,
  importIn,
  ImportPart,
  partId,
  type BadLine,
  type FoundImport,
  type ImportDeps,
  type WaitingRow,
} from './imports.js';
import { eventIdOf } from './streams.js';
import { streamPages } from './stream-pages.js';
import { untilAborted } from './until-aborted.js';

type SentContact = Readonly<Record<string, unknown>>;

export interface RunImportsDeps extends ImportDeps, WriteDeps {
  /** Reads a contact by the rules of the API. Throws the refusal of the first wrong field. */
  readonly readContact: (contact: SentContact) => ContactDetails;
}

const pause = 1_000;

/** The command of a line: always the same, so that a part that is begun again finds what it wrote. */
const commandOf = ({ clock }: RunImportsDeps, work: FoundImport, line: number): Command => ({
  id: CommandId.parse(derivedUuid('import', work.id, line)),
  org: work.org,
  actor: work.actor,
  requestId: work.requestId,
  at: clock.instant(),
});

interface Line {
  readonly org: OrganizationId;
  readonly externalId: string;
  readonly command: Command;
}

/** What the line has become already; null if it was not saved. */
const savedBefore = async (
  { store, streams }: RunImportsDeps,
  { org, externalId, command }: Line,
): Promise<RowOutcome | null> => {
  for (let deleted = 0; ; deleted += 1) {
    const id = contactIdOf(org, externalId, deleted);
    const stream = streamName('contact', id);
    const own = eventIdOf(stream, command, 0);
    for await (const page of streamPages(store, stream, 0)) {
      const event = page.find((each) => each.id === own);
      if (event !== undefined) return { kind: event.type === 'ContactCreated' ? 'created' : 'updated' };
    }
    const { state } = await streams.load(contact, id);
    if (state === null || state.deletedAt === null) return null;
  }
};

const saveLine = async (
  deps: RunImportsDeps,
  { org, externalId, command }: Line,
  details: ContactDetails,
): Promise<RowOutcome> => {
  for (let deleted = 0; ; deleted += 1) {
    const id = contactIdOf(org, externalId, deleted);
    const { state, events } = await execute(
      deps,
      contact,
      id,
      command,
      importContact(org, details, command.at),
    );
    if (state !== null && state.deletedAt !== null) continue;
    const [event] = events;
    if (event === undefined) return { kind: 'same' };
    return { kind: event.type === 'ContactCreated' ? 'created' : 'updated' };
  }
};

const refused = (reason: string): RowOutcome => ({ kind: 'refused', reason });

const refusedOr = async (save: () => Promise<RowOutcome>): Promise<RowOutcome> => {
  try {
    return await save();
  } catch (error) {
    if (error instanceof DomainError) return refused(error.message);
    throw error;
  }
};

/** A contact of a file, with its key. */
interface KeyedContact {
  readonly externalId: string;
  readonly contact: SentContact;
}

const asFileRow = (row: WaitingRow): FileRow<KeyedContact> => {
  const { line } = row;
  if ('problem' in row) return { line, bytes: 0, problem: row.problem };
  return { line, bytes: 0, externalId: row.externalId, contact: row };
};

/** Saves one part, and notes that. Throws what stopped it: then it is begun again. */
const savePart = async (
  deps: RunImportsDeps,
  work: FoundImport,
  rows: readonly WaitingRow[],
  signal: AbortSignal,
): Promise<void> => {
  const bad: BadLine[] = [];
  const { failure, resumeAt, created, updated, same } = await importContacts<KeyedContact>({
    rows: rows.map(asFileRow),
    save: async ({ externalId, contact: sent }, line) => {
      const read = capture(() => deps.readContact(sent));
      if ('refusal' in read) return refused(`${read.refusal.code}: ${read.refusal.message}`);
      const one = { org: work.org, externalId, command: commandOf(deps, work, line) };
      const before = work.tries > 1 ? await savedBefore(deps, one) : null;
      return before ?? refusedOr(() => saveLine(deps, one, read.value));
    },
    onBadRow: (line, reason) => bad.push({ line, reason }),
    onProgress: () => undefined,
    signal,
  });
  if (failure !== null) throw failure;
  if (resumeAt !== null) return;
  const { next, through, bad: badBefore, record } = work;
  if (bad.length > 0) {
    const data: BadLines = { lines: bad.toSorted((a, b) => a.line - b.line) };
    const id = partId(work.id, next);
    await deps.signInRecords.add({ kind: 'import-bad', id, owner: work.id, data, ends: record.ends });
  }
  await changeImport(deps, work, {
    next: next + 1,
    tries: 0,
    through: through + rows.length,
    created: work.created + created,
    updated: work.updated + updated,
    same: work.same + same,
    bad: badBefore + bad.length,
  });
};

/** Does the next part of an import; false if nothing is left of it. */
const goOn = async (deps: RunImportsDeps, id: string, signal: AbortSignal): Promise<boolean> => {
  const { signInRecords } = deps;
  const record = await signInRecords.find('import', id);
  // Its upload is not through yet, or broke off.
  if (record === null) return false;
  const work = importIn(record);
  const { upload, next, parts } = work;
  if (next > 0) await signInRecords.remove('import-part', partId(upload, next - 1));
  if (work.status !== 'running' || next >= parts) {
    if (work.status === 'running' && !(await changeImport(deps, work, { status: 'done' }))) return true;
    for (let left = next; left < parts; left += 1)
      await signInRecords.remove('import-part', partId(upload, left));
    await signInRecords.remove('import-due', id);
    return false;
  }
  const part = await signInRecords.find('import-part', partId(upload, next));
  if (part === null) {
    await changeImport(deps, work, { status: 'failed', why: 'What is left of the file is gone.' });
    return true;
  }
  // Noted before it begins: whoever comes after a crash knows that lines of it may be saved.
  if (!(await changeImport(deps, work, { tries: work.tries + 1 }))) return true;
  const begun = await signInRecords.find('import', id);
  if (begun !== null) await savePart(deps, importIn(begun), ImportPart.parse(part.data).rows, signal);
  return true;
};

/** Does one part of every import that waits, in turn, until nothing is left. */
export const workOnImports = async (deps: RunImportsDeps, signal: AbortSignal): Promise<void> => {
  for (let isBusy = true; isBusy && !signal.aborted;) {
    isBusy = false;
    for (const { id } of await deps.signInRecords.listOf('import-due', everybody))
      if (!signal.aborted && (await goOn(deps, id, signal))) isBusy = true;
  }
};

/** Saves what was uploaded, until the signal aborts. Only one may run at a time. */
export const runImports = (
  deps: RunImportsDeps,
  signal: AbortSignal,
  report: (error: unknown) => void,
): Promise<void> =>
  untilAborted({ clock: deps.clock, signal, pause, onError: report }, () => workOnImports(deps, signal));
