import { expect } from 'chai';
import { places } from '../../../../adapters/http/api/contact-columns.js';
import { contactRecord, readContact } from '../../../../adapters/http/api/contact-fields.js';
import { contactRows } from '../../../../adapters/http/api/contact-file.js';
import { capture } from '../../../../domain/errors.js';

/** Texts with which a pattern, or a normalisation, has begun again at every character. */
const worst = [
  ['x'], [' '], [';'], ['<@'], ['', '@'], ['(<'], ['n', '\u0301\u0316'], ['n', '\u0345\u0301\u0316\u0334'],
  ['n', '\u0301\u200b'], ['\ufdfa@', '\ufdfa'], [' of americ'], ['1.'], ['a ::: '],
].map(([begin = '', part = begin]) => (length: number) =>
  `<${begin}${part.repeat((length - begin.length - 2) / part.length)}z`); // prettier-ignore

const columns = 499;
/** In characters: all in one cell, many that are too long for an address, or as many as there are columns. */
const shapes = [
  Array.from({ length: columns }, (_, at) => (at === 0 ? 200_000 : 10)),
  Array.from({ length: columns }, (_, at) => (at < 160 ? 1_250 : 10)),
  Array.from({ length: columns }, () => 310),
];
const rows = worst.flatMap((textOf) => shapes.map((lengths) => lengths.map(textOf)));
/** In milliseconds of a processor. */
const most = 150;

/** The rows that take longer. */
const slowRows = async (headings: readonly string[]): Promise<readonly string[]> => {
  const slow: string[] = [];
  const file = (async function* () {
    yield Buffer.from(`external_id|${headings.join('|')}\n`);
    for (const [at, cells] of rows.entries()) yield Buffer.from(`${at}|${cells.join('|')}\n`);
  })();
  let before = process.cpuUsage();
  for await (const row of contactRows(file, { key: undefined, keyIsNamed: '', fromLine: 1, unread: {} })) {
    if ('contact' in row) capture(() => readContact(row.contact));
    const took = process.cpuUsage(before).user / 1000;
    const [first = ''] = rows[row.line - 2] ?? [];
    if (took > most) slow.push(`${first.slice(0, 10)} of ${first.length} characters: ${took} ms`);
    before = process.cpuUsage();
  }
  return slow;
};

describe('a row of a file of contacts', () => {
  const all = [...places.values()];
  const fields = [...new Set(all.map(({ field }) => field))];

  it('may have every field of a contact', () =>
    expect([...fields, 'address']).to.include.members(Object.keys(contactRecord.shape)));

  for (const field of fields)
    it(`is read in little time, whatever is in its columns for ${field}`, async () => {
      const names = all.filter((place) => place.field === field).map(({ name }) => name);
      const headings = Array.from({ length: columns - 1 }, (_, at) => names[at % names.length] ?? '');
      headings.push('first_name');
      // Other threads of the process are counted, too: what is slow every time is the reading.
      let slow = await slowRows(headings);
      for (let again = 0; again < 3 && slow.length > 0; again += 1) slow = await slowRows(headings);
      expect(slow).to.deep.equal([]);
    });
});
