import type { FoundRecord, Records } from './records.js';

/**
 * Records of files of contacts. `import`: a file that was uploaded, and how far it is saved. `import-part`:
 * the rest of it. `import-bad`: its bad lines. `import-upload`: marks that some of it is left.
 */
export const importKinds = ['import', 'import-part', 'import-bad', 'import-upload'] as const;
type ImportKind = (typeof importKinds)[number];

export type FoundImportRecord = FoundRecord<ImportKind>;

/** The records can't be reached. */
export class ImportsUnavailable extends Error {
  override readonly name = 'ImportsUnavailable';
}

/** Files of contacts that are being imported. All methods throw ImportsUnavailable. */
export type ImportRecords = Records<ImportKind>;
