import { errorCodes } from '../../../domain/errors.js';
import { jsonType } from '../server/respond.js';
import { sharedDocument, type SharedDocument } from '../server/documents.js';
import type { Route, TextResponse } from '../server/route.js';
import { documentOf, pageHeaders } from '../web/document.js';
import { placeOf } from '../web/paths.js';
import { errorPage, errorsPage } from './errors.js';
import { eventsPage, recordedPage } from './events.js';
import type { Entry } from './find.js';
import { framed } from './frame.js';
import { groupsOf, orderOf, type Group } from './groups.js';
import { authentication, idempotency, lists } from './guides/calls.js';
import { cards, contacts, hooks } from './guides/cards.js';
import { changelog, clients } from './guides/files.js';
import { quickStart, testing } from './guides/own-machine.js';
import { feeds, webhooks } from './guides/webhooks.js';
import { homePage, operatorPage } from './home.js';
import { markdownOf } from './markdown.js';
import type { Context, DocsPage, Guide } from './page.js';
import * as places from './places.js';
import type { GuideName } from './places.js';
import { referencePage } from './reference.js';
import { entriesOf, searchPage } from './search.js';
import { part } from './text.js';

const guides: Readonly<Record<GuideName, Guide>> = {
  'quick-start': quickStart,
  authentication,
  idempotency,
  cards,
  contacts,
  hooks,
  webhooks,
  feeds,
  lists,
  clients,
  testing,
  changelog,
};

type Maker = readonly [path: string, make: () => DocsPage];

const makersOf = (context: Context): ReadonlyMap<string, () => DocsPage> => {
  const { customers, operators, customersAt, baseUrl } = context;
  const reference =
    (audience: DocsPage['for']) =>
    (group: Group): Maker => [group.path, () => referencePage(group, baseUrl, audience)];
  const guide = (name: (typeof places.guideNames)[number]): Maker => {
    const place = places.guidePlace(name);
    const parts = () =>
      Object.entries(guides[name](context)).map(([id, [title, ...blocks]]) => part(id, title, ...blocks));
    return [place.path, () => ({ ...place, for: 'customers', shape: 'guide', parts: parts() })];
  };
  const forCustomers: readonly Maker[] = [
    [places.homePlace.path, () => homePage(context)],
    ...places.guideNames.map(guide),
    ...customers.map(reference('customers')),
    [places.eventsPlace.path, eventsPage],
  ];
  const forOperators: readonly Maker[] = [
    [places.operatorPlace.path, () => operatorPage(context)],
    ...operators.map(reference('operators')),
    [places.recordedPlace.path, () => recordedPage(baseUrl)],
  ];
  return new Map([
    ...(customersAt === null ? forCustomers : []),
    [places.errorsPlace.path, () => errorsPage(context)],
    ...errorCodes.map((code): Maker => [
      `${places.errorsPlace.path}/${code}`,
      () => errorPage(code, context),
    ]),
    ...(operators.length === 0 ? [] : forOperators),
  ]);
};

/**
 * The pages about a table of routes, on a service that is at `baseUrl`, each made when it is asked for.
 * Without customers' pages, the operators' begin with the page about operators; customers' pages are at
 * `publicUrl`.
 */
const pagesOf = (routes: readonly Route[], baseUrl: string, publicUrl: string) => {
  const groups = groupsOf(routes);
  const isApart = groups.customers.length === 0;
  const context: Context = {
    baseUrl,
    customersAt: isApart ? publicUrl : null,
    shared: isApart ? 'operators' : 'customers',
    hasConsole: routes.some(({ path }) => path === '/console'),
    ...groups,
  };
  const makers = makersOf(context);
  const at = (path: string): DocsPage => {
    const make = makers.get(
      path === places.homePlace.path && context.customersAt !== null ? places.operatorPlace.path : path,
    );
    if (make === undefined) throw new Error(`There is no page at ${path}.`);
    return make();
  };
  let known: Promise<readonly Entry[]> | null = null;
  return {
    context,
    has: (path: string): boolean =>
      makers.has(path) || path === places.homePlace.path || path === places.searchPath,
    at,
    /** The search index. */
    entries: (): Promise<readonly Entry[]> =>
      (known ??= entriesOf([...makers.values()]).catch((error: unknown) => {
        // The next reader tries again.
        known = null;
        throw error;
      })),
  };
};

type Pages = ReturnType<typeof pagesOf>;

