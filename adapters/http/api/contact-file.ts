import type { FileRow } from '../../../application/contacts/import-contacts.js';
import { emailIn, hasNoEmail, readMailbox } from '../../../domain/email.js';
import { capture } from '../../../domain/errors.js';
import { stateNamed } from '../../../domain/recipient.js';
import { readColumns, withoutMarks, type Columns, type FileOptions } from './contact-columns.js';
import { csvRows, UnreadableFile } from './csv-rows.js';

type Texts = Readonly<Record<string, string>>;

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const dayForms = [
  /^(?<month>\d\d?)([/-])(?<day>\d\d?)(?:\2(?<year>\d\d(?:\d\d)?))?$/,
  /^(?<year>\d{4})\/(?<month>\d\d?)\/(?<day>\d\d?)$/,
  /^(?<day>\d\d?)\. ?(?<month>\d\d?)\. ?(?<year>\d{4}|\d\d)?$/,
  /^(?<day>\d\d?)[ -](?<month>[a-z]{3})[a-z]*\.?(?:[ -](?<year>\d{4}|\d\d))?$/i,
  /^(?<month>[a-z]{3})[a-z]*\.? (?<day>\d\d?)(?:,? (?<year>\d{4}))?$/i,
];

const monthFirst = (day: string): string =>
  day.replace(/^(\d\d?)([/-])(\d\d?)(?=\2\d|(?<=\/\d\d?)$)/, '$3$2$1');

/** A day as the API takes it; `0/0/00`, as Outlook writes none, is empty. */
const dayIn = (text: string): string => {
  const day = text.replace(/^(?:--|0000-)/, '').replace(/[ T]\d\d?:[^]*/, '');
  const found = dayForms.map((form) => form.exec(day)?.groups).find((groups) => groups !== undefined);
  if (found === undefined) return day;
  const month = months.indexOf(found['month']?.toLowerCase() ?? '') + 1 || Number(found['month']);
  if (Number.isNaN(month)) return text;
  if (month === 0) return '';
  const date = `${String(month).padStart(2, '0')}-${found['day']?.padStart(2, '0')}`;
  return found['year']?.length === 4 ? `${found['year']}-${date}` : date;
};

const countryName = (text: string): string => withoutMarks(text).toLowerCase();

