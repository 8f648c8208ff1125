import type { ComponentChildren } from 'preact';
import { house } from '../../../domain/members.js';
import { may, type Permission } from '../../../domain/permissions.js';
import { Brand } from '../web/document.js';
import type { Here } from './admit.js';
import type { Context } from './page.js';
import { paths, type PageName } from '../web/paths.js';

interface Entry {
  readonly name: string;
  readonly to: PageName;
  readonly need: Permission;
  /** Pages that belong to it, with the pages below them. */
  readonly pages: readonly PageName[];
}

const entries: readonly Entry[] = [
  { name: 'Home', to: 'home', need: 'cards.read', pages: [] },
  { name: 'Cards', to: 'cards', need: 'cards.read', pages: ['cards', 'card'] },
  { name: 'Send a card', to: 'send', need: 'cards.send', pages: [] },
  { name: 'Contacts', to: 'contacts', need: 'contacts.read', pages: ['contacts'] },
  { name: 'Designs', to: 'designs', need: 'designs.read', pages: ['designs'] },
  {
    name: 'Integrations',
    to: 'keys',
    need: 'integrations.read',
    pages: ['keys', 'hooks', 'webhooks', 'deliveries', 'requests'],
  },
  { name: 'Credits', to: 'credits', need: 'credits.read', pages: ['credits'] },
  { name: 'Settings', to: 'settings', need: 'cards.read', pages: ['settings'] },
];

const houseEntries: readonly Entry[] = [
  { name: 'Organizations', to: 'house', need: 'organizations.manage', pages: [] },
  { name: 'Held', to: 'held', need: 'cards.release', pages: ['held'] },
  { name: 'Floor', to: 'floor', need: 'floor.work', pages: ['floor'] },
  { name: 'Catalogue', to: 'catalogue', need: 'catalogue.write', pages: ['catalogue'] },
  { name: 'Staff', to: 'staff', need: 'staff.manage', pages: ['staff'] },
];

const isHere = (path: string, { to, pages }: Entry): boolean =>
  path === paths[to] ||
  (!entries.some((entry) => paths[entry.to] === path) &&
    pages.some((page) => path === paths[page] || path.startsWith(`${paths[page]}/`)));

const Menu = ({ context: { url, path }, here }: { readonly context: Context; readonly here: Here }) => {
  const { org, role } = here;
  return (
    <nav id="menu" class="tabs" aria-label="Pages" popover="auto">
      <ul>
        {(org === house ? houseEntries : entries)
          .filter(({ need }) => may(role, need))
          .map((entry) => (
            <li>
              <a href={url(entry.to, { org })} aria-current={isHere(path, entry) ? 'page' : undefined}>
                {entry.name}
              </a>
            </li>
          ))}
        {org !== house && may(role, 'organizations.manage') ? (
          <li>
            <a href={url('house')}>House</a>
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
  if (visitor.kind === 'anonymous') return <a href={url('signIn')}>Sign in</a>;
  const name = visitor.kind === 'operator' ? 'Operator' : visitor.name;
  return (
    <a href={url('me')}>
      <span class="face" data-initials={initials(name)} />
      <span>{name}</span>
    </a>
  );
};

interface FrameProps {
  readonly context: Context;
  readonly children: ComponentChildren;
}

/** The frame of every page of the console. On a telephone the menu unfolds, without a script. */
export const Frame = ({ context, children }: FrameProps) => (
  <>
    <header class="top">
      <div class="top-line">
        <Brand to={context.url(context.deps.hasConsole ? 'start' : 'collection')} />
        {context.here === null ? null : (
          <a class="org" href={context.url('choose')}>
            <b>{context.here.name}</b> <span aria-hidden="true">▾</span>
            <span class="hidden">, choose another organization</span>
          </a>
        )}
        <span class="who">{context.deps.hasConsole ? <WhoIsHere context={context} /> : null}</span>
        {context.here === null ? null : (
          <button type="button" class="second unfold" popovertarget="menu">
            Menu
          </button>
        )}
      </div>
      {context.here === null ? null : <Menu context={context} here={context.here} />}
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
