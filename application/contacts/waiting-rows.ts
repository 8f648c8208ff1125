import { z } from 'zod';
import { derivedUuid, Instant, OrganizationId, type Milliseconds, type Uuid } from '../../domain/ids.js';
import { refusalLine, type Refusal } from '../../domain/errors.js';
import { givingWay } from '../timing/next-turn.js';
import type { KeyRing } from '../personal/key-ring.js';
import { openText, sealNext } from '../personal/personal.js';
import { ImportsUnavailable, type FoundImportRecord, type ImportRecords } from '../ports/records.js';
import type { Clock, Entropy } from '../ports/system.js';

export interface WaitingRowsDeps {
  readonly importRecords: ImportRecords;
  readonly personalKeys: Pick<KeyRing, 'next' | 'ready' | 'load' | 'keyOf' | 'destroy'>;
  readonly clock: Clock;
}

/** The owner of the records of uploads whose rows wait, for all organizations. */
const uploadOwner = 'imports';
/** More parts than the largest file can have. */
const maxParts = 2_000;

/** An upload whose rows wait, or that is under way. */
const UploadData = z.object({
  org: OrganizationId,
  /** The id of the import once the upload is complete. */
  import: z.string(),
  at: Instant,
  /** The first data of the import, once the upload is complete. */
  beginning: z.looseObject({}).optional(),
});
type NewUpload = z.infer<typeof UploadData> & { readonly id: string };
export type Upload = NewUpload & { readonly record: FoundImportRecord };

/**
 * Why a row is refused, without what it quotes, which may hold backticks: an erasure doesn't find it among
 * reasons that are kept.
 */
export const reasonOf = (refusal: Refusal): string => refusalLine(refusal).replace(/, not `.*`(?=[.:])/s, '');

/** A row without a contact, and why it has none. */
const BadRow = z.object({ line: z.int(), problem: z.string() });
const OpenRow = z.object({
  line: z.int(),
  externalId: z.string(),
  contact: z.record(z.string(), z.unknown()),
});
/** A row of a file as it waits: the contact as it was sent, or why the row has none. */
export type WaitingRow = z.infer<typeof OpenRow> | z.infer<typeof BadRow>;

/** A stored row: its personal data is sealed as in an event, with a key of the row alone. */
const SealedRow = z.object({ line: z.int(), sealed: z.object({ key: z.string() }).loose() });
const StoredRow = z.union([SealedRow, BadRow]);
export type StoredRow = z.infer<typeof StoredRow>;
const Part = z.object({ rows: z.array(StoredRow) });

const partId = (upload: string, part: number): string => `${upload} ${String(part).padStart(8, '0')}`;
const rowId = (upload: string, line: number): Uuid => derivedUuid('row of an import', upload, line);

/** The uploads whose rows wait, of all organizations. Throws ImportsUnavailable. */
export const listUploads = async (deps: Pick<WaitingRowsDeps, 'importRecords'>): Promise<readonly Upload[]> =>
  (await deps.importRecords.listOf('import-upload', uploadOwner)).map((record) => ({
    ...UploadData.parse(record.data),
    id: record.id,
    record,
  }));

/** The changed record; null if it was changed or removed by another process meanwhile. */
export const changeRecord = async (
  { importRecords }: Pick<WaitingRowsDeps, 'importRecords'>,
  record: FoundImportRecord,
  change: object,
): Promise<FoundImportRecord | null> => {
  const data = { ...record.data, ...change };
  const isChanged = await importRecords.change(record, { data, ends: record.ends });
  return isChanged ? { ...record, data, version: record.version + 1 } : null;
};

/**
 * Announces an upload before its first row: an erasure looks for its rows from then on. The result renews it,
 * or completes it, and throws ImportsUnavailable once another process has given it up by changing its record.
 */
export const addUpload = async (
  deps: Pick<WaitingRowsDeps, 'importRecords'>,
  { id, ...data }: NewUpload,
  ends: Milliseconds,
): Promise<(change?: Pick<NewUpload, 'beginning'>) => Promise<void>> => {
  const record = { kind: 'import-upload' as const, id, owner: uploadOwner, data, ends };
  await deps.importRecords.add(record);
  let held: FoundImportRecord = { ...record, version: 0 };
  return async (change = {}) => {
    const changed = await changeRecord(deps, held, change);
    if (changed === null) throw new ImportsUnavailable('The upload stood still, and was given up.');
    held = changed;
  };
};

/** Seals the personal data of a row. Throws PersonalKeysUnavailable. */
export const sealRow = async (
  { personalKeys, entropy }: Pick<WaitingRowsDeps, 'personalKeys'> & { readonly entropy: Entropy },
  upload: string,
  row: WaitingRow,
): Promise<StoredRow> => {
  if ('problem' in row) return row;
  await personalKeys.ready();
  const { line } = row;
  const { text } = sealNext(personalKeys, entropy, rowId(upload, line), JSON.stringify(row));
  const sealed: unknown = JSON.parse(text);
  return StoredRow.parse({ line, sealed });
};

