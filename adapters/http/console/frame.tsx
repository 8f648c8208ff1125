import type { ComponentChildren } from 'preact';
import { may, type Role } from '../../../domain/permissions.js';
import type { Html } from '../web/prose.js';
import type { Context } from './page.js';
import { paths } from './paths.js';

/** The organization whose pages are shown, for the menu. */
export interface Here {
  readonly org: string;
  readonly name: string;
  readonly role: Role;
}

interface FrameProps {
  readonly context: Context;
  readonly here: Here | null;
  readonly children: ComponentChildren;
}

const Menu = ({ context: { url }, here }: { readonly context: Context; readonly here: Here }) => {
  const { org, role } = here;
  const entries = [
    { name: 'Home', to: paths.home, need: 'cards.read' },
    { name: 'Cards', to: paths.cards, need: 'cards.read' },
    { name: 'Integrations', to: paths.keys, need: 'integrations.read' },
  ] as const;
  return (
    <nav aria-label="Pages">
      <ul class="tabs">
        {entries
          .filter(({ need }) => may(role, need))
          .map(({ name, to }) => (
            <li>
              <a href={url(to, { org })}>{name}</a>
            </li>
          ))}
      </ul>
    </nav>
  );
};

const WhoIsHere = ({ context: { visitor, url } }: { readonly context: Context }) => {
  if (visitor.kind === 'nobody') return <a href={url(paths.signIn)}>Sign in</a>;
  return <a href={url(paths.me)}>{visitor.kind === 'operator' ? 'Operator' : visitor.name}</a>;
};

/** What stands around every page of the console. */
export const Frame = ({ context, here, children }: FrameProps) => (
  <>
    <header class="top">
      <div class="top-line">
        <a class="brand" href={context.url(paths.start)}>
          Handwritten Cards
        </a>
        {here === null ? null : (
          <a class="org" href={context.url(paths.choose)}>
            {here.name} <span aria-hidden="true">▾</span>
            <span class="hidden">, choose another organization</span>
          </a>
        )}
        <span class="who">
          <WhoIsHere context={context} />
        </span>
      </div>
      {here === null ? null : <Menu context={context} here={here} />}
    </header>
    <main id="content" class="page" tabIndex={-1}>
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
