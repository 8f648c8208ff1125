import { setMaxListeners } from 'node:events';
import { statSync } from 'node:fs';
import { SystemClock } from '../../adapters/system/clock.js';
import { readContact } from '../../adapters/http/contact-fields.js';
import { capture, messageOf } from '../../domain/errors.js';
import { Refused, Unreachable, WrongUsage, type OperatorClient } from './client.js';
import { contactsIn, type FileOptions } from './contact-file.js';
import { importContacts, type Imported, type Progress, type RowSaved } from './import-contacts.js';
import { untilInterrupted, type LongVerb, type Running } from './long-verbs.js';
import { readable } from './print.js';
import { inOrg, org, paging, pagingOf, type Option, type Typed, type Verb } from './verbs.js';

const option = (name: string, about: string): Option => ({ name, about });

const addressOptions = [
  option('line1', 'street line'),
  option('line2', 'apartment, suite, floor, unit'),
  option('city', 'city'),
  option('state', 'two-letter code'),
  option('zip', 'five digits, optionally +4'),
  option('country', 'US'),
];

const contactOptions = [
  option('external-id', 'your own identifier: the contact with it is replaced'),
  option('name', 'full name'),
  option('first-name', 'first name'),
  option('last-name', 'last name'),
  option('company', 'company'),
  option('job-title', 'job title'),
  option('email', 'e-mail address'),
  option('phone', 'phone number'),
  option('birthday', 'MM-DD or YYYY-MM-DD'),
  option('work-anniversary', 'YYYY-MM-DD'),
];

const addressOf = (typed: Typed): object | undefined => {
  const sent = addressOptions.flatMap(({ name }): readonly (readonly [string, string])[] => {
    const text = typed.text(name);
    return text === undefined ? [] : [[name, text]];
  });
  return sent.length === 0 ? undefined : Object.fromEntries(sent);
};

export const contactVerbs: readonly Verb[] = [
  {
    noun: 'contact',
    verb: 'save',
    about: 'Create a contact, or replace every field of the one with the same external id',
    options: [org, ...contactOptions, ...addressOptions],
    call: (typed) => ({
      method: 'POST',
      path: inOrg(typed, '/contacts'),
      body: {
        external_id: typed.text('externalId'),
        name: typed.text('name'),
        first_name: typed.text('firstName'),
        last_name: typed.text('lastName'),
        company: typed.text('company'),
        job_title: typed.text('jobTitle'),
        email: typed.text('email'),
        phone: typed.text('phone'),
        address: addressOf(typed),
        birthday: typed.text('birthday'),
        work_anniversary: typed.text('workAnniversary'),
      },
    }),
  },
  {
    noun: 'contact',
    verb: 'list',
    about: 'List contacts',
    options: [
      org,
      option('email', 'only with this e-mail address'),
      option('external-id', 'only with this identifier'),
      ...paging,
    ],
    call: (typed) => ({
      method: 'GET',
      path: inOrg(typed, '/contacts'),
      query: { ...pagingOf(typed), email: typed.text('email'), external_id: typed.text('externalId') },
    }),
  },
];

const tries = 6;
const firstPause = 250;

/** A failure that a second try may mend: saving a contact again is safe. */
const mayPass = (error: unknown): boolean =>
  error instanceof Unreachable || (error instanceof Refused && error.status >= 500);

const saver = (
  client: OperatorClient,
  path: string,
  signal: AbortSignal,
): ((contact: object) => Promise<RowSaved>) => {
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
        if (mayPass(error) && attempt < tries && !signal.aborted)
          await clock.sleep(firstPause * 2 ** attempt, signal);
        else if (error instanceof Refused && [400, 413, 422].includes(error.status))
          return { kind: 'refused', reason: error.message };
        else throw error;
      }
    }
  };
};

const barWidth = 30;

