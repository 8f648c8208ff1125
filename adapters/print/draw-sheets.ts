import { parentPort } from 'node:worker_threads';
import bwip from 'bwip-js/node';
import type { Glyph } from 'fontkit';
import PDFDocument from 'pdfkit';
import type { Sheet } from '../../application/ports/sheet-printer.js';
import { master, type Size } from '../../domain/artwork.js';
import { layOut, lineHeight, panel, roomAt } from '../../domain/letter-layout.js';
import { truncate } from '../../domain/text.js';
import { drawnIn } from './hands.js';

// The program of a thread: is sent sheets, and null after the last; answers each with the next piece of a
// PDF. All is in points, 72 to the inch.

const card = { width: 5 * 72, height: 7 * 72 } as const;
const bleed = 72 / 8;
/** Around the card, for the marks by which it is cut out and the line that names it. */
const around = 36;
const envelope = { width: 7.25 * 72, height: 5.25 * 72 } as const;
const ink = '#22304f';
/** For what people on the floor read. */
const plainHand = 'schoolhouse';
/** Of what people can read. */
const smallest = 7;
/** Of a bar of the barcode that is one wide. */
const bar = 0.75;
const barHeight = 16;

const doc = new PDFDocument({
  autoFirstPage: false,
  margin: 0,
  font: '',
  info: { Title: 'Sheets of cards' },
});

/** `trim`, `bleeds`: how far the edges of the paper are from those of the card, and of what is printed. */
const addPage = ({ width, height }: Size, trim: number, bleeds: number): void => {
  const boxAt = (edge: number): readonly number[] => [edge, edge, width - edge, height - edge];
  doc.addPage({ size: [width, height], margin: 0 });
  Object.assign(doc.page.dictionary.data, { TrimBox: boxAt(trim), BleedBox: boxAt(bleeds) });
};

const instructionsOf = (glyph: Glyph): string => {
  let [x, y] = [0, 0];
  const lines = glyph.path.commands.map(({ command, args }) => {
    const [a = 0, b = 0, c = 0, d = 0] = args;
    // PDF has no quadratic curves.
    const points =
      command === 'quadraticCurveTo'
        ? [x + ((a - x) * 2) / 3, y + ((b - y) * 2) / 3, c + ((a - c) * 2) / 3, d + ((b - d) * 2) / 3, c, d]
        : args;
    [x, y] = [args.at(-2) ?? x, args.at(-1) ?? y];
    return [...points.map((each) => Math.round(each * 100) / 100), operators[command]].join(' ');
  });
  return `${lines.join('\n')}\nf`;
};

const operators = {
  moveTo: 'm',
  lineTo: 'l',
  quadraticCurveTo: 'c',
  bezierCurveTo: 'c',
  closePath: 'h',
} as const;

/** Draws something that the PDF has once, by the matrix of its place and size. */
const place = (name: string, drawing: PDFKit.PDFKitReference, matrix: readonly number[]): void => {
  Object.assign(doc.page.xobjects as object, { [name]: drawing });
  doc.addContent(`q ${matrix.map((each) => each.toFixed(5)).join(' ')} cm /${name} Do Q`);
};

const forms = new Map<string, PDFKit.PDFKitReference>();

/** The drawing of a character, which is in the PDF once. */
const formOf = (name: string, glyph: Glyph): PDFKit.PDFKitReference => {
  const known = forms.get(name);
  if (known !== undefined) return known;
  const { minX, minY, maxX, maxY } = glyph.path.cbox;
  const box = glyph.path.commands.length === 0 ? [0, 0, 0, 0] : [minX, minY, maxX, maxY];
  const form = doc.ref({ Type: 'XObject', Subtype: 'Form', BBox: box });
  form.end(instructionsOf(glyph));
  forms.set(name, form);
  return form;
};

/**
 * Writes a line that begins at `x` on the line `y`; one that is wider than `room` is written smaller, and cut
 * where it would become smaller than `least`.
 */
const write = (
  text: string,
  hand: string,
  wanted: number,
  x: number,
  y: number,
  room: number,
  least = 0,
): void => {
  const letters = Array.from(text, (character) => drawnIn(hand, character));
  const width = letters.reduce((sum, { glyph, unitsPerEm }) => sum + glyph.advanceWidth / unitsPerEm, 0);
  const fitting = Math.floor((letters.length * room) / (width * least));
  if (fitting < letters.length)
    return write(`${truncate(text, fitting - 1)}…`, hand, wanted, x, y, room, least);
  const size = Math.min(wanted, room / width);
  doc.markContent('Span', { actual: text });
  let at = x;
  for (const { name, glyph, unitsPerEm, isMissing } of letters) {
    const scale = size / unitsPerEm;
    if (!isMissing) place(name, formOf(name, glyph), [scale, 0, 0, -scale, at, y]);
    at += glyph.advanceWidth * scale;
  }
  doc.endMarkedContent();
};

const segmenter = new Intl.Segmenter('en');

/** How many characters of a text are not drawn, as people count them, in words; nothing if all are. */
const missingIn = (text: string, hand: string, where = ''): readonly string[] => {
  const isMissing = (character: string): boolean => drawnIn(hand, character).isMissing;
  const characters = Array.from(segmenter.segment(text), ({ segment }) => Array.from(segment));
  return counted(characters.filter((each) => each.some(isMissing)).length, 'character', where);
};

