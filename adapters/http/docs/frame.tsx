import { Brand } from '../web/document.js';
import type { Html } from '../web/prose.js';
import { orderOf } from './groups.js';
import type { Context, DocsPage, Part } from './page.js';
import * as places from './places.js';
import type { Place } from './places.js';

interface PageProps {
  readonly page: DocsPage;
}

type InContext = PageProps & { readonly context: Context };
type LinksProps = PageProps & { readonly label: string; readonly places: readonly Place[] };

/** Pages below a heading; the page that is shown has its parts below it. */
const Links = ({ label, places, page }: LinksProps) => (
  <>
    <p class="group">{label}</p>
    <ul>
      {places.map((place) => (
        <li>
          <a href={place.path} aria-current={place.path === page.path ? 'page' : undefined}>
            {place.title}
          </a>
          {place.path === page.path && page.shape === 'reference' ? <Parts page={page} /> : null}
        </li>
      ))}
    </ul>
  </>
);

const Parts = ({ page }: PageProps) => (
  <ul class="parts">
    {page.parts.map(({ id, title }) => (
      <li>
        <a href={`#${id}`}>{title.split(/[,;]/)[0]}</a>
      </li>
    ))}
  </ul>
);

const Side = ({ page, context }: InContext) => (
  <nav id="contents" class="side" aria-label="Documentation" popover="auto">
    {page.for === 'customers' ? (
      <>
        <Links label="Guides" places={places.guideNames.map(places.guidePlace)} page={page} />
        <Links
          label="Reference"
          places={[...context.customers, places.errorsPlace, places.eventsPlace]}
          page={page}
        />
        {context.operators.length === 0 ? null : (
          <p class="aside">
            <a href={places.operatorPlace.path}>{places.operatorPlace.title}</a>
          </p>
        )}
      </>
    ) : (
      <>
        <p class="aside">
          <a href={`${context.customersAt ?? ''}${places.homePlace.path}`}>For customers</a>
        </p>
        <Links label="Operators" places={orderOf(context, 'operators')} page={page} />
      </>
    )}
  </nav>
);

const Find = ({ query }: { readonly query: string }) => (
  <form class="find" role="search" action={places.searchPath} method="get">
    <label class="hidden" for="q">
      Search the documentation
    </label>
    <input
      id="q"
      name="q"
      type="search"
      placeholder="Search"
      value={query}
      autocomplete="off"
      data-index={places.indexPath}
    />
    <div id="found" class="found" hidden></div>
    <p id="found-count" class="hidden" role="status"></p>
  </form>
);

const Top = ({ context, query }: { readonly context: Context; readonly query: string }) => (
  <header class="top">
    <div class="top-line">
      <Brand to={places.homePlace.path} />
      <a class="docs-home" href={places.homePlace.path}>
        Docs
      </a>
      <Find query={query} />
      {context.hasConsole ? (
        <a class="to-console" href="/console">
          Console
        </a>
      ) : null}
      <button type="button" class="second unfold" popovertarget="contents">
        Menu
      </button>
    </div>
  </header>
);

/** Leads to the pages before and after. */
const Around = ({ page, context }: InContext) => {
  const order = orderOf(context, page.for);
  const at = order.findIndex(({ path }) => path === page.path);
  const [before, after] = at < 0 ? [] : [order[at - 1], order[at + 1]];
  if (before === undefined && after === undefined) return null;
  return (
    <nav class="around" aria-label="Previous and next page">
      {before === undefined ? null : (
        <a href={before.path} rel="prev">
          <span>Previous</span> {before.title}
        </a>
      )}
      {after === undefined ? null : (
        <a class="next" href={after.path} rel="next">
          <span>Next</span> {after.title}
        </a>
      )}
    </nav>
  );
};

const OnThisPage = ({ page }: PageProps) => (
  <nav class="toc" aria-label="On this page">
    <p class="group" aria-hidden="true">
      On this page
    </p>
    <Parts page={page} />
  </nav>
);

const machinesFor = (page: DocsPage): readonly string[] => [
  page.for === 'operators' ? '/operator/openapi.json' : '/api/openapi.json',
  '/asyncapi.json',
];

/** A part below its heading, which is a link to itself. */
const Section = ({ id, title, body }: Part) => (
  <section id={id}>
    <h2>
      <a class="anchor" href={`#${id}`}>
        {title}
      </a>
    </h2>
    {body}
  </section>
);

/** The frame of every page of the documentation. On a telephone the contents unfold without scripts. */
export const framed = (page: DocsPage, context: Context, query = ''): Html => (
  <>
    <Top context={context} query={query} />
    <div class={`columns ${page.shape}`}>
      <Side page={page} context={context} />
      <main id="content" tabIndex={-1}>
        <header class="title">
          <h1>{page.isCode === true ? <code>{page.title}</code> : page.title}</h1>
          <p class="about">
            {page.about}
            {page.path === places.searchPath ? null : (
              <>
                <br />
                <a class="hint" href={places.asMarkdown(page.path)} data-markdown>
                  Markdown
                </a>
              </>
            )}
          </p>
        </header>
        {page.lead}
        {page.parts.map(Section)}
        <Around page={page} context={context} />
        <footer class="foot">
          <p>
            For machines:{' '}
            {machinesFor(page).map((path) => (
              <>
                <a href={path}>{path}</a>{' '}
              </>
            ))}
          </p>
        </footer>
      </main>
      {page.shape === 'guide' && page.parts.length > 1 ? <OnThisPage page={page} /> : null}
    </div>
  </>
);
