import type { PictureSize } from '../../../application/ports/artwork.js';
import type { Front } from '../../../domain/artwork.js';
import type { Brand } from '../../../domain/ids.js';

/**
 * The addresses of the pages, so that links and the table can't differ. The order matters where a parameter
 * could match a word: words come first.
 */
export const paths = {
  start: '/console',
  signIn: '/console/sign-in',
  enter: '/console/enter/:link',
  join: '/console/join/:organization/:invitation',
  reset: '/console/reset/:link',
  choose: '/console/choose',
  me: '/console/me',
  house: '/console/house',
  held: '/console/house/held',
  floor: '/console/house/floor',
  run: '/console/house/floor/run',
  runSheets: '/console/house/floor/run.pdf',
  floorCard: '/console/house/floor/:code',
  sheets: '/console/house/floor/:code/sheets.pdf',
  catalogue: '/console/house/catalogue',
  newCollectionCard: '/console/house/catalogue/new',
  newCollectionFront: '/console/house/catalogue/new/:picture',
  staff: '/console/house/staff',
  home: '/console/:org',
  cards: '/console/:org/cards',
  send: '/console/:org/cards/new',
  contacts: '/console/:org/contacts',
  importContacts: '/console/:org/contacts/import',
  contactImport: '/console/:org/contacts/imports/:import',
  badLines: '/console/:org/contacts/imports/:import/lines.csv',
  contact: '/console/:org/contacts/:contact',
  designs: '/console/:org/designs',
  newDesign: '/console/:org/designs/new',
  newFront: '/console/:org/designs/new/:picture',
  collection: '/collection',
  collectionCard: '/collection/:slug',
  credits: '/console/:org/credits',
  creditsCsv: '/console/:org/credits.csv',
  settings: '/console/:org/settings',
  doNotMail: '/console/:org/settings/do-not-mail',
  members: '/console/:org/settings/members',
  keys: '/console/:org/keys',
  hooks: '/console/:org/hooks',
  hook: '/console/:org/hooks/:id',
  webhooks: '/console/:org/webhooks',
  endpoint: '/console/:org/webhooks/:endpoint',
  deliveries: '/console/:org/deliveries',
  delivery: '/console/:org/deliveries/:delivery',
  requests: '/console/:org/requests',
  card: '/cards/:code',
} as const;

export type PageName = keyof typeof paths;
export type Path = `/${string}`;

/** The path of a page by its name; any other path is one already. */
export const pathTo = (to: PageName | Path): string => (paths as Readonly<Record<string, string>>)[to] ?? to;

/** The page of an organization to which the documentation leads, as `/console?place=keys`; else its home. */
export const placeOfWord = (word: string): PageName => (word === 'keys' || word === 'hooks' ? word : 'home');

const shapes = Object.values(paths).map((path) => new RegExp(`^${path.replaceAll(/:\w+/g, '[\\w-]+')}$`));

/** Whether it is the path of a page, below the path of the base URL. */
export const isAPage = (path: string): path is Path => shapes.some((shape) => shape.test(path));

export const picturePath = '/pictures/:digest/:file';

export const pictureFiles: readonly (readonly [file: string, size: PictureSize, type: string])[] = [
  ['front.jpg', 'master', 'image/jpeg'],
  ['preview.webp', 'preview', 'image/webp'],
  ['thumbnail.webp', 'thumbnail', 'image/webp'],
];

/** The place of a picture of a front, below the base URL. Only those who have seen the front can guess it. */
export const pathOfPicture = ({ digest }: Pick<Front, 'digest'>, wanted: PictureSize): Path =>
  `/pictures/${digest}/${pictureFiles.find(([, size]) => size === wanted)?.[0] ?? ''}`;

/** An address that a page may link to: one of this service, or https. */
export type Url = Brand<string, 'Url'>;

export type Texts = Readonly<Record<string, string>>;

/**
 * Makes the addresses of the service's own pages. `prefix`: the path under which clients see it, mostly ''.
 * Throws if a parameter of the path is missing: the link would lead nowhere.
 */
export const pageUrl = (prefix: string, path: string, params: Texts = {}, query: Texts = {}): Url => {
  const filled = path.replaceAll(/:(\w+)/g, (_, name: string) => {
    const value = params[name];
    if (value === undefined) throw new Error(`${path} lacks ${name}`);
    return encodeURIComponent(value);
  });
  const search = new URLSearchParams(query).toString();
  return `${prefix}${filled}${search === '' ? '' : `?${search}`}` as Url;
};

/**
 * Where clients see the service: its origin, and the path before its own paths, without a slash at the end.
 */
export const placeOf = (baseUrl: string): { readonly origin: string; readonly prefix: string } => {
  const { origin, pathname } = new URL(baseUrl);
  return { origin, prefix: pathname.replace(/\/+$/, '') };
};
