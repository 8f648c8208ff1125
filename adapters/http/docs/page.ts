import { sharedDocument, type SharedDocument } from '../documents.js';
import { html, type Html } from './html.js';

const contentSecurityPolicy = [
  "default-src 'none'",
  "style-src 'self'",
  "script-src 'self'",
  "connect-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** A page of the documentation. Everything that it loads comes from this service. */
export const page = (
  title: string,
  body: Html,
  { script = false }: { readonly script?: boolean } = {},
): SharedDocument =>
  sharedDocument(
    'text/html; charset=utf-8',
    html`<!doctype html>
      <html lang="en">
        <head>
          <meta charset="utf-8" />
          <meta name="viewport" content="width=device-width, initial-scale=1" />
          <meta name="color-scheme" content="light dark" />
          <title>${title}</title>
          <link rel="icon" href="data:," />
          <link rel="stylesheet" href="/docs/docs.css" />
          ${script ? html`<script src="/docs/docs.js" defer></script>` : null}
        </head>
        <body>
          <a class="skip" href="#content">Skip to content</a>
          ${body}
        </body>
      </html> `.html,
    { 'content-security-policy': contentSecurityPolicy, 'referrer-policy': 'no-referrer' },
  );