const counted = (count: number, what: string, where = ''): readonly string[] =>
  count > 0 ? [`${count} ${what}${count === 1 ? '' : 's'}${where}`] : [];

/** The code of a card in Code 128, which the scanners of the floor read. */
const barcode = (code: string, x: number, y: number): void => {
  const [drawn] = bwip.raw({ bcid: 'code128', text: code });
  if (drawn === undefined || !('sbs' in drawn)) throw new Error(`No barcode was made of ${code}`);
  let at = x;
  for (const [n, wide] of drawn.sbs.entries()) {
    if (n % 2 === 0) doc.rect(at, y, wide * bar, barHeight);
    at += wide * bar;
  }
  doc.fill('black');
};

const line = (x: number, y: number, toX: number, toY: number): unknown => doc.moveTo(x, y).lineTo(toX, toY);

/** A sheet from which the card is cut, with its code where it is cut off. */
const cardPage = (code: string, label: string, draw: () => void): void => {
  const [width, height] = [card.width + 2 * around, card.height + 2 * around];
  addPage({ width, height }, around, around - bleed);
  draw();
  const [from, to] = [6, around - bleed - 3];
  for (const x of [around, width - around]) {
    line(x, from, x, to);
    line(x, height - from, x, height - to);
  }
  for (const y of [around, height - around]) {
    line(from, y, to, y);
    line(width - from, y, width - to, y);
  }
  doc.lineWidth(0.25).stroke('black');
  barcode(code, around + 12, height - 22);
  doc.fillColor('black');
  write(code, plainHand, 11, around + 136, height - 15, card.width - 148);
  write(label, plainHand, 8, around + 136, height - 6, card.width - 148, smallest);
};

/** A print master, in the PDF once for all its fronts. */
const pictureFrom = (bytes: Uint8Array): PDFKit.PDFKitReference => {
  const format = { ColorSpace: 'DeviceRGB', BitsPerComponent: 8, Filter: 'DCTDecode' };
  const size = { Width: master.width, Height: master.height };
  const drawn = doc.ref({ Type: 'XObject', Subtype: 'Image', ...size, ...format });
  drawn.end(Buffer.from(bytes));
  return drawn;
};

let picture: PDFKit.PDFKitReference | null = null;

const drawFront = (design: string): void => {
  if (picture !== null) {
    const [width, height] = [card.width + 2 * bleed, card.height + 2 * bleed];
    return place('Front', picture, [width, 0, 0, -height, around - bleed, around - bleed + height]);
  }
  const [right, bottom] = [around + card.width, around + card.height];
  doc.rect(around, around, card.width, card.height);
  line(around, around, right, bottom);
  line(right, around, around, bottom);
  doc.dash(4, {}).stroke('black').undash().fillColor('black');
  write('This design has no picture', plainHand, 24, around + 27, around + 100, panel.width);
  write(design, plainHand, 24, around + 27, around + 140, panel.width, smallest);
};

const draw = (sheet: Sheet): void => {
  const { code } = sheet;
  switch (sheet.part) {
    case 'front':
      if (sheet.picture !== undefined) picture = sheet.picture === null ? null : pictureFrom(sheet.picture);
      return cardPage(code, `front · ${sheet.design}`, () => drawFront(sheet.design));
    case 'inside': {
      const { lines, size } = layOut(sheet.message, sheet.hand);
      const [left, top] = [
        around + (card.width - panel.width) / 2,
        around + (card.height - panel.height) / 2,
      ];
      const shown = lines.slice(0, roomAt(size));
      const missing = [
        ...missingIn(shown.join(' '), sheet.hand),
        ...counted(lines.length - shown.length, 'line'),
        ...missingIn(sheet.address.join(' '), sheet.hand, ' of the address'),
      ];
      const label =
        missing.length === 0 ? 'inside' : `inside · missing, finish by hand: ${missing.join(', ')}`;
      return cardPage(code, label, () => {
        doc.fillColor(ink);
        for (const [at, line] of shown.entries())
          write(line, sheet.hand, size, left, top + (at + 0.75) * size * lineHeight, panel.width);
      });
    }
    case 'envelope': {
      const { width, height } = envelope;
      addPage(envelope, 0, 0);
      doc.fillColor(ink);
      for (const [at, line] of sheet.lines.entries())
        write(line, sheet.hand, 22, width * 0.38, height * 0.47 + at * 22 * lineHeight, width * 0.54);
      // Outside the part that the machines of the post read.
      barcode(code, 27, height - 36);
      return write(code, plainHand, 9, 27, height - 42, 109);
    }
    case 'none':
      return writeNote(code, sheet.design, sheet.problem);
  }
};

const writeNote = (...lines: readonly string[]): void => {
  addPage(envelope, 0, 0);
  for (const [at, line] of lines.entries())
    write(line, plainHand, 22, 36, 72 + at * 30, envelope.width - 72, smallest);
};

let isEmpty = true;

parentPort?.on('message', (sheet: Sheet | null) => {
  if (sheet !== null) draw(sheet);
  else if (isEmpty) writeNote('Nothing is to be printed');
  isEmpty = false;
  if (sheet === null) doc.end();
  // Newer versions of Node give a piece at a time.
  const pieces: Buffer[] = [];
  for (let piece: Buffer | null; (piece = doc.read()) !== null;) pieces.push(piece);
  parentPort?.postMessage(Buffer.concat(pieces));
});
