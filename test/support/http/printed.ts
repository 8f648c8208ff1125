import { inflateSync } from 'node:zlib';

/** A page as it comes out of the printer: its size in points, and the text on it, without its spaces. */
export interface PrintedPage {
  readonly width: number;
  readonly height: number;
  readonly text: string;
}

/** What the codes of a font's glyphs stand for, and how many hexadecimal digits one has. */
interface Font {
  readonly digits: number;
  readonly characters: ReadonlyMap<string, string>;
}

/** The objects of a PDF by their numbers, as browsers write it: one after the other. */
const objectsIn = (pdf: string): ReadonlyMap<string, string> =>
  new Map(
    [...pdf.matchAll(/^(\d+) 0 obj\n(.*?)\nendobj/gms)].map(([, id = '', object = '']) => [id, object]),
  );

const streamOf = (object = ''): string => {
  const [, stream = ''] = /stream\r?\n(.*)\r?\nendstream/s.exec(object) ?? [];
  const bytes = Buffer.from(stream, 'latin1');
  return (object.includes('/FlateDecode') ? inflateSync(bytes) : bytes).toString('latin1');
};

const textOf = (utf16: string): string => Buffer.from(utf16, 'hex').swap16().toString('utf16le');

/** Reads a ToUnicode map: single codes, and ranges of them. */
const fontOf = (map: string): Font => {
  const [, first = '0000'] = /begincodespacerange\s*<(\w+)>/.exec(map) ?? [];
  const characters = new Map<string, string>();
  for (const [, lines = ''] of map.matchAll(/beginbfchar(.*?)endbfchar/gs))
    for (const [, code = '', text = ''] of lines.matchAll(/<(\w+)> <(\w+)>/g))
      characters.set(code.toUpperCase(), textOf(text));
  for (const [, lines = ''] of map.matchAll(/beginbfrange(.*?)endbfrange/gs))
    for (const [, from = '', to = '', text = ''] of lines.matchAll(/<(\w+)> <(\w+)> <(\w+)>/g))
      for (let code = parseInt(from, 16); code <= parseInt(to, 16); code++)
        characters.set(
          code.toString(16).toUpperCase().padStart(first.length, '0'),
          String.fromCodePoint((textOf(text).codePointAt(0) ?? 0) + code - parseInt(from, 16)),
        );
  return { digits: first.length, characters };
};

/** The text that drawing instructions write, in their order. */
const written = (instructions: string, fonts: ReadonlyMap<string, Font>): string => {
  let font: Font | undefined;
  let text = '';
  for (const [, name, codes = ''] of instructions.matchAll(/\/(\w+) [\d.-]+ Tf|<([\da-fA-F]+)>/g)) {
    if (name !== undefined) font = fonts.get(name);
    else
      for (const code of codes.toUpperCase().match(new RegExp(`.{${font?.digits ?? 4}}`, 'g')) ?? [])
        text += font?.characters.get(code) ?? '\uFFFD';
  }
  // A ligature stands for its letters.
  return text.normalize('NFKC').replaceAll(/\s/g, '');
};

/** The pages of a PDF that Chromium has made. */
export const printedPages = (pdf: Buffer): readonly PrintedPage[] => {
  const objects = objectsIn(pdf.toString('latin1'));
  const referred = (object: string, key: string): string =>
    objects.get(new RegExp(`/${key} (\\d+) 0 R`).exec(object)?.[1] ?? '') ?? '';
  return [...objects.values()]
    .filter((object) => /\/Type \/Page\b/.test(object))
    .map((page) => {
      const [, width, height] = /\/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]/.exec(page) ?? [];
      const [, names = ''] = /\/Font <<(.*?)>>/s.exec(page) ?? [];
      const fonts = new Map(
        [...names.matchAll(/\/(\w+) (\d+) 0 R/g)].map(([, name = '', id = '']) => [
          name,
          fontOf(streamOf(referred(objects.get(id) ?? '', 'ToUnicode'))),
        ]),
      );
      const text = written(streamOf(referred(page, 'Contents')), fonts);
      return { width: Math.round(Number(width)), height: Math.round(Number(height)), text };
    });
};
