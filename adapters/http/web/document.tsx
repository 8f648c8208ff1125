import { render } from 'preact-render-to-string';
import { type AssetName, assetUrl } from './assets.js';
import type { Html } from './prose.js';

interface Page {
  /** The path under which clients see the service, mostly ''. */
  readonly prefix: string;
  readonly title: string;
  readonly body: Html;
  readonly style: AssetName & `${string}.css`;
  /**
   * The modules of `browser/` that make the page nicer. Without them, and without scripts, every page works.
   */
  readonly modules: readonly (AssetName & `${string}.js`)[];
  /** More about the page, for its head. */
  readonly head?: Html;
}

/** An envelope, without asking for another file. */
const icon = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 20"><rect width="20" height="20" rx="5" fill="#3f4bd3"/><path d="m4 7 6 4 6-4v7H4z" fill="none" stroke="#fff" stroke-width="1.5" stroke-linejoin="round"/></svg>',
)}`;

/** A page as a whole HTML document. Everything that it loads comes from this service. */
export const documentOf = ({ prefix, title, body, style, modules, head }: Page): string =>
  `<!doctype html>${render(
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>{title}</title>
        {head}
        <link rel="icon" href={icon} />
        <link rel="stylesheet" href={assetUrl(prefix, style)} />
        {modules.map((module) => (
          <script type="module" src={assetUrl(prefix, module)} />
        ))}
      </head>
      <body>
        <a class="skip" href="#content">
          Skip to content
        </a>
        {body}
      </body>
    </html>,
  )}`;

/** Restrictions on the browser for every page. `posts`: whether the page has forms that change something. */
export const pageHeaders = ({ posts }: { readonly posts: boolean }): Readonly<Record<string, string>> => ({
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "font-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    `trusted-types ${posts ? 'console' : "'none'"}`,
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  // A form of a page without a referrer says `Origin: null`, and then its origin can't be checked.
  'referrer-policy': posts ? 'same-origin' : 'no-referrer',
});

/** The name of the service, with its sign. */
export const Brand = ({ to }: { readonly to: string }) => (
  <a class="brand" href={to}>
    <svg viewBox="0 0 20 20" width="24" height="24" aria-hidden="true">
      <rect width="20" height="20" rx="5" fill="currentColor" />
      <path d="m4 7 6 4 6-4v7H4z" fill="none" stroke="#fff" stroke-width="1.5" stroke-linejoin="round" />
    </svg>
    <span>Handwritten Cards</span>
  </a>
);
