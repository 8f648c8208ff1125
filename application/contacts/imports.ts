import { z } from 'zod';
import type { ContactDetails } from '../../domain/contact.js';
import { capture, DomainError } from '../../domain/errors.js';
import { Actor } from '../../domain/events.js';
import { derivedUuid, Instant, OrganizationId, type Milliseconds, type Uuid } from '../../domain/ids.js';
import type { Initiator } from '../writing/execute.js';
import { givingWay } from '../timing/next-turn.js';
import type { FileRow, SentContact } from './import-contacts.js';
import { maxFiles, tooMany } from './uploads.js';
import type { FoundImportRecord } from '../ports/records.js';
import type { EventStore } from '../ports/event-store.js';
import type { Entropy } from '../ports/system.js';
import {
  addPart,
  addUpload,
  changeRecord,
  listUploads,
  readPart,
  reasonOf,
  removeUpload,
  sealRow,
  type StoredRow,
  type Upload,
  type WaitingRow,
  type WaitingRowsDeps,
} from './waiting-rows.js';

export interface ImportDeps extends WaitingRowsDeps {
  readonly store: EventStore;
  readonly entropy: Entropy;
}

/** How long the result of a file is shown. */
const importTtl: Milliseconds = 7 * 24 * 60 * 60 * 1000;
/** After this, the process that works on imports removes the remaining rows and destroys their keys. */
const rowsTtl: Milliseconds = importTtl + 24 * 60 * 60 * 1000;
/** Per organization, including finished ones. */
const maxKept = 200;
/** How many rows are shown before they are saved. */
const rowsShown = 5;
/** In characters, of the columns that are not read, and why: more than any exporter has. */
const maxUnread = 16_000;
const maxRows = 200_000;
const maxRowsInPart = 200;
const maxBytesInPart = 256 * 1024;

/** A file of contacts that was uploaded, and how far it is saved. */
export const ContactImport = z.object({
  org: OrganizationId,
  /** `stopped`: by a person; `failed`: it can't go on, and `why` says so. */
  status: z.enum(['running', 'done', 'stopped', 'failed']),
  why: z.string().nullable(),
  file: z.string(),
  at: Instant,
  /** The end of the log when the file was uploaded: contacts that were deleted since stay deleted. */
  head: z.string(),
  actor: Actor,
  requestId: z.string().nullable(),
  /** Owns the parts of the file: two uploads with the same form don't mix. */
  upload: z.string(),
  parts: z.int(),
  rows: z.int(),
  /** The columns that are not read, and why. */
  unread: z.record(z.string(), z.string()),
  /** The next part to save, and its number of tries. */
  next: z.int(),
  tries: z.int(),
  /** The try that saved a part, if it was not the first: bad lines of other tries don't count. */
  savedBy: z.record(z.string(), z.int()),
  /** Processed rows, and their results. */
  through: z.int(),
  created: z.int(),
  updated: z.int(),
  same: z.int(),
  bad: z.int(),
});
export type ContactImport = z.infer<typeof ContactImport>;

/** A row that was not saved, and why. */
const BadLine = z.object({ line: z.int(), reason: z.string() });
export type BadLine = z.infer<typeof BadLine>;
const BadLines = z.object({ lines: z.array(BadLine) });
export type BadLines = z.infer<typeof BadLines>;

/** The id of the bad lines that a try to save a part has found. */
export const badLinesId = (id: string, part: number, tries: number): string =>
  `${id} ${String(part).padStart(8, '0')}${tries === 1 ? '' : ` ${tries}`}`;

/** The id of the import that a form begins. */
export const importIdOf = (org: OrganizationId, form: string): Uuid => derivedUuid('import', org, form);

export interface FoundImport extends ContactImport {
  readonly id: string;
  readonly record: FoundImportRecord;
}

export const importIn = (record: FoundImportRecord): FoundImport => ({
  ...ContactImport.parse(record.data),
  id: record.id,
  record,
});