/** One line that is written over and over, on a terminal alone. */
const progressBar = (
  size: number,
): { readonly show: (progress: Progress) => void; readonly clear: () => void } => {
  if (!process.stderr.isTTY) return { show: () => undefined, clear: () => undefined };
  const clock = new SystemClock();
  const began = clock.now();
  let shown = 0;
  return {
    show: ({ created, updated, bad, bytes }) => {
      const now = clock.now();
      if (now - shown < 100 && bytes < size) return;
      shown = now;
      const part = size === 0 ? 1 : Math.min(1, bytes / size);
      const saved = created + updated;
      const rate = Math.round((saved * 1000) / Math.max(1, now - began));
      const bar = '█'.repeat(Math.round(part * barWidth)).padEnd(barWidth, '░');
      process.stderr.write(
        `\r\u001b[K${bar} ${Math.floor(part * 100)} %  ${saved} saved  ${rate}/s  ${bad} bad`,
      );
    },
    clear: () => void process.stderr.write('\r\u001b[K'),
  };
};

const sizeOf = (path: string): number => {
  try {
    return statSync(path).size;
  } catch (error) {
    throw new WrongUsage(`The file can't be read: ${messageOf(error)}`);
  }
};

const sampleSize = 3;

/** Reads the whole file by the service's own rules and sends nothing. */
const preview = async (path: string, options: FileOptions, { json, print }: Running): Promise<void> => {
  const sample: object[] = [];
  let good = 0;
  let bad = 0;
  for await (const row of contactsIn(path, options)) {
    const read = 'problem' in row ? null : capture(() => readContact({ ...row.contact }));
    const problem =
      'problem' in row
        ? row.problem
        : read !== null && 'refusal' in read
          ? `${read.refusal.code}: ${read.refusal.message}`
          : null;
    if (problem === null) good += 1;
    else bad += 1;
    if (problem !== null) complain(row.line, problem);
    else if (sample.length < sampleSize && 'contact' in row) sample.push(row.contact);
  }
  const summary = { contacts: good, bad, sample };
  if (json) print(JSON.stringify(summary));
  else
    print(
      [
        ...sample.map((contact) => readable(JSON.stringify(contact))),
        `${good} contacts, ${bad} bad. Nothing was sent.`,
      ].join('\n\n'),
    );
  if (bad > 0) throw new Refused(`The file has bad rows: ${bad}.`, '', 422);
};

const complain = (line: number, reason: string): void =>
  void process.stderr.write(`line ${line}: ${reason}\n`);

const summaryOf = ({ created, updated, bad, goOnWith }: Imported): string =>
  [
    `${created} created, ${updated} updated, ${bad} bad.`,
    ...(goOnWith === null
      ? []
      : [`Stopped. Go on with --from-line ${goOnWith}, or run it again from the start.`]),
  ].join('\n');

const importFile: LongVerb = {
  noun: 'contact',
  verb: 'import',
  about: 'Save the contacts of a CSV file. A second run makes no doubles: rows are keyed by external_id',
  thing: 'file',
  options: [
    org,
    option('key', 'the column that holds the external_id'),
    { name: 'from-line', about: 'go on with this line of the file', kind: 'number' },
    { name: 'preview', about: 'true: check the file and send nothing', kind: 'flag' },
  ],
  run: async (running) => {
    const { typed, client, json, print } = running;
    const options = { key: typed.text('key'), fromLine: typed.number('fromLine') ?? 1 };
    const path = typed.thing;
    const bar = progressBar(sizeOf(path));
    if (typed.flag('preview') === true) return preview(path, options, running);
    const signal = untilInterrupted();
    setMaxListeners(0, signal);
    const contacts = inOrg(typed, '/contacts');
    await client.call({ method: 'GET', path: contacts, query: { limit: '1' } });
    const onBad = (line: number, reason: string): void => {
      bar.clear();
      complain(line, reason);
    };
    const imported = await importContacts({
      rows: contactsIn(path, options),
      save: saver(client, contacts, signal),
      onBad,
      onProgress: bar.show,
      signal,
    });
    bar.clear();
    const { failure, goOnWith, created, updated, bad } = imported;
    print(json ? JSON.stringify({ created, updated, bad, go_on_with: goOnWith }) : summaryOf(imported));
    if (failure !== null) throw failure;
    if (bad > 0) throw new Refused(`The file has bad rows: ${bad}.`, '', 422);
    if (goOnWith !== null) throw new Refused('The import was interrupted.', '', 0);
  },
};

export const contactLongVerbs: readonly LongVerb[] = [importFile];
