import { turnAlone } from '../../../application/timing/next-turn.js';

/** The file, or the rest of it, can't be read. */
export class UnreadableFile extends Error {
  override readonly name = 'UnreadableFile';
}

/** The cells of a row, or why it can't be read. */
type Cells = { readonly cells: readonly string[] } | { readonly problem: string };

/** A row that is not empty, and the line on which it begins. `bytes`: how much of the file has been read. */
export type CsvRow = { readonly line: number; readonly bytes: number } & Cells;

/** In characters. */
const maxLength = 400 * 1024;
const maxCells = 500;
const notClosed = 'a quotation mark is not closed within 400 KiB';
const strayQuote =
  'a quotation mark is in the middle of a cell. Double it, and put the cell in quotation marks';
/** After so many characters other work has its turn: some thousand rows. */
const pieceLength = 4 * 1024;

const decode = (decoder: TextDecoder, piece?: Buffer): string => {
  try {
    return decoder.decode(piece, { stream: piece !== undefined });
  } catch {
    const encoding = decoder.encoding.toUpperCase();
    throw new UnreadableFile(`The file is not in ${encoding}. Save it as “CSV UTF-8”, and send that.`);
  }
};

/** The encoding of a file that begins with this byte: with 0xFF or 0xFE only a byte order mark does. */
const encodingOf = (first: number | undefined): string =>
  first === 0xff ? 'utf-16le' : first === 0xfe ? 'utf-16be' : 'utf-8';

async function* decoded(pieces: AsyncIterable<Buffer>) {
  let decoder: TextDecoder | null = null;
  let bytes = 0;
  for await (const piece of pieces) {
    decoder ??= new TextDecoder(encodingOf(piece[0]), { fatal: true });
    bytes += piece.length;
    yield { more: decode(decoder, piece), bytes, isLast: false };
  }
  yield { more: decoder === null ? '' : decode(decoder), bytes, isLast: true };
}

const lineBreak = /\r\n?|\n/g;

const countLineBreaks = (text: string): number => {
  let count = 0;
  lineBreak.lastIndex = 0;
  while (lineBreak.test(text)) count += 1;
  return count;
};

/** Text of a file without the rows that were found in it. */
interface ReadText {
  readonly text: string;
  readonly isLast: boolean;
}

/** A row of the text, where it ends, and on how many lines it stands. */
interface ReadRow {
  readonly found: Cells;
  readonly end: number;
  readonly lines: number;
}

/** A row ends with its first line if something is wrong with it: its quotation marks can't be trusted. */
const spoiled = ({ text, isLast }: ReadText, start: number, problem: string): ReadRow | null => {
  lineBreak.lastIndex = start;
  const end = lineBreak.test(text) ? lineBreak.lastIndex : text.length;
  return isLast || end < text.length || text.endsWith('\n') ? { found: { problem }, end, lines: 1 } : null;
};

/** Where the cell that begins there ends; -1 if its quotation mark is not closed. */
const endOfCell = (text: string, start: number, delimiter: string): number => {
  if (text[start] !== '"') {
    let end = start;
    while (end < text.length && !'"\r\n'.includes(text.charAt(end)) && text[end] !== delimiter) end += 1;
    return end;
  }
  let close = text.indexOf('"', start + 1);
  while (close !== -1 && text[close + 1] === '"') close = text.indexOf('"', close + 2);
  return close === -1 ? -1 : close + 1;
};

/** The row that begins there; null if its end has not been read yet. */
const rowAt = (read: ReadText, start: number, delimiter: string): ReadRow | null => {
  const { text, isLast } = read;
  const cells: string[] = [];
  let lines = 1;
  for (let at = start; ;) {
    const end = endOfCell(text, at, delimiter);
    if (end === -1 && isLast) return spoiled(read, start, notClosed);
    if (end === -1 || (end === text.length && !isLast)) return null;
    const isQuoted = text[at] === '"';
    cells.push(isQuoted ? text.slice(at + 1, end - 1).replaceAll('""', '"') : text.slice(at, end));
    if (isQuoted) lines += countLineBreaks(text.slice(at, end));
    if (text[end] !== delimiter) {
      if (end < text.length && !'\r\n'.includes(text.charAt(end))) return spoiled(read, start, strayQuote);
      if (text[end] === '\r' && end + 1 === text.length && !isLast) return null;
      return { found: { cells }, lines, end: end + (text.startsWith('\r\n', end) ? 2 : 1) };
    }
    if (cells.length === maxCells) return spoiled(read, start, `it has more than ${maxCells} cells`);
    at = end + 1;
  }
};

/** As `rowAt`, for a row that is not too long. Throws UnreadableFile if already its first line is. */
const nextRow = (read: ReadText, start: number, delimiter: string): ReadRow | null => {
  const isTooLong = (row: ReadRow | null): boolean => (row?.end ?? read.text.length) - start > maxLength;
  const row = rowAt(read, start, delimiter);
  if (!isTooLong(row)) return row;
  const firstLine = spoiled(read, start, notClosed);
  if (isTooLong(firstLine)) throw new UnreadableFile('A line is longer than 400 KiB.');
  return firstLine;
};

/** The delimiter that makes the most cells of the next row; null if that has not been read yet. */
const delimiterAt = (read: ReadText, start: number): string | null => {
  let found: string | null = null;
  let most = 0;
  for (const delimiter of [',', ';', '\t']) {
    const row = nextRow(read, start, delimiter);
    if (row === null) return null;
    const count = 'cells' in row.found ? row.found.cells.length : 1;
    if (count > most) [found, most] = [delimiter, count];
  }
  return found;
};

/**
 * Yields the rows of a CSV file in order, from pieces of its bytes, without reading the whole file first.
 * Lines may end in any way. A first row such as `sep=;` names the delimiter. A row that can't be read spoils
 * no other. Throws UnreadableFile, and the errors of the pieces.
 */
export async function* csvRows(pieces: AsyncIterable<Buffer>): AsyncGenerator<CsvRow, void, undefined> {
  let known: string | null = null;
  let text = '';
  let line = 1;
  let wanted = 0;
  let sinceTurn = 0;
  for await (const { more, bytes, isLast } of decoded(pieces)) {
    text += more;
    // A long row is not looked at again with every piece.
    if (text.length < wanted && !isLast) continue;
    const read = { text, isLast };
    let at = 0;
    while (at < text.length) {
      const delimiter: string | null = known ?? delimiterAt(read, at);
      const row: ReadRow | null = delimiter === null ? null : nextRow(read, at, delimiter);
      if (delimiter === null || row === null) break;
      const { found, end, lines } = row;
      if ('problem' in found || found.cells.some((cell) => cell.trim() !== '')) {
        const first: string = known === null && 'cells' in found ? found.cells.join(delimiter) : '';
        const [, said] = /^sep=(.)$/i.exec(first) ?? [];
        if (said === undefined) yield { line, bytes, ...found };
        known ??= said ?? delimiter;
      }
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
