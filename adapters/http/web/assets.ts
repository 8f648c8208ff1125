import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { sharedDocument, type SharedDocument } from '../documents.js';

/** The files that pages load, by the names under which they are asked for, with their places and types. */
const assets = {
  'site.css': { place: './site.css', type: 'text/css; charset=utf-8' },
  'pages.js': { place: './browser/pages.js', type: 'text/javascript; charset=utf-8' },
  'docs.js': { place: './browser/docs.js', type: 'text/javascript; charset=utf-8' },
} as const;

type AssetName = keyof typeof assets;

interface Asset {
  /** With the first half of its digest in the name, so that browsers may keep it forever. */
  readonly fileName: string;
  readonly document: SharedDocument;
}

const isAsset = (name: string): name is AssetName => Object.hasOwn(assets, name);

const loaded = new Map<AssetName, Asset>();

/** A style sheet without its comments and indentation: a first view waits for it. */
const squeezed = (css: string): string =>
  css
    .replaceAll(/\/\*.*?\*\//gs, '')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/ ?([{};,]) ?/g, '$1')
    .replaceAll(': ', ':');

const load = (name: AssetName): Asset => {
  const { place, type } = assets[name];
  const written = readFileSync(new URL(place, import.meta.url), 'utf8');
  const text = name === 'site.css' ? squeezed(written) : written;
  const digest = createHash('sha256').update(text).digest('hex').slice(0, 12);
  const fileName = name.replace('.', `.${digest}.`);
  return {
    fileName,
    document: sharedDocument(type, text, { 'cache-control': 'public, max-age=31536000, immutable' }),
  };
};

/** Reads a file when it is first asked for. */
const assetOf = (name: AssetName): Asset => {
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
  if (!isAsset(name)) return null;
  const asset = assetOf(name);
  return asset.fileName === fileName ? asset.document : null;
};