/** The countries of decision 16 by their names in the languages of spreadsheets. */
const countryCodes: ReadonlyMap<string, string> = new Map([
  ...['en', 'de', 'fr', 'es', 'it', 'nl', 'pt'].flatMap((language) => {
    const names = new Intl.DisplayNames(language, { type: 'region' });
    return ['US', 'PR', 'GU', 'VI', 'AS', 'MP'].map(
      (code) => [countryName(names.of(code) ?? ''), code] as const,
    );
  }),
  ['virgin islands (u.s.)', 'VI'],
  ['virgin islands, u.s.', 'VI'],
]);
const countryIn = (text: string): string => {
  const name = countryName(text)
    .replace(/^(?:the|us -) /, '')
    .replace(/ \(usa?\)$| (?:of|von|van|de|da|d['’]) ?ameri[ckq]\p{L}+$/u, '');
  return /^(?:u\.s\.(?:a\.)?|ee\.\s?uu\.?)$/.test(name)
    ? 'US'
    : (countryCodes.get(name) ?? stateNamed(name) ?? text);
};

const honorifics = /^(?:mr|mrs|ms|miss|mx|dr|prof|rev|sir|madam|herr|frau|mme|mlle|sra?|sig|dhr|mevr|and|)$/i;
/** Outlook's `Title` is an honorific, and others' a job. */
const jobIn = (text: string): string =>
  text.split(/[\s.&/]+/).every((word) => honorifics.test(word)) ? '' : text;

/** `4B` under `Apt` is `Apt 4B`. */
const numbered =
  (kind: string) =>
  (text: string): string =>
    text.replace(/^#? *(?=\w?-?\d\S*$|\w$)/, `${kind} `);

/** How exporters write a field, as the API takes it. */
const readings: Readonly<Record<string, (text: string) => string>> = {
  state: (text) => stateNamed(text) ?? text.replace(/^US[-:]/i, ''),
  zip: (text) => text.replace(/^(\d{5})[\s\u2010-\u2015](\d{4})$/u, '$1-$2'),
  country: countryIn,
  job_title: jobIn,
  birthday: dayIn,
  work_anniversary: dayIn,
  apt: numbered('Apt'),
  suite: numbered('Suite'),
  unit: numbered('Unit'),
};
/** In characters: nothing that is read is as long, and some readings take long. */
const maxRead = 200;

/** Without what keeps a text from being a number or a formula elsewhere; of several values the first. */
const textIn = ({ field, isDayFirst }: Columns['columns'][number], cell = ''): string => {
  const [first = ''] = cell.split(' ::: ', 1);
  const text = first.trim().replace(/^'(?=[\d=+@-])|^="(.*)"$/s, '$1');
  if (text.length > maxRead) return text;
  return readings[field]?.(isDayFirst === true ? monthFirst(text) : text) ?? text;
};

/** Of a day that was written in another order than it was read in. */
const impossibleMonth = /^(?:\d{4}-)?(?:1[3-9]|[2-9]\d)-(?:0[1-9]|1[0-2])$/;

/** State or country, and ZIP code where it begins with one zero, or with two, which spreadsheets drop. */
const lostZeros = /^(?:(?:AE|CT|MA|ME|NH|NJ|RI|VT) [1-9]\d|(?:PR|VI) [1-9])\d\d(?:-\d{4})?$/i;

/** A street on several lines goes on in `line2`, and follows a number that has its own column. */
const addressIn = (sent: Texts): Texts => {
  const { line1, line2, line3, apt, suite, unit, house_number: number, ...parts } = sent;
  const { zip = '', country, state = country } = parts;
  const address = lostZeros.test(`${state} ${zip}`)
    ? { ...parts, zip: zip.replace(/^\d+/, (digits) => digits.padStart(5, '0')) }
    : parts;
  const [street, ...more] = line1?.split(/[\r\n]+/).map((line) => line.trim()) ?? [];
  const rest = [
    ...new Set([...more, line2 ?? [], line3 ?? [], apt ?? [], suite ?? [], unit ?? []].flat()),
  ].join(', ');
  const isWhole = number === undefined || street?.startsWith(`${number} `) === true;
  return {
    ...address,
    ...(street !== undefined && { line1: isWhole ? street : `${number} ${street}` }),
    ...(rest !== '' && { line2: rest }),
  };
};

const wordsOf = (text: string): readonly string[] =>
  text
    .slice(0, maxRead)
    .normalize()
    .toLowerCase()
    .match(/[\p{L}\p{M}]+/gu) ?? [];
/** Numbers of orders, addresses, and names by which people sign in. */
const isNoName = /[@_\d]|^\P{L}*$/u;

const suffix = /^(?:[js]r|esq(?:uire)?|ph\.?d|inc|p?llc|l?lp|p\.?c|ltd|corp|gmbh)\.?$/i;
const degree =
  /^(?:V?I{1,3}|I?V|Co|MD|DO|RN|NP|LPN|PA|JD|MBA|MA|MS|BA|BS|CPA|CF[AP]|DDS|DMD|DVM|DNP|EdD|PsyD|PharmD|PE|PMP|[COM]BE|FACS)$/;

/** `Lovelace, Ada` and `King, Martin Luther, Jr.` begin with the last name; `Ada Lovelace, MD` doesn't. */
const inOrder = (names: Texts): Texts => {
  const [last = '', first = '', ...more] = names['name']?.split(',').map((part) => part.trim()) ?? [];
  const isShort = (word: string): boolean => suffix.test(word) || degree.test(word.replaceAll('.', ''));
  // Capitals after a name that has other letters are a degree, too.
  const isSuffix = (text: string): boolean =>
    text.split(/[\s/&]+/).every(isShort) || (/\p{Ll}/u.test(last) && /^[\p{Lu}.-]+$/u.test(text));
  const isCompany = suffix.test(first.split(/\s+/).at(-1) ?? '');
  const areWords = [last, first].every((part) => /^['’]?\p{L}[^@_\d]*$/u.test(part));
  return areWords && !isCompany && !isSuffix(first) && more.every(isSuffix)
    ? { first_name: first, last_name: [last, ...more].join(', ') }
    : names;
};

/** Beside a first or a last name alone, `name` is the other one, as in `Vorname;Name`, or both. */
const namesIn = ({ last_first_name: lastFirst, ...sent }: Texts): Texts => {
  const names: Texts = lastFirst?.includes(',') === true ? { name: lastFirst, ...sent } : sent;
  const { name = '', first_name: first, last_name: last } = names;
  const part = first ?? last;
  if (part === undefined) return inOrder(names);
  if ((first !== undefined && last !== undefined) || isNoName.test(name)) return names;
  const all = new Set(wordsOf(name));
  if (!wordsOf(part).every((word) => all.has(word)))
    return { first_name: first ?? name, last_name: last ?? name };
  const turned = inOrder({ name });
  return Object.values(turned).includes(part) ? turned : { name };
};

/** As Excel and others write it in any language; `####` is a number in a narrow column. */
const spreadsheetError = /^#(?:#+|\p{Lu}\/\p{Lu}|NV|[¡¿]?[\p{Lu}\p{N}/_-]+[!?])$/u;
const rounded = /^\d(?:[.,]?\d*E\+|[.,]\d+E)\d+$/i;

const spoiledIn = (heading: string, text: string): string | null => {
  if (spreadsheetError.test(text)) return `a spreadsheet has an error in place of its ${heading}: ${text}`;
  return rounded.test(text) ? `a spreadsheet has rounded its ${heading}. Keep that column as text` : null;
};

const isMailbox = (text: string): boolean =>
  /@[^@]+\./.test(text) && 'value' in capture(() => readMailbox(text));

const contactIn = (
  { columns, headings }: Columns,
  cells: readonly string[],
  unread: FileOptions['unread'],
) => {
  const width = headings.length;
  if (cells.slice(width).some((cell) => cell.trim() !== ''))
    return { problem: `it has ${cells.length} cells, but the header has ${width}` };
  const contact: Record<string, string> = {};
  const names = new Map<string | null, Record<string, string>>();
  const addresses: typeof names = new Map();
  let lacksEmail = true;
  for (const column of columns) {
    const { index, field, address } = column;
    const text = textIn(column, cells[index]);
    if (text === '') continue;
    const heading = headings[index] ?? field;
    const problem = spoiledIn(heading, text);
    if (problem !== null) return { problem };
    if (readings[field] === dayIn && impossibleMonth.test(text)) {
      const read =
        column.isDayFirst === true || cells[index]?.includes('.')
          ? 'day, month: 5/6 as June 5'
          : 'month, day: 5/6 as May 6';
      unread[`${heading}, in part`] = `some dates have an impossible month: this column is read as ${read}`;
    }
    const all = field.endsWith('name') ? names : addresses;
    const parts = all === addresses && address === null ? contact : (all.get(address) ?? {});
    if (field === 'email' && lacksEmail) {
      parts[field] = text;
      lacksEmail = hasNoEmail(emailIn(text));
    }
    parts[field] ??= text;
    if (parts !== contact) all.set(address, parts);
  }
  const { external_id: externalId } = contact;
  if (externalId === undefined) return { problem: 'it has no external_id' };
  const filled = [...addresses];
  const [where = null, address] = filled.find(([, { line1 }]) => line1 !== undefined) ?? filled[0] ?? [];
  // The name of one address is not written on another.
  const name =
    names.get(where) ?? names.get(null) ?? (address?.['line1'] === undefined ? [...names.values()][0] : {});
  // What identifies a contact may be its address alone, under a name that no list has.
  const email = isMailbox(externalId) && lacksEmail && { email: externalId };
  const person = { external_id: externalId, ...(name && namesIn(name)), ...contact, ...email };
  return {
    externalId,
    contact: address === undefined ? person : { ...person, address: addressIn(address) },
  };
};

/**
 * Yields the rows of a CSV file in order, from pieces of its bytes, without reading the whole file first.
 * Throws UnreadableFile, and the errors of the pieces.
 */
export async function* contactRows(
  pieces: AsyncIterable<Buffer>,
  options: FileOptions,
): AsyncGenerator<FileRow, void, undefined> {
  let columns: Columns | null = null;
  for await (const { line, bytes, ...row } of csvRows(pieces)) {
    if (columns === null) {
      if ('problem' in row)
        throw new UnreadableFile(`The names of the columns can't be read: ${row.problem}.`);
      columns = readColumns(row, options);
    } else if (line >= options.fromLine)
      yield { line, bytes, ...('problem' in row ? row : contactIn(columns, row.cells, options.unread)) };
  }
  if (columns === null) throw new UnreadableFile('The file is empty: its first line must name the columns.');
}