/** An import of the organization; null for any other id. Throws ImportsUnavailable. */
export const findImport = async (
  { importRecords }: Pick<ImportDeps, 'importRecords'>,
  org: OrganizationId,
  id: string,
): Promise<FoundImport | null> => {
  const record = await importRecords.find('import', id);
  return record?.owner === org ? importIn(record) : null;
};

/** The imports of an organization, newest first. Throws ImportsUnavailable. */
export const listImports = async (
  { importRecords }: Pick<ImportDeps, 'importRecords'>,
  org: OrganizationId,
): Promise<readonly FoundImport[]> =>
  (await importRecords.listOf('import', org)).map(importIn).toSorted((a, b) => (a.at < b.at ? 1 : -1));

/** Reads a contact by the rules of the API. Throws the refusal of the first wrong field. */
export type ReadContact = (contact: SentContact) => ContactDetails;

/** A row that can't be saved is kept without its contact, and a birthday without its year. */
const waitingRow = (row: FileRow, readContact: ReadContact): WaitingRow => {
  const { line } = row;
  if ('problem' in row) return { line, problem: row.problem };
  const { contact } = row;
  const read = capture(() => readContact(contact));
  if ('refusal' in read) return { line, problem: reasonOf(read.refusal) };
  const { birthday, workAnniversary, externalId } = read.value;
  if (externalId === null) return { line, problem: 'it has no external_id' };
  return { line, externalId, contact: { ...contact, birthday, work_anniversary: workAnniversary } };
};

/**
 * Keeps the rows in parts, of which one is in memory. Returns the numbers of parts and rows. If it fails, or
 * the upload was given up, everything that was kept is removed.
 */
const keepRows = async (
  deps: ImportDeps,
  upload: string,
  rows: AsyncIterable<FileRow>,
  readContact: ReadContact,
  ends: Milliseconds,
  renew: () => Promise<void>,
): Promise<{ readonly parts: number; readonly rows: number }> => {
  let waiting: StoredRow[] = [];
  let bytes = 0;
  let parts = 0;
  let count = 0;
  const giveWay = givingWay(deps.clock);
  const keep = async (): Promise<void> => {
    await renew();
    await addPart(deps, upload, parts, waiting, ends);
    parts += 1;
    waiting = [];
    bytes = 0;
  };
  try {
    for await (const row of rows) {
      if (count >= maxRows)
        throw new DomainError(
          'invalid_body',
          `The file has more than ${maxRows.toLocaleString('en-US')} rows. Import it in several parts, or by the command line.`,
          'file',
        );
      const next = await sealRow(deps, upload, waitingRow(row, readContact));
      waiting.push(next);
      bytes += JSON.stringify(next).length;
      count += 1;
      await giveWay();
      if (waiting.length >= maxRowsInPart || bytes >= maxBytesInPart) await keep();
    }
    if (waiting.length > 0) await keep();
    // One that was given up before its last part was there still has that part.
    await renew();
    return { parts, rows: count };
  } catch (error) {
    // The last part may be there, too. If this fails, the process that works on imports does it later.
    await removeUpload(deps, upload, { to: parts + 1 }).catch(() => undefined);
    throw error;
  }
};

/** The first of them, and how many more there are: the imports of an organization are read at once. */
const firstOf = (unread: ContactImport['unread']): ContactImport['unread'] => {
  const all = Object.entries(unread);
  let room = maxUnread;
  const kept = all.filter(([column, why]) => (room -= column.length + why.length) >= 0);
  const more = all.length - kept.length;
  return more === 0
    ? unread
    : { ...Object.fromEntries(kept), [`and ${more} more`]: 'only the first are listed' };
};

export interface NewImport {
  readonly id: Uuid;
  readonly file: string;
  readonly rows: AsyncIterable<FileRow>;
  /** Complete once all rows were read. */
  readonly unread: ContactImport['unread'];
  readonly readContact: ReadContact;
}

