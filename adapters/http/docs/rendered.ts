import type { Route, TextResponse } from '../server/route.js';
import { jsonType } from '../server/respond.js';
import { sharedDocument, type SharedDocument } from '../server/documents.js';
import { documentOf, pageHeaders } from '../web/document.js';
import { placeOf } from '../web/paths.js';
import { framed } from './frame.js';
import { markdownOf } from './markdown.js';
import { orderOf } from './groups.js';
import type { DocsPage } from './page.js';
import { pagesOf, type Pages } from './pages.js';
import { asMarkdown, homePlace, indexPath, listPaths } from './places.js';
import { searchPage } from './search.js';

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
    if (!pages.has(page) && customersAt !== null) return `${customersAt}${asMarkdown(page)}`;
    const part = anchor === undefined ? null : pages.at(page).parts.find(({ id }) => id === anchor);
    return `${baseUrl}${asMarkdown(page)}${part ? `#${anchorOf(part.title)}` : ''}`;
  });
};

/** Names every page, for programs that read. (llmstxt.org) */
const listOf = ({ context }: Pages): string => {
  const kinds =
    context.customersAt === null ? (['customers', 'operators'] as const) : (['operators'] as const);
  const lines = kinds.flatMap((kind) => [
    `\n## For ${kind}\n`,
    ...orderOf(context, kind).map(
      ({ path, title, about }) => `- [${title}](${context.baseUrl}${asMarkdown(path)}): ${about}`,
    ),
  ]);
  return ['# Handwritten Card Service', '', `> ${homePlace.about}`, ...lines, ''].join('\n');
};

export const drawn = (routes: readonly Route[], baseUrl: string, publicUrl: string) => {
  const pages = pagesOf(routes, baseUrl, publicUrl);
  const made = new Map<string, SharedDocument>();
  const { prefix } = placeOf(baseUrl);
  const make = async (path: string): Promise<SharedDocument> => {
    if (path === indexPath) {
      const index = (await pages.entries()).map(({ entry }) => ({
        ...entry,
        path: `${prefix}${entry.path}`,
      }));
      return sharedDocument(jsonType, JSON.stringify(index));
    }
    if (listPaths.includes(path)) return sharedDocument('text/plain; charset=utf-8', listOf(pages));
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
