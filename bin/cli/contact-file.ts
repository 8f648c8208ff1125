import { createReadStream } from 'node:fs';
import type { FileOptions } from '../../adapters/http/api/contact-columns.js';
import { contactRows } from '../../adapters/http/api/contact-file.js';
import { UnreadableFile } from '../../adapters/http/api/csv-rows.js';
import type { FileRow } from '../../application/contacts/import-contacts.js';
import { WrongUsage } from './client.js';

/**
 * Yields the rows of a CSV file in order, without reading the whole file first. Throws WrongUsage if the
 * file, its header or its quoting can't be read.
 */
export async function* contactsIn(
  path: string,
  options: Omit<FileOptions, 'keyIsNamed'>,
): AsyncGenerator<FileRow, void, undefined> {
  try {
    yield* contactRows(createReadStream(path), { ...options, keyIsNamed: 'with --key' });
  } catch (error) {
    if (error instanceof UnreadableFile) throw new WrongUsage(error.message);
    if (error instanceof Error && 'code' in error && typeof error.code === 'string')
      throw new WrongUsage(`The file can't be read: ${error.message}`);
    throw error;
  }
}