/**
 * Keeps a file of contacts, so that it is saved from then on, whatever happens to this process; a repeat with
 * the same id changes nothing. Throws `rate_limited` if the organization has too many under way,
 * `invalid_parameter` if it has had too many, the errors of the rows, PersonalKeysUnavailable and
 * EventStoreUnavailable; then nothing of it is saved. After ImportsUnavailable it may be saved: repeat with
 * the same id.
 */
export const beginImport = async (
  deps: ImportDeps,
  { actor, requestId }: Initiator,
  org: OrganizationId,
  { id, file, rows, unread, readContact }: NewImport,
): Promise<void> => {
  const { clock, entropy } = deps;
  const known = await listImports(deps, org);
  if (known.some((each) => each.id === id)) return;
  if (known.length >= maxKept)
    throw new DomainError(
      'invalid_parameter',
      `${maxKept} files were imported within 7 days, which is as many as are kept. Wait, or use the command line.`,
      'file',
    );
  const upload = entropy.uuid();
  const at = clock.instant();
  const { position: head } = await deps.store.head();
  const keptUntil = clock.now() + rowsTtl;
  const announced = { id: upload, org, import: id, at };
  const renew = await addUpload(deps, announced, keptUntil);
  // Counted with this one, so that of several at once none is overlooked.
  if ((await listUploads(deps)).filter((each) => each.org === org).length > maxFiles.ofOrganization) {
    await removeUpload(deps, upload, { to: 0 });
    throw tooMany();
  }
  const kept = await keepRows(deps, upload, rows, readContact, keptUntil, renew);
  const none = { next: 0, tries: 0, savedBy: {}, through: 0, created: 0, updated: 0, same: 0, bad: 0 };
  const data: ContactImport = {
    org,
    status: 'running',
    why: null,
    file,
    at,
    head: String(head),
    actor,
    requestId,
    upload,
    ...kept,
    unread: firstOf(unread),
    ...none,
  };
  // From here on it is saved, if need be without this process.
  await renew({ beginning: data });
  await addImport(deps, announced, data);
};

/** Adds the import of a complete upload, unless there is one of its id. */
export const addImport = async (
  { importRecords }: Pick<ImportDeps, 'importRecords'>,
  { import: id, org, at }: Pick<Upload, 'import' | 'org' | 'at'>,
  data: object,
): Promise<void> => {
  await importRecords.add({ kind: 'import', id, owner: org, data, ends: Date.parse(at) + importTtl });
};

/** Stops saving it, unless it has ended before: then false. Saved rows stay. Throws ImportsUnavailable. */
export const stopImport = async (
  deps: Pick<ImportDeps, 'importRecords'>,
  org: OrganizationId,
  id: string,
): Promise<boolean> => {
  for (;;) {
    const found = await findImport(deps, org, id);
    if (found === null || found.status !== 'running') return false;
    if ((await changeImport(deps, found, { status: 'stopped' })) !== null) return true;
  }
};

/** The changed import; null if it was changed by another process meanwhile. */
export const changeImport = async (
  deps: Pick<ImportDeps, 'importRecords'>,
  { record }: FoundImport,
  change: Partial<ContactImport>,
): Promise<FoundImport | null> => {
  const changed = await changeRecord(deps, record, change);
  return changed && importIn(changed);
};

/** The rows that come next, so that one can see how they were understood; none once all are through. */
export const nextRows = async (
  deps: WaitingRowsDeps,
  { status, upload, next }: FoundImport,
): Promise<readonly WaitingRow[]> =>
  status === 'running' ? ((await readPart(deps, upload, next, rowsShown)) ?? []) : [];

/** The rows that were not saved, in the order of the file, bit by bit. Throws ImportsUnavailable. */
export async function* badLinesOf(
  { importRecords }: Pick<ImportDeps, 'importRecords'>,
  { id, next, savedBy }: FoundImport,
): AsyncGenerator<readonly BadLine[], void, undefined> {
  for (let part = 0; part < next; part += 1) {
    const found = await importRecords.find('import-bad', badLinesId(id, part, savedBy[part] ?? 1));
    if (found !== null) yield BadLines.parse(found.data).lines;
  }
}
