import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { typefaces } from '../../../domain/letter-layout.js';
import { sharedDocument, type SharedDocument } from '../server/documents.js';

const css = 'text/css; charset=utf-8';
const script = 'text/javascript; charset=utf-8';

/** The files that pages load, by the names under which they are asked for: their places and their types. */
const assets = {
  'docs.css': { places: ['./site.css', './docs.css'], type: css },
  'console.css': { places: ['./site.css', './letters.css'], type: css },
  'pages.js': { places: ['./browser/pages.js'], type: script },
  'docs.js': { places: ['./browser/docs.js'], type: script },
  // The module names declarations of the file before it.
  'reader.js': { places: ['../docs/find.js', './browser/reader.js'], type: script },
} as const;

export type AssetName = keyof typeof assets;

const fontName = /^([a-z]+)(-ext)?\.woff2$/;

interface Asset {
  /** With the first half of its digest in the name, so that browsers may keep it forever. */
  readonly fileName: string;
  readonly document: SharedDocument;
}

const isAsset = (name: string): name is AssetName => Object.hasOwn(assets, name);

const loaded = new Map<string, Asset>();

/** A style sheet without its comments and indentation: a first view waits for it. */
const squeezed = (style: string): string =>
  style
    .replaceAll(/\/\*.*?\*\//gs, '')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/ ?([{};,]) ?/g, '$1')
    .replaceAll(': ', ':')
    .replaceAll(';}', '}')
    .replaceAll(' > ', '>')
    .replaceAll(/(?<=[ :,(-])0\./g, '.')
    // Fonts stand beside the style sheet, under names of their own digests.
    .replaceAll(/url\('([^']+)'\)/g, (_, name: string) => `url(${assetOf(name).fileName})`);

/** Each hand in the typeface that stands for it: browsers load what the characters on a page need. */
const hands = [...typefaces.keys()].map(
  (hand) => `
@font-face { font-family: ${hand}; src: url('${hand}.woff2'); }
@font-face { font-family: ${hand}; src: url('${hand}-ext.woff2'); unicode-range: U+100-24F; }
.${hand} { font-family: ${hand}, cursive; }`,
);

const assetFrom = (name: string, type: string, content: string | Buffer): Asset => {
  const digest = createHash('sha256').update(content).digest('hex').slice(0, 12);
  const headers = { 'cache-control': 'public, max-age=31536000, immutable' };
  return { fileName: name.replace('.', `.${digest}.`), document: sharedDocument(type, content, headers) };
};

/** The typeface and its part of the alphabet; null if the name is no font's. */
const partOf = (name: string): string | null => {
  const [, hand = '', ext = ''] = fontName.exec(name) ?? [];
  const typeface = typefaces.get(hand)?.toLowerCase().replaceAll(' ', '-');
  return typeface === undefined ? null : `${typeface}/files/${typeface}-latin${ext}-400-normal.woff2`;
};

const fontFrom = (name: string): Asset => {
  const place = import.meta.resolve(`@fontsource/${partOf(name) ?? ''}`);
  return assetFrom(name, 'font/woff2', readFileSync(fileURLToPath(place)));
};

/** Where a debugger would find a source, which is not served. */
const sourceMap = /^\/\/# sourceMappingURL=.*$/gm;

const load = (name: string): Asset => {
  if (!isAsset(name)) return fontFrom(name);
  const { places, type } = assets[name];
  const texts = places.map((place) => readFileSync(new URL(place, import.meta.url), 'utf8'));
  if (name === 'console.css') texts.push(...hands);
  const text = texts.map((each) => each.replaceAll(sourceMap, '')).join('\n');
  return assetFrom(name, type, type === css ? squeezed(text) : text);
};

/** Reads a file when it is first asked for. */
const assetOf = (name: string): Asset => {
  const known = loaded.get(name) ?? load(name);
  loaded.set(name, known);
  return known;
};

/** `prefix`: the path under which clients see the service, mostly ''. */
export const assetUrl = (prefix: string, name: AssetName): string =>
  `${prefix}/assets/${assetOf(name).fileName}`;

/**
 * The file of an address that a page names, or null: an address with another digest is that of another build.
 */
export const findAsset = (fileName: string): SharedDocument | null => {
  const name = fileName.replace(/\.[0-9a-f]{12}\./, '.');
  if (!isAsset(name) && partOf(name) === null) return null;
  const asset = assetOf(name);
  return asset.fileName === fileName ? asset.document : null;
};
