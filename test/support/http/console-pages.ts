import * as everyPage from '../../../adapters/http/console/pages.js';
import type { Page } from '../../../adapters/http/console/page.js';
import { paths } from '../../../adapters/http/web/paths.js';
import { uploadCollectionPicture, uploadPicture } from '../artwork/upload.js';
import { eventually } from '../time/eventually.js';
import type { Lively } from './lively.js';
import type { RunningService } from './service.js';
import { operatorOf } from './visitor.js';

/** Every page of the console, words before parameters. */
export const pages: readonly Page[] = Object.values(paths).flatMap((path) =>
  Object.values(everyPage).filter((page) => page.path === path),
);

/** An organization that has one of everything. */
export type Ones = Omit<Lively, 'pass' | 'clock'>;

type Texts = Readonly<Record<string, string>>;

/** A link of the operator that nobody has used. */
export const freshLink = async (service: RunningService): Promise<string> => {
  const { body } = await service.operator('/operator/v1/console-links', { method: 'POST' });
  return new URL(String(body['url'])).pathname;
};

const lastOf = (path: string): string => path.split('/').at(-1) ?? '';

/** An invitation that nobody has accepted, for the address of its page. */
const freshInvitation = async ({ service, tenant }: Ones): Promise<string> => {
  const { body } = await service.operator(`/operator/v1/organizations/${tenant.org}/members`, {
    body: { email: `guest-${counter()}@example.com`, name: 'A guest', role: 'viewer' },
  });
  return lastOf(new URL(String(body['url'])).pathname);
};

/** A link for a new password of somebody who has joined. */
const freshReset = async ({ service, tenant }: Ones): Promise<string> => {
  const members = `/operator/v1/organizations/${tenant.org}/members`;
  const { rows } = await service.operator(members);
  const joined = rows.find(({ email }) => email === 'bo@acme.example');
  const { body } = await service.operator(`${members}/${String(joined?.['id'])}/reset`, { method: 'POST' });
  return lastOf(new URL(String(body['url'])).pathname);
};

let counted = 0;
const counter = (): number => ++counted;

/** A delivery to the endpoint that fails. */
const deliveryOf = async ({ tenant, endpoints }: Ones): Promise<string> => {
  const { rows } = await tenant.api(`/api/v1/deliveries?limit=1&endpoint=${endpoints.failing}`);
  return String(rows[0]?.['id']);
};

/** An import with a bad line, which is done. */
const importOf = async ({ tenant, owner }: Ones): Promise<string> => {
  const page = `/console/${tenant.org}/contacts/import`;
  const file = new Blob(['external_id,name\nimported,Valentina Tereshkova\n,Nobody\n']);
  const { status, location } = await owner.upload(page, { form: 'a page' }, file);
  if (location?.startsWith(page) !== true)
    throw new Error(`a file of contacts was not taken: ${status}, ${location}`);
  // What it does by itself must not look like the work of a page.
  await eventually(async () => (await owner.get(location)).text.includes('>done<'));
  return lastOf(location);
};

/** The one of which `:id` of a path speaks. */
const idAt = (path: string, { hook }: Ones): string => {
  if (path.includes('/hooks/')) return hook;
  throw new Error(`Say in test/support/http/console-pages.ts what stands for :id of ${path}.`);
};

/** What stands for a parameter of a page's path. A page with a parameter of its own needs a line here. */
const valueOf = async (name: string, path: string, lively: Ones): Promise<string> => {
  const { tenant, cards } = lively;
  switch (name) {
    case 'org':
    case 'organization':
      return tenant.org;
    case 'endpoint':
      return lively.endpoints.failing;
    case 'delivery':
      return deliveryOf(lively);
    case 'id':
      return idAt(path, lively);
    case 'code':
      return path.includes('/house/') ? cards.atWork : cards.pending;
    case 'contact':
      return (await tenant.api('/api/v1/contacts', { body: { name: 'Mae Jemison', external_id: 'a page' } }))
        .id;
    case 'import':
      return importOf(lively);
    case 'picture':
      return lastOf(
        await (path.includes('/house/')
          ? uploadCollectionPicture(await operatorOf(lively.service))
          : uploadPicture(lively.owner, tenant.org)),
      );
    case 'slug':
      return 'welcome-home';
    case 'invitation':
      return freshInvitation(lively);
    case 'link':
      return path.includes('reset') ? freshReset(lively) : lastOf(await freshLink(lively.service));
    default:
      throw new Error(`Say in test/support/http/console-pages.ts what stands for :${name} of ${path}.`);
  }
};

