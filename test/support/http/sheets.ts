import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { inflateSync } from 'node:zlib';
import { PDFiumLibrary } from '@hyzyla/pdfium';
import sharp from 'sharp';
import { prepareZXingModule, readBarcodes } from 'zxing-wasm/reader';

/** Lower left and upper right corner, in millimetres. */
export type Box = readonly number[];

/** A page of a PDF that the floor prints: its boxes, and the lines that are written on it. */
export interface PrintedSheet {
  readonly media: Box;
  readonly trim: Box;
  readonly bleed: Box;
  readonly lines: readonly string[];
}

const millimetres = (points: number): number => Math.round(points * (25.4 / 72) * 100) / 100;

const boxOf = (page: string, name: string): Box => {
  const [, numbers = ''] = new RegExp(`/${name} \\[([^\\]]+)\\]`).exec(page) ?? [];
  return numbers.split(' ').map((each) => millimetres(Number(each)));
};

/** A literal of a PDF, which is Latin 1 or UTF-16 with its mark. */
const textOf = (literal: string): string => {
  const bytes = Buffer.from(literal.replaceAll(/\\([()\\])/g, '$1'), 'latin1');
  return literal.startsWith('\u00fe\u00ff')
    ? bytes.subarray(2).swap16().toString('utf16le')
    : bytes.toString('latin1');
};

/** The pages of a PDF of the floor, in the order in which they are printed. */
export const sheetsIn = (pdf: Buffer): readonly PrintedSheet[] => {
  const objects = new Map(
    [...pdf.toString('latin1').matchAll(/^(\d+) 0 obj\n(.*?)\nendobj/gms)].map(([, id, object = '']) => [
      id,
      object,
    ]),
  );
  const [, kids = ''] = /\/Kids \[([^\]]*)\]/.exec([...objects.values()].join('\n')) ?? [];
  return [...kids.matchAll(/(\d+) 0 R/g)].map(([, id]) => {
    const page = objects.get(id) ?? '';
    const content = objects.get(/\/Contents (\d+) 0 R/.exec(page)?.[1]) ?? '';
    const [, stream = ''] = /stream\n(.*)\nendstream/s.exec(content) ?? [];
    const drawn = inflateSync(Buffer.from(stream, 'latin1')).toString('latin1');
    return {
      media: boxOf(page, 'MediaBox'),
      trim: boxOf(page, 'TrimBox'),
      bleed: boxOf(page, 'BleedBox'),
      lines: [...drawn.matchAll(/\/ActualText \(((?:\\.|[^\\)])*)\)/gs)].map(([, text = '']) => textOf(text)),
    };
  });
};

/** Dots to the inch of pages that are looked at. */
const seenAt = 216;

/** A page as a picture, in which is found what is drawn. */
export interface SeenSheet {
  readonly png: Buffer;
  /** The box of the dots of a kind, in millimetres from the lower left corner; null if there are none. */
  readonly boxOf: (isMeant: (red: number, green: number, blue: number) => boolean) => Box | null;
  /** Whether something is drawn there, in millimetres from the lower left corner, be it a thin line. */
  readonly isDark: (x: number, y: number) => boolean;
}

/** Pages of a PDF as pictures, by their numbers. */
export const seen = async (pdf: Buffer, pages: readonly number[]): Promise<readonly SeenSheet[]> => {
  const library = await PDFiumLibrary.init();
  const document = await library.loadDocument(pdf);
  const pictures: SeenSheet[] = [];
  for (const at of pages) {
    const { data, width, height } = await document
      .getPage(at)
      .render({ scale: seenAt / 72, render: 'bitmap' });
    pictures.push({
      png: await sharp(data, { raw: { width, height, channels: 4 } })
        .png()
        .toBuffer(),
      isDark: (x, y) => {
        const column = Math.floor((x * seenAt) / 25.4);
        const row = Math.floor(height - (y * seenAt) / 25.4);
        const beside = [-1, 0, 1];
        return beside.some((dx) =>
          beside.some((dy) => (data[4 * ((row + dy) * width + column + dx)] ?? 255) < 220),
        );
      },
      boxOf: (isMeant) => {
        let [left, top, right, bottom] = [width, height, -1, -1];
        for (let y = 0; y < height; y++)
          for (let x = 0; x < width; x++) {
            const dot = 4 * (y * width + x);
            if (!isMeant(data[dot] ?? 0, data[dot + 1] ?? 0, data[dot + 2] ?? 0)) continue;
            [left, top, right, bottom] = [Math.min(left, x), Math.min(top, y), Math.max(right, x), y];
          }
        const edges = [left, height - bottom - 1, right + 1, height - top];
        return right === -1 ? null : edges.map((dots) => millimetres((dots / seenAt) * 72));
      },
    });
  }
  document.destroy();
  library.destroy();
  return pictures;
};

const decoder = fileURLToPath(import.meta.resolve('zxing-wasm/reader/zxing_reader.wasm'));

/** What a scanner reads on a page: `Code128 HC-7K3M9QX`. */
export const scanned = async ({ png }: SeenSheet): Promise<readonly string[]> => {
  prepareZXingModule({ overrides: { wasmBinary: new Uint8Array(readFileSync(decoder)).buffer } });
  const found = await readBarcodes(new Uint8Array(png));
  return found.map(({ format, text }) => `${format} ${text}`);
};
