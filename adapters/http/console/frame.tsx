import type { ComponentChildren } from 'preact';
import type { OrganizationId } from '../../../domain/ids.js';
import { may, type Role } from '../../../domain/permissions.js';
import { Brand } from '../web/brand.js';
import type { Html } from '../web/prose.js';
import type { Context } from './page.js';
import { paths } from '../web/paths.js';

/** The organization whose pages are shown, for the menu. */
export interface Here {
  readonly org: OrganizationId;
  readonly name: string;
  readonly role: Role;
  readonly isHouse?: boolean;
}

interface FrameProps {
  readonly context: Context;
  readonly here: Here | null;
  readonly children: ComponentChildren;
}

/** The entries of the menu, each with its pages and the pages below them. */
const entries = [
  { name: 'Home', to: paths.home, need: 'cards.read', pages: [] },
  { name: 'Cards', to: paths.cards, need: 'cards.read', pages: [paths.cards, paths.card] },
  { name: 'Send a card', to: paths.send, need: 'cards.send', pages: [] },
  { name: 'Contacts', to: paths.contacts, need: 'contacts.read', pages: [paths.contacts] },
  { name: 'Designs', to: paths.designs, need: 'designs.read', pages: [paths.designs] },
  {
    name: 'Integrations',
    to: paths.keys,
    need: 'integrations.read',
    pages: [paths.keys, paths.hooks, paths.webhooks, paths.deliveries, paths.requests],
  },
  { name: 'Credits', to: paths.credits, need: 'credits.read', pages: [paths.credits] },
  { name: 'Settings', to: paths.settings, need: 'cards.read', pages: [paths.settings] },
] as const;

const houseEntries = [
  { name: 'Organizations', to: paths.house, need: 'organizations.manage', pages: [] },
  { name: 'Held', to: paths.held, need: 'cards.release', pages: [paths.held] },
  { name: 'Floor', to: paths.floor, need: 'floor.work', pages: [paths.floor] },
  { name: 'Catalogue', to: paths.catalogue, need: 'catalogue.write', pages: [paths.catalogue] },
  { name: 'Staff', to: paths.staff, need: 'staff.manage', pages: [paths.staff] },
] as const;

type Entry = (typeof entries | typeof houseEntries)[number];

const isHere = (path: string, { to, pages }: Entry): boolean =>
  path === to ||
  (!entries.some((entry) => entry.to === path) &&
    pages.some((page) => path === page || path.startsWith(`${page}/`)));

const Menu = ({ context: { url, path }, here }: { readonly context: Context; readonly here: Here }) => {
  const { org, role, isHouse = false } = here;
  const shown: readonly Entry[] = isHouse ? houseEntries : entries;
  return (
    <nav id="menu" class="tabs" aria-label="Pages" popover="auto">
      <ul>
        {shown
          .filter(({ need }) => may(role, need))
          .map((entry) => (
            <li>
              <a
                href={url(entry.to, { org })}
                {...(isHere(path, entry) && { 'aria-current': 'page' as const })}
              >
                {entry.name}
              </a>
            </li>
          ))}
        {!isHouse && may(role, 'organizations.manage') ? (
          <li>
            <a href={url(paths.house)}>House</a>
          </li>
        ) : null}
      </ul>
    </nav>
  );
};

/** The first letters of a name, for a face. */
const initials = (name: string): string =>
  name
    .split(/\s+/)
    .slice(0, 2)
    .map((word) => [...word][0]?.toUpperCase() ?? '')
    .join('');

const WhoIsHere = ({ context: { visitor, url } }: { readonly context: Context }) => {
  if (visitor.kind === 'anonymous') return <a href={url(paths.signIn)}>Sign in</a>;
  const name = visitor.kind === 'operator' ? 'Operator' : visitor.name;
  return (
    <a href={url(paths.me)}>
      <span class="face" data-initials={initials(name)} />
      <span>{name}</span>
    </a>
  );
};

/** The frame of every page of the console. On a telephone the menu unfolds, without a script. */
const Frame = ({ context, here, children }: FrameProps) => (
  <>
    <header class="top">
      <div class="top-line">
        <Brand to={context.url(context.deps.hasConsole ? paths.start : paths.collection)} />
        {here === null ? null : (
          <a class="org" href={context.url(paths.choose)}>
            <b>{here.name}</b> <span aria-hidden="true">▾</span>
            <span class="hidden">, choose another organization</span>
          </a>
        )}
        <span class="who">{context.deps.hasConsole ? <WhoIsHere context={context} /> : null}</span>
        {here === null ? null : (
          <button type="button" class="second unfold" popovertarget="menu">
            Menu
          </button>
        )}
      </div>
      {here === null ? null : <Menu context={context} here={here} />}
    </header>
    <main id="content" class="page" tabIndex={-1}>
      {context.isRehearsal ? (
        <p class="note warning" role="status">
          This is a copy of the service, for rehearsal: nothing is changed or sent from here.
        </p>
      ) : null}
      {children}
    </main>
    <footer class="foot">
      <p>
        <a href={context.url('/docs')}>Documentation</a> · Request <code>{context.requestId}</code>
      </p>
    </footer>
  </>
);

export const framed = (context: Context, here: Here | null, body: Html): Html => (
  <Frame context={context} here={here}>
    {body}
  </Frame>
);
