import type { Brand } from '../../../domain/ids.js';

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