export const addPart = async (
  { importRecords }: Pick<WaitingRowsDeps, 'importRecords'>,
  upload: string,
  part: number,
  rows: readonly StoredRow[],
  ends: Milliseconds,
): Promise<void> => {
  const id = partId(upload, part);
  await importRecords.add({ kind: 'import-part', id, owner: upload, data: { rows }, ends });
};

interface OpenedRow {
  readonly row: WaitingRow;
  /** The key of the row; null if it has none, or that is gone. */
  readonly key: string | null;
}

const unreadable = 'its contact was erased after the file was uploaded, or the key of the row is lost';

const openRow = (
  { personalKeys }: Pick<WaitingRowsDeps, 'personalKeys'>,
  upload: string,
  row: StoredRow,
): OpenedRow => {
  if ('problem' in row) return { row, key: null };
  const { line, sealed } = row;
  const key = personalKeys.keyOf(sealed.key);
  const text = key === null ? null : openText(key, rowId(upload, line), sealed);
  if (text === null) return { row: { line, problem: unreadable }, key: null };
  return { row: OpenRow.parse(JSON.parse(text)), key: sealed.key };
};

/** The rows of a part, or the first of them; null if it is gone. */
const openedPart = async (
  deps: WaitingRowsDeps,
  upload: string,
  part: number,
  maxRows = Infinity,
): Promise<readonly OpenedRow[] | null> => {
  const found = await deps.importRecords.find('import-part', partId(upload, part));
  if (found === null) return null;
  const rows = Part.parse(found.data).rows.slice(0, maxRows);
  await deps.personalKeys.load(rows.flatMap((row) => ('sealed' in row ? [row.sealed.key] : [])));
  const opened: OpenedRow[] = [];
  const giveWay = givingWay(deps.clock);
  for (const row of rows) {
    opened.push(openRow(deps, upload, row));
    await giveWay();
  }
  return opened;
};

/**
 * The rows of a part, up to a limit; a row whose key is destroyed counts as bad. Null if the part is gone.
 * Throws ImportsUnavailable and PersonalKeysUnavailable.
 */
export const readPart = async (
  deps: WaitingRowsDeps,
  upload: string,
  part: number,
  maxRows?: number,
): Promise<readonly WaitingRow[] | null> =>
  (await openedPart(deps, upload, part, maxRows))?.map(({ row }) => row) ?? null;

/**
 * Removes a part, and destroys the keys of its rows first: no copy of it can be read any more. Throws
 * ImportsUnavailable and PersonalKeysUnavailable.
 */
export const removePart = async (deps: WaitingRowsDeps, upload: string, part: number): Promise<void> => {
  const found = await deps.importRecords.find('import-part', partId(upload, part));
  if (found === null) return;
  const { rows } = Part.parse(found.data);
  await deps.personalKeys.destroy(rows.flatMap((row) => ('sealed' in row ? [row.sealed.key] : [])));
  await deps.importRecords.remove('import-part', partId(upload, part));
};

/** Removes the parts of an upload from one on, and its announcement. */
export const removeUpload = async (
  deps: WaitingRowsDeps,
  upload: string,
  { from = 0, to = maxParts }: { readonly from?: number; readonly to?: number } = {},
): Promise<void> => {
  const giveWay = givingWay(deps.clock);
  for (let part = from; part < to; part += 1) {
    await removePart(deps, upload, part);
    await giveWay();
  }
  await deps.importRecords.remove('import-upload', upload);
};

const Begun = z.object({ upload: z.string(), next: z.int(), parts: z.int() });

/** The rows that wait of an upload, part by part. */
async function* waitingParts(deps: WaitingRowsDeps, upload: Upload): AsyncGenerator<readonly OpenedRow[]> {
  const record = await deps.importRecords.find('import', upload.import);
  const begun = record === null ? null : Begun.parse(record.data);
  const isBegun = begun?.upload === upload.id;
  const [from, to] = isBegun ? [Math.max(0, begun.next - 1), begun.parts] : [0, maxParts];
  for (let part = from; part < to; part += 1) {
    const rows = await openedPart(deps, upload.id, part);
    if (rows !== null) yield rows;
    else if (!isBegun) return;
  }
}

/** A contact of an organization, as a row of a file names it. */
export interface NamedContact {
  readonly org: OrganizationId;
  readonly externalId: string;
}

/**
 * Destroys the keys of the rows of contacts in every file that waits. A row that is uploaded meanwhile may be
 * passed over: it is refused when it is its turn, because its contact was erased. Throws ImportsUnavailable
 * and PersonalKeysUnavailable.
 */
export const eraseWaitingRows = async (
  deps: WaitingRowsDeps,
  contacts: readonly NamedContact[],
): Promise<void> => {
  for (const upload of contacts.length === 0 ? [] : await listUploads(deps)) {
    const erased = new Set(
      contacts.filter(({ org }) => org === upload.org).map(({ externalId }) => externalId),
    );
    if (erased.size === 0) continue;
    for await (const rows of waitingParts(deps, upload)) {
      const wanted = rows.filter(({ row }) => 'externalId' in row && erased.has(row.externalId));
      await deps.personalKeys.destroy(wanted.flatMap(({ key }) => key ?? []));
    }
  }
};
