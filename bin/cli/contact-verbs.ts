import { setMaxListeners } from 'node:events';
import { createReadStream, statSync } from 'node:fs';
import type { FileOptions } from '../../adapters/http/api/contact-columns.js';
import { contactRows } from '../../adapters/http/api/contact-file.js';
import { UnreadableFile } from '../../adapters/http/api/csv-rows.js';
import {
  importContacts,
  type FileRow,
  type ImportResult,
  type RowOutcome,
} from '../../application/contacts/import-contacts.js';
import { SystemClock } from '../../adapters/system/clock.js';
import { readContact } from '../../adapters/http/api/contact-fields.js';
import { capture, codeOf, messageOf, refusalLine } from '../../domain/errors.js';
import { explained, ServiceRefused, Unreachable, WrongUsage, type OperatorClient } from './client.js';
import { readable } from './print.js';
import { progressOn, untilInterrupted } from './progress.js';
import { longVerb, option, org, orgPath, type VerbContext } from './verb.js';

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
    if (typeof codeOf(error) === 'string')
      throw new WrongUsage(`The file can't be read: ${messageOf(error)}`);
    throw error;
  }
}

const maxTries = 6;
const firstPause = 250;

/** Whether another try may succeed. Saving a contact again is safe. */
const isWorthRetrying = (error: unknown): boolean =>
  error instanceof Unreachable || (error instanceof ServiceRefused && error.status >= 500);

const saver = (
  client: OperatorClient,
  path: string,
  signal: AbortSignal,
): ((contact: object) => Promise<RowOutcome>) => {
  const clock = new SystemClock();
  return async (contact) => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const saved = JSON.parse(await client.call({ method: 'POST', path, body: contact })) as {
          readonly created_at: string;
          readonly updated_at: string;
        };
        return { kind: saved.created_at === saved.updated_at ? 'created' : 'updated' };
      } catch (error) {
        if (isWorthRetrying(error) && attempt < maxTries && !signal.aborted)
          await clock.sleep(firstPause * 2 ** attempt, signal);
        else if (error instanceof ServiceRefused && [400, 409, 413, 422].includes(error.status))
          return { kind: 'refused', reason: error.message };
        else throw error;
      }
    }
  };
};

const sampleSize = 3;

/** Checks the whole file by the service's own rules and sends nothing. */
const preview = async (
  path: string,
  options: Omit<FileOptions, 'keyIsNamed'>,
  running: VerbContext,
): Promise<void> => {
  const sample: object[] = [];
  let good = 0;
  let bad = 0;
  for await (const row of contactsIn(path, options)) {
    const read = 'problem' in row ? null : capture(() => readContact({ ...row.contact }));
    const problem =
      'problem' in row ? row.problem : read !== null && 'refusal' in read ? refusalLine(read.refusal) : null;
    if (problem === null) good += 1;
    else bad += 1;
    if (problem !== null) reportRow(running, row.line, problem);
    else if (sample.length < sampleSize && 'contact' in row) sample.push(row.contact);
  }
  const rows = sample.map((contact) => readable(JSON.stringify(contact)));
  running.show(
    { contacts: good, bad, unread: options.unread, sample },
    [...rows, ...notRead(options.unread), `${good} contacts, ${bad} bad. Nothing was sent.`].join('\n\n'),
  );
  if (bad > 0) throw new ServiceRefused(`The file has bad rows: ${bad}.`, '', 422);
};

const reportRow = ({ complain }: VerbContext, line: number, reason: string): void =>
  complain(`line ${line}: ${reason}\n`);

const notRead = (unread: object): readonly string[] =>
  Object.keys(unread).length === 0 ? [] : [`Not read:\n${readable(JSON.stringify(unread))}`];

const summaryOf = ({ created, updated, bad, resumeAt }: ImportResult, unread: object): string =>
  [
    ...notRead(unread),
    `${created} created, ${updated} updated, ${bad} bad.`,
    ...(resumeAt === null
      ? []
      : [`Stopped. Continue with --from-line ${resumeAt}, or run it again from the start.`]),
  ].join('\n');

export const importVerb = longVerb(
  'contact import <file>',
  'Import contacts from a CSV file. Running it again creates no duplicates: rows are matched by external_id',
  [
    org,
    option('key', 'the column that holds the external_id'),
    option('from-line', 'start at this line of the file', 'number'),
    option('preview', 'true to check the file and send nothing', 'flag'),
  ],
  async (running) => {
    const { input, client, show } = running;
    const unread = {};
    const options = { key: input.text('key'), fromLine: input.number('fromLine') ?? 1, unread };
    const path = input.argument;
    const { size } = explained(WrongUsage, "The file can't be read", () => statSync(path));
    if (input.flag('preview') === true) return preview(path, options, running);
    const signal = untilInterrupted();
    setMaxListeners(0, signal);
    const contacts = orgPath(input, '/contacts');
    await client.call({ method: 'GET', path: contacts, query: { limit: '1' } });
    const report = progressOn(running);
    const imported = await importContacts({
      rows: contactsIn(path, options),
      save: saver(client, contacts, signal),
      onBadRow: (line, reason) => reportRow(running, line, reason),
      onProgress: ({ created, updated, bad, bytes }) =>
        report(() => `${Math.floor((100 * bytes) / size)} %: ${created + updated} saved, ${bad} bad`),
      signal,
    });
    const { failure, resumeAt, created, updated, bad } = imported;
    show({ created, updated, bad, unread, go_on_with: resumeAt }, summaryOf(imported, unread));
    if (failure !== null) throw failure;
    if (bad > 0) throw new ServiceRefused(`The file has bad rows: ${bad}.`, '', 422);
    if (resumeAt !== null) throw new ServiceRefused('The import was interrupted.');
  },
);
