import { NamedError } from '../../domain/errors.js';
import type { FoundRecord, Records } from './records.js';

/**
 * Records of files that were uploaded. `import`: a file of contacts, and how far it is saved. `import-part`:
 * the rest of it. `import-bad`: its bad lines. `import-upload`: marks that some of it is left. `front`: a
 * picture for the front of a design that is not saved yet.
 */
export const importKinds = ['import', 'import-part', 'import-bad', 'import-upload', 'front'] as const;
type ImportKind = (typeof importKinds)[number];

export type FoundImportRecord = FoundRecord<ImportKind>;

/** The records can't be reached. */
export class ImportsUnavailable extends NamedError {}

/** Files that people upload. All methods throw ImportsUnavailable. */
export type ImportRecords = Records<ImportKind>;
