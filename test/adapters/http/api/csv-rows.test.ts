import { expect } from 'chai';
import fc from 'fast-check';
import { csvRows, UnreadableFile } from '../../../../adapters/http/api/csv-rows.js';

async function* inPieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

const rowsOf = async (file: string | Buffer, size = 64 * 1024) => {
  const rows: (readonly [line: number, read: readonly string[] | string])[] = [];
  for await (const row of csvRows(inPieces(Buffer.from(file), size)))
    rows.push([row.line, 'cells' in row ? row.cells : row.problem]);
  return rows;
};

const stray =
  'a quotation mark is inside a cell, or not closed. Double each inside a cell, and put the cell in quotation marks';

const table = [
  [1, ['id', 'name']],
  [2, ['1', 'Ann']],
  [3, ['2', 'Bo']],
];

describe('the rows of a CSV file', () => {
  it('may be separated and ended in any way, with or without a mark of their encoding', async () => {
    for (const text of [
      'id,name\r\n1,Ann\n2,Bo',
      'id;name\r1;Ann\r\n2;Bo\n',
      'id\tname\n1\tAnn\r2\tBo\r\n',
      'id|name\n1|Ann\n2|Bo',
      'id, "name"\n1, "Ann"\n"2" ,"Bo" \n',
      '\ufeffid,name\n1,Ann\n2,Bo\n',
    ])
      for (const size of [1, 7, 1_000]) expect(await rowsOf(text, size)).to.deep.equal(table);
    const utf16 = Buffer.from('\ufeffid\tname\r\n1\tAnn\r\n2\tBo\r\n', 'utf16le');
    for (const bytes of [
      utf16,
      utf16.subarray(2),
      Buffer.from(utf16).swap16(),
      Buffer.from(utf16.subarray(2)).swap16(),
    ])
      expect(await rowsOf(bytes, 3)).to.deep.equal(table);
  });

  it('are separated by no character of a quotation that goes on in the next line', async () => {
    expect(await rowsOf('id,"name; first; last\nin full"\n1,Ann\n')).to.deep.equal([
      [1, ['id', 'name; first; last\nin full']],
      [3, ['1', 'Ann']],
    ]);
  });

  it('may begin with one that names the delimiter', async () => {
    for (const [said, row, cells] of [
      ['sep=;', 'a,b,c;d', ['a,b,c', 'd']],
      ['"sep=|"', 'a,b,c|d', ['a,b,c', 'd']],
      ['SEP=,', 'a;b;c,d', ['a;b;c', 'd']],
      ['sep=\t', 'a,b,c\td', ['a,b,c', 'd']],
    ] as const)
      for (const rest of ['', ' ', ';,,'])
        for (const [before, line] of [
          ['', 2],
          ['\r\n\n', 4],
        ] as const)
          expect(await rowsOf(`${before}${said}${rest}\r\n${row}\n`, 2)).to.deep.equal([[line, cells]]);
  });

  it('are those that were written, each at the line on which it begins', () => {
    const cell = fc.string({ unit: fc.constantFrom('a', ' ', '"', ',', ';', '\t', '\r', '\n', '\r\n', 'é') });
    const row = fc.record({
      cells: fc.array(cell, { minLength: 3, maxLength: 3 }),
      end: fc.constantFrom('\n', '\r\n', '\r'),
      isQuoted: fc.boolean(),
    });
    const file = fc.record({
      delimiter: fc.constantFrom(',', ';', '\t'),
      rows: fc.array(row, { maxLength: 8 }),
      size: fc.integer({ min: 1, max: 40 }),
    });
    return fc.assert(
      fc.asyncProperty(file, async ({ delimiter, rows, size }) => {
        let text = ['x', 'y', 'z'].join(delimiter) + '\n';
        const expected = [[1, ['x', 'y', 'z']]];
        for (const { cells, end, isQuoted } of rows) {
          const line = text.split(/\r\n|\r|\n/).length;
          if (cells.some((each) => each.trim() !== '')) expected.push([line, cells]);
          const written = cells.map((each) =>
            isQuoted || /[",;\t\r\n]/.test(each) ? `"${each.replaceAll('"', '""')}"` : each,
          );
          text += written.join(delimiter) + end;
        }
        expect(await rowsOf(text, size)).to.deep.equal(expected);
      }),
    );
  });

  it('are spoiled one by one by quotation marks, and none after them', async () => {
    for (const [bad, problem] of [
      ['2,5" Nails', stray],
      ['2,"Bo" Lee', stray],
      ['2,"Bo', stray],
      ['2,"Bo"" and so on', stray],
    ] as const)
      for (const size of [1, 1_000])
        expect(await rowsOf(`id,name\n1,Ann\n${bad}\n3,"Cy"\n4,"Di\nDo"\n`, size), bad).to.deep.equal([
          [1, ['id', 'name']],
          [2, ['1', 'Ann']],
          [3, problem],
          [4, ['3', 'Cy']],
          [5, ['4', 'Di\nDo']],
        ]);
    expect(await rowsOf('id,name\n1,"Ann\n2,Bo\n\n3,Cy\n')).to.deep.equal([
      [1, ['id', 'name']],
      [2, stray],
      [3, ['2', 'Bo']],
      [5, ['3', 'Cy']],
    ]);
  });

  it('may be as long as 400 KiB each, and as wide as 500 cells', async () => {
    const lines = '2,Bo\n'.repeat(90_000);
    const rows = await rowsOf(`id,name\n1,"Ann\n${lines}`, 5_000);
    expect([rows.length, rows[1]?.[1], rows[2], rows.at(-1)?.[0]]).to.deep.equal([
      90_002,
      'it is longer than 400 KiB, or a quotation mark in it is not closed',
      [3, ['2', 'Bo']],
      90_002,
    ]);
    const wide = await rowsOf(`a${',a'.repeat(500)}\nb${',b'.repeat(499)}\n`);
    expect([wide[0]?.[1], wide[1]?.[1].length]).to.deep.equal(['it has more than 500 cells', 500]);
  });

  it('hold text alone', async () => {
    const problem = 'it holds the character U+0000, which is no text';
    expect(await rowsOf('id,name\n1,A\0\n2,Bo')).to.deep.equal([table[0], [2, problem], table[2]]);
    const utf32 = Buffer.from([0xff, 0xfe, 0, 0, 0x69, 0, 0, 0, 0x0a, 0, 0, 0]);
    expect((await rowsOf(utf32))[0]?.[1]).to.equal(problem);
  });

  it('are refused if a line does not end, however small its cells are, before the rest is read', async () => {
    for (const begin of ['', 'id,name\na,Ann\n']) {
      let read = 0;
      const endless = (async function* () {
        yield Buffer.from(begin);
        for (; read < 100; read += 1) yield Buffer.alloc(64 * 1024, ',');
      })();
      const failure = await (async () => {
        for await (const row of csvRows(endless)) if (row.line > 2) return row;
        return null;
      })().catch((error: unknown) => error);
      expect(failure).to.be.instanceOf(UnreadableFile);
      expect(String(failure)).to.include('longer than 400 KiB');
      expect(read).to.be.lessThan(10);
    }
  });

  it('let other work go on while they are read', async () => {
    let turns = 0;
    let isOver = false;
    const turn = (): void => {
      turns += 1;
      if (!isOver) setImmediate(turn);
    };
    setImmediate(turn);
    expect((await rowsOf(`id,name\n${'a,Ann\n'.repeat(20_000)}${'\n'.repeat(100_000)}`)).length).to.equal(
      20_001,
    );
    isOver = true;
    expect(turns).to.be.greaterThan(40);
  });

  it('are refused with the reason if they are not in UTF-8, wherever the pieces are cut', async () => {
    const good = Buffer.from('id,name\na,Jürgen\n');
    expect((await rowsOf(good, 1)).length).to.equal(2);
    for (const bytes of [Buffer.from('id,name\na,Jürgen\n', 'latin1'), good.subarray(0, 12)]) {
      const failure = await rowsOf(bytes, 4).catch((error: unknown) => error);
      expect(failure).to.be.instanceOf(UnreadableFile);
      expect(String(failure)).to.include('UTF-8');
    }
  });
});