/** The page of an address. */
export const pageAt = (address: string): Page | undefined =>
  pages.find(({ path }) =>
    new RegExp(`^${path.replaceAll(/:\w+/g, '[^/]+')}$`).test(address.split('?')[0] ?? ''),
  );

/** Pages that the staff don't see, and those that nobody else sees. */
export const mayLook = (who: 'owner' | 'operator', { page: { path, may } }: Place): boolean =>
  who === 'owner' ? !path.startsWith('/console/house') : may !== 'cards.send';

export interface Place {
  readonly page: Page;
  readonly address: string;
}

/** Every page of the console with an address at which it can be seen. */
export const placesOf = async (lively: Ones): Promise<readonly Place[]> => {
  const places: Place[] = [];
  for (const page of pages) places.push(await placeOf(page, lively));
  return places;
};

/** A page with an address at which it can be seen: each time another one, where that works once. */
export const placeOf = async (page: Page, lively: Ones): Promise<Place> => {
  let address: string = page.path;
  for (const [whole, name = ''] of page.path.matchAll(/:(\w+)/g))
    address = address.replace(whole, await valueOf(name, page.path, lively));
  return { page, address };
};

/** A form as a page shows it, with what a person types into it. */
export interface ShownForm {
  readonly action: string;
  /** Where it is sent, if not to the page itself. */
  readonly to: string | null;
  readonly fields: Texts;
}

const attribute = (tag: string, name: string): string | null =>
  new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1] ?? null;

const unescaped = (text: string): string =>
  text.replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');

/** The value of a field that nobody has touched, or what its kind wants. */
const filled = (tag: string): string => {
  const value = attribute(tag, 'value') ?? '';
  if (value !== '' || !tag.includes(' required')) return unescaped(value);
  const kind = attribute(tag, 'type');
  return kind === 'email' ? 'somebody@example.com' : kind === 'url' ? 'https://127.0.0.2/' : 'Something';
};

const fieldsIn = (form: string): Texts => {
  const fields: Record<string, string> = {};
  for (const [tag] of form.matchAll(/<input\b[^>]*>/g)) {
    const name = attribute(tag, 'name');
    const isBox = /type="(checkbox|radio)"/.test(tag);
    if (name !== null && (!isBox || tag.includes(' checked'))) fields[name] = filled(tag);
  }
  for (const [whole, tag = '', text = ''] of form.matchAll(/<textarea\b([^>]*)>([^<]*)<\/textarea>/g)) {
    const name = attribute(` ${tag}`, 'name');
    if (name !== null)
      fields[name] = text === '' && whole.includes(' required') ? 'Something' : unescaped(text);
  }
  for (const [, tag = '', options = ''] of form.matchAll(/<select\b([^>]*)>(.*?)<\/select>/gs)) {
    const name = attribute(` ${tag}`, 'name');
    const [first] = options.match(/<option\b[^>]* selected[^>]*>/) ??
      options.match(/<option\b[^>]*>/) ?? [''];
    if (name !== null) fields[name] = unescaped(attribute(first, 'value') ?? '');
  }
  return fields;
};

/** The forms of a page that change something. */
export const formsIn = (html: string): readonly ShownForm[] =>
  [...html.matchAll(/<form method="post".*?<\/form>/gs)].flatMap(([form]) => {
    const fields = fieldsIn(form);
    // A form with one action says so in a field, one with several in its buttons.
    const buttons = [...form.matchAll(/<button\b[^>]* name="do"[^>]*>/g)];
    const actions = buttons.map(([tag]) => attribute(tag, 'value') ?? '');
    const all = fields['do'] === undefined ? actions : [fields['do']];
    const to = attribute(form.split('>')[0] ?? '', 'action');
    return all.map((action) => ({
      action,
      to: to === null ? null : unescaped(to),
      fields: { ...fields, do: action },
    }));
  });