/** The text of a page leads from the root of the service, wherever clients see that. */
const below = (prefix: string, html: string): string =>
  prefix === '' ? html : html.replaceAll(/ (href|src|action|data-path|data-index)="\//g, ` $1="${prefix}/`);

/** Redirects links to pages that are served elsewhere. */
const led = (html: string, { has, context: { customersAt } }: Pages): string =>
  customersAt === null
    ? html
    : html.replaceAll(/ href="(\/docs[^"#]*)/g, (link, path: string) =>
        has(path.replace(/\.md$/, '')) ? link : ` href="${customersAt}${path}`,
      );

const headers = pageHeaders({ posts: false });

const titleOf = ({ title, shape }: DocsPage): string =>
  shape === 'home' ? 'Handwritten Card Service: documentation' : `${title} · Handwritten Card Service`;

const htmlOf = (page: DocsPage, pages: Pages, query?: string): string => {
  const { context } = pages;
  const { prefix } = placeOf(context.baseUrl);
  const shared = ['reader.js', 'pages.js'] as const;
  const modules = page.shape === 'reference' ? ([...shared, 'docs.js'] as const) : shared;
  const body = framed(page, context, query);
  const html = documentOf({ prefix: '', title: titleOf(page), body, style: 'docs.css', modules });
  return below(prefix, led(html, pages));
};

const htmlType = 'text/html; charset=utf-8';
const markdownType = 'text/markdown; charset=utf-8';

/** The anchor that renderers of Markdown give to a heading. */
const anchorOf = (title: string): string =>
  title
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-');

/**
 * A page as Markdown. It is read anywhere, so its links are absolute; links to pages lead to their Markdown.
 */
const markdownAt = (path: string, pages: Pages): string => {
  const { baseUrl, customersAt } = pages.context;
  return markdownOf(pages.at(path), (href) => {
    const [page = '', anchor] = href.split('#');
    if (page === '') return `${baseUrl}${path}#${anchor}`;
    if (!page.startsWith('/docs')) return page.startsWith('/') ? `${baseUrl}${href}` : href;
    if (!pages.has(page) && customersAt !== null) return `${customersAt}${places.asMarkdown(page)}`;
    const part = anchor === undefined ? null : pages.at(page).parts.find(({ id }) => id === anchor);
    return `${baseUrl}${places.asMarkdown(page)}${part ? `#${anchorOf(part.title)}` : ''}`;
  });
};

/** Names every page, for programs that read. (llmstxt.org) */
const listOf = ({ context }: Pages): string => {
  const kinds =
    context.customersAt === null ? (['customers', 'operators'] as const) : (['operators'] as const);
  const lines = kinds.flatMap((kind) => [
    `\n## For ${kind}\n`,
    ...orderOf(context, kind).map(
      ({ path, title, about }) => `- [${title}](${context.baseUrl}${places.asMarkdown(path)}): ${about}`,
    ),
  ]);
  return ['# Handwritten Card Service', '', `> ${places.homePlace.about}`, ...lines, ''].join('\n');
};

export const drawn = (routes: readonly Route[], baseUrl: string, publicUrl: string) => {
  const pages = pagesOf(routes, baseUrl, publicUrl);
  const made = new Map<string, SharedDocument>();
  const { prefix } = placeOf(baseUrl);
  const make = async (path: string): Promise<SharedDocument> => {
    if (path === places.indexPath) {
      const index = (await pages.entries()).map((entry) => ({ ...entry, path: `${prefix}${entry.path}` }));
      return sharedDocument(jsonType, JSON.stringify(index));
    }
    if (places.listPaths.includes(path)) return sharedDocument('text/plain; charset=utf-8', listOf(pages));
    return path.endsWith('.md')
      ? sharedDocument(markdownType, markdownAt(path.slice(0, -'.md'.length), pages))
      : sharedDocument(htmlType, htmlOf(pages.at(path), pages), headers);
  };
  return {
    /** A document that is the same for every reader; it is made when it is first asked for. */
    document: async (path: string): Promise<SharedDocument> => {
      const document = made.get(path) ?? (await make(path));
      made.set(path, document);
      return document;
    },
    search: async (query: string): Promise<TextResponse> => {
      const page = searchPage(await pages.entries(), query, pages.context);
      return { type: htmlType, text: htmlOf(page, pages, query), headers };
    },
  };
};

export type Drawn = ReturnType<typeof drawn>;
