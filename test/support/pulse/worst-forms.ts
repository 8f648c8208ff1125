import { maxBodyBytes } from '../../../adapters/http/server/bodies.js';
import { kindsOfText, worstText } from './worst-texts.js';

type Texts = Readonly<Record<string, string>>;
type NamedFields = readonly [name: string, fields: Texts];

const encodedLength = (text: string): number => new URLSearchParams({ '': text }).toString().length - 1;

/** The longest text of a kind that fits into a form beside its other fields. */
const longest = (kind: string, room: number): string => {
  const text = worstText(kind, room);
  return text.slice(0, Math.floor((text.length * room) / Math.max(room, encodedLength(text))));
};

/** Variables in one field again and again, and their value in another one, which holds JSON. */
const pairsOf = (fields: Texts, names: readonly string[], room: number): readonly NamedFields[] =>
  names
    .filter((name) => /^\{.*\}\s*$/su.test(fields[name] ?? ''))
    .flatMap((values) => {
      const value = longest('\u00ad', room / 2);
      const payload = fields[values]?.replace(/\}\s*$/u, `,"a":"x${value}"}`) ?? '';
      return names
        .filter((name) => name !== values)
        .map((name): NamedFields => [
          `variables as ${name}, their value in ${values}`,
          { [name]: longest('{{a}}', room / 2), [values]: payload },
        ]);
    });

/** What longer passwords are refused for without a look at them. */
const maxPasswordLength = 256;

/** The worst that can stand in the fields of a form that is sent as usual. */
export const worstForms = (fields: Texts, kinds: readonly string[] = kindsOfText): readonly NamedFields[] => {
  const names = Object.keys(fields).filter((name) => name !== 'do' && name !== 'form');
  const room = maxBodyBytes - encodedLength(JSON.stringify(fields)) - 200;
  const many = (count: number, name: (at: number) => string): Texts =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [name(at), '']));
  return [
    ['as many fields as are read', many(190, (at) => `f${at}`)],
    ['the most fields', many(15_000, (at) => at.toString(36))],
    ['the longest name', { ['x'.repeat(room)]: '' }],
    ...pairsOf(fields, names, room - 1_000),
    ...names.flatMap((name) =>
      kinds.flatMap((kind): readonly NamedFields[] => [
        [`${kind} as ${name}`, { [name]: longest(kind, room) }],
        [`${kind} as a short ${name}`, { [name]: worstText(kind, maxPasswordLength, maxPasswordLength) }],
      ]),
    ),
    ...names
      .filter((name) => /password|next/.test(name))
      .flatMap((name): readonly NamedFields[] => [
        [`a password in disguise as ${name}`, { [name]: 'p@$$w0rd'.repeat(maxPasswordLength / 8) }],
      ]),
  ];
};

/** A body with a boundary of its own. */
interface Multipart {
  readonly type: string;
  readonly body: Buffer;
}

/** A file of contacts, or of a picture with its name, for the form of this id. */
export type NamedFile = readonly [name: string, make: (form: string) => Multipart];

const boundary = 'a-boundary';
const type = `multipart/form-data; boundary=${boundary}`;

const part = (name: string, value: string, more = ''): string =>
  `--${boundary}\r\ncontent-disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`;

const fileOf =
  (content: string | Buffer) =>
  (form: string): Multipart => ({
    type,
    body: Buffer.concat([
      Buffer.from(part('form', form) + part('name', 'A') + part('slug', 'a') + part('title', 'A')),
      Buffer.from(part('file', '', '; filename="contacts.csv"').slice(0, -2)),
      Buffer.from(content),
      Buffer.from(`\r\n--${boundary}--\r\n`),
    ]),
  });

const rowsOf = (size: number, header: string, row: (at: number) => string): string => {
  const rows = [`${header}\n`];
  for (let left = size - header.length - 1, at = 0; left > 0; at += 1) {
    const next = row(at);
    rows.push(next);
    left -= Buffer.byteLength(next);
  }
  return rows.join('');
};

/** The worst files of contacts, of this size. */
export const worstFiles = (size: number): readonly NamedFile[] => [
  ['the most rows', fileOf(rowsOf(size / 4, 'external_id,name', (at) => `k${at},A\n`))],
  ['the most bad rows', fileOf(rowsOf(size / 4, 'external_id,name', () => ',A\n'))],
  ['the most bad rows, and no end', fileOf(`${rowsOf(size / 8, 'external_id,name', (at) => `k${at},A\n`)}"`)],
  ['empty lines', fileOf(`external_id,name\n${'\n'.repeat(size - 20)}`)],
  ['carriage returns', fileOf(`external_id,name\n${'\r'.repeat(size - 20)}`)],
  [
    'rows of empty cells',
    fileOf(rowsOf(size, `external_id${','.repeat(499)}`, () => `${','.repeat(499)}\n`)),
  ],
  ['one line', fileOf(`external_id,name\n${'x'.repeat(size - 20)}`)],
  ['nothing but quotes', fileOf(`external_id,name\n${'"'.repeat(size - 20)}`)],
  ['one quoted cell of breaks', fileOf(`external_id,name\nk,"${'\r\n'.repeat(size / 2 - 20)}`)],
  ['a quotation in each line', fileOf(`external_id,name\n${'"\n'.repeat(size / 2 - 20)}`)],
  ['quotations that close and open', fileOf(`external_id,name\n${'""",z","b\n'.repeat(size / 10 - 20)}`)],
  ['cells of breaks', fileOf(rowsOf(size, 'external_id,name', (at) => `${at},"${'\r\n'.repeat(40_000)}"\n`))],
  ...['marks and then others', 'marks out of order', 'invisible ones', 'angle brackets'].map(
    (kind): NamedFile => [
      `cells of ${kind}`,
      fileOf(
        rowsOf(size, 'external_id,name,email,company,line1', (at) => {
          const cell = worstText(kind, 24_000);
          return `${at},${cell},${cell},${cell},${cell}\n`;
        }),
      ),
    ],
  ),
  ['what is no text at its end', fileOf(Buffer.concat([Buffer.alloc(size - 1, 'x\n'), Buffer.from([0xff])]))],
];

/** The worst around a file. */
export const worstMultiparts = (size: number): readonly NamedFile[] => [
  ['the most parts', () => ({ type, body: Buffer.from(part('a', '').repeat(size / 80)) })],
  [
    'the largest part that is no file',
    () => ({ type, body: Buffer.from(part('a', 'x'.repeat(size - 200))) }),
  ],
  ['what is before the first part', () => ({ type, body: Buffer.alloc(size, '\r\n--a-boundar\r\n--a') })],
  ['almost the boundary', fileOf(Buffer.alloc(size - 400, `\r\n--${boundary.slice(0, -1)}`))],
  [
    'a head that never ends',
    () => ({ type, body: Buffer.from(`--${boundary}\r\nx: ${'y: '.repeat(size / 3 - 20)}`) }),
  ],
  [
    'the most heads',
    () => ({ type, body: Buffer.from(`--${boundary}\r\n${'x:y\r\n'.repeat(size / 5 - 20)}`) }),
  ],
  [
    'parameters of its head',
    () => ({ type, body: Buffer.from(part('a', '', '; x="\\"'.repeat(size / 8 - 40))) }),
  ],
];
