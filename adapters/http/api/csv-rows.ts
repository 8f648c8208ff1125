import { turnAlone } from '../../../application/timing/next-turn.js';

/** The file, or the rest of it, can't be read. */
export class UnreadableFile extends Error {
  override readonly name = 'UnreadableFile';
}

type Cells = { readonly cells: readonly string[]; readonly delimiter: string } | { readonly problem: string };

/** A row that is not empty, and the line on which it begins. `bytes`: how much of the file has been read. */
export type CsvRow = { readonly line: number; readonly bytes: number } & Cells;

/** In characters. */
const maxLength = 400 * 1024;
const maxCells = 500;
/** After so many characters other work has its turn: some thousand rows. */
const pieceLength = 4 * 1024;
const tooLong = 'A line is longer than 400 KiB.';
const tooLongOrOpen = 'it is longer than 400 KiB, or a quotation mark in it is not closed';
const wrongQuotes =
  'a quotation mark is inside a cell, or not closed. Double each inside a cell, and put the cell in quotation marks';

const decode = (decoder: TextDecoder, piece?: Buffer): string => {
  try {
    return decoder.decode(piece, { stream: piece !== undefined });
  } catch {
    const encoding = decoder.encoding.toUpperCase();
    throw new UnreadableFile(`The file is not in ${encoding}. Save it as “CSV UTF-8”, and send that.`);
  }
};

/** By a byte order mark that begins no UTF-8, or by the empty half of a first Latin letter. */
const encodingOf = ([first, second]: Buffer): string => {
  if (first === 0xff || second === 0) return 'utf-16le';
  return first === 0xfe || first === 0 ? 'utf-16be' : 'utf-8';
};

async function* decoded(pieces: AsyncIterable<Buffer>) {
  let decoder: TextDecoder | null = null;
  let bytes = 0;
  for await (const piece of pieces) {
    decoder ??= new TextDecoder(encodingOf(piece), { fatal: true });
    bytes += piece.length;
    yield { more: decode(decoder, piece), bytes, isLast: false };
  }
  yield { more: decoder === null ? '' : decode(decoder), bytes, isLast: true };
}

const delimiterNamed = /^[\r\n]*"?sep=([^\w"])"?[ ,;\t]*(?:\r\n?|\n)/i;
const delimiters: ReadonlyMap<string, string> = new Map([
  [',', 'a comma'],
  [';', 'a semicolon'],
  ['\t', 'a tab'],
  ['|', '"|"'],
]);

interface CellForm {
  /** Of a cell and what follows it. */
  readonly pattern: RegExp;
  /** In words. */
  readonly delimiter: string;
}

/** By the first line of a text; null if that has no end yet. */
const formOf = (text: string, isLast: boolean): CellForm | null => {
  const [, first = '', end = ''] = /^[\r\n]*([^\r\n]+)(\n|\r[^]|$)/.exec(text) ?? [];
  if (end === '' && !isLast) return null;
  const plain = first.slice(0, 100_000).replaceAll(/"[^"]*(?:"|$)/g, '');
  const count = (delimiter: string): number => plain.split(delimiter).length;
  const most = [...delimiters.keys()].reduce((one, other) => (count(other) > count(one) ? other : one));
  const delimiter = delimiterNamed.exec(text)?.[1] ?? most;
  const pattern = new RegExp(
    `(?: *=?"([^"]*(?:""[^"]*)*)" *|([^"\\r\\n\\${delimiter}]*))(\\${delimiter}|\\r?\\n?$)`,
    'y',
  );
  return { pattern, delimiter: delimiters.get(delimiter) ?? `"${delimiter}"` };
};

const cellsIn = (row: string, { pattern, delimiter }: CellForm): Cells => {
  if (row.includes('\0')) return { problem: 'it holds the character U+0000, which is no text' };
  const cells: string[] = [];
  pattern.lastIndex = 0;
  for (;;) {
    const [, quoted, plain = '', end] = pattern.exec(row) ?? [];
    if (end === undefined) return { problem: wrongQuotes };
    if (cells.length === maxCells) return { problem: `it has more than ${maxCells} cells` };
    cells.push(quoted?.replaceAll('""', '"') ?? plain);
    if ('\r\n'.includes(end)) return { cells, delimiter };
  }
};

const lineBreak = /\r\n?|\n/g;
const breakOrQuote = /\r\n?|\n|"/g;

const countLines = (row: string): number => {
  let count = 0;
  lineBreak.lastIndex = 0;
  while (lineBreak.test(row)) count += 1;
  return count;
};

/** Where the row that begins there ends, by its quotation marks; Infinity if its end is not in the text. */
const endOfRow = (text: string, start: number): number => {
  breakOrQuote.lastIndex = start;
  while (breakOrQuote.exec(text)?.[0] === '"')
    breakOrQuote.lastIndex = text.indexOf('"', breakOrQuote.lastIndex) + 1 || Infinity;
  return breakOrQuote.lastIndex || Infinity;
};

/**
 * The row that begins there; null if its end has not been read yet. One with a problem ends with its first
 * line: its quotation marks can't be trusted. Throws UnreadableFile if a line is too long.
 */
const rowAt = (text: string, start: number, isLast: boolean, form: CellForm) => {
  const end = endOfRow(text, start);
  const isRead = isLast || end < text.length || (end === text.length && text.endsWith('\n'));
  if (!isRead && text.length - start <= maxLength) return null;
  const row = text.slice(start, end);
  const found = row.length > maxLength ? { problem: tooLongOrOpen } : cellsIn(row, form);
  if ('cells' in found)
    return { found, end: start + row.length, lines: row.includes('"') ? countLines(row) : 1 };
  lineBreak.lastIndex = start;
  const endOfLine = lineBreak.test(text) ? lineBreak.lastIndex : text.length;
  if (endOfLine - start > maxLength) throw new UnreadableFile(tooLong);
  return { found, end: endOfLine, lines: 1 };
};

/**
 * Yields the rows of a CSV file in order, from pieces of its bytes, without reading the whole file first.
 * Lines may end in any way. A first line such as `sep=;` names the delimiter. A row that can't be read spoils
 * no other. Throws UnreadableFile, and the errors of the pieces.
 */
export async function* csvRows(pieces: AsyncIterable<Buffer>): AsyncGenerator<CsvRow, void, undefined> {
  let form: CellForm | null = null;
  let text = '';
  let line = 1;
  let wanted = 0;
  let sinceTurn = 0;
  for await (const { more, bytes, isLast } of decoded(pieces)) {
    text += more;
    // A long row is not looked at again with every piece.
    if (text.length < wanted && !isLast) continue;
    if (form === null) {
      const [naming = ''] = delimiterNamed.exec(text) ?? [];
      form = formOf(text, isLast);
      if (form === null && text.length > maxLength) throw new UnreadableFile(tooLong);
      if (form !== null) {
        text = text.slice(naming.length);
        line += countLines(naming);
      }
    }
    let at = 0;
    while (form !== null && at < text.length) {
      const row = rowAt(text, at, isLast, form);
      if (row === null) break;
      const { found, end, lines } = row;
      const isFilled = 'problem' in found || found.cells.some((cell) => cell.trim() !== '');
      if (isFilled) yield { line, bytes, ...found };
      line += lines;
      sinceTurn += end - at;
      at = end;
      if (sinceTurn > pieceLength) {
        sinceTurn = 0;
        await turnAlone();
      }
    }
    text = text.slice(at);
    wanted = 2 * text.length;
  }
}
