import { errorCodes, type ErrorCode } from '../../../domain/errors.js';
import { statusOf } from '../errors.js';
import { errorPages } from './error-pages.js';
import { inline, type Html } from '../web/prose.js';

export const isErrorCode = (code: string): code is ErrorCode => errorCodes.some((known) => known === code);

const notCharged = (status: number): string =>
  status >= 500
    ? 'No. Whatever had been started was rolled back: nothing was charged and nothing was sent.'
    : 'No. The request was refused before anything was created: nothing was charged and nothing was sent.';

/** Codes with their statuses, as a list of links. */
export const errorLinks = (codes: readonly ErrorCode[]): Html => (
  <ul class="codes">
    {codes.map((code) => (
      <li>
        <a href={`/docs/errors/${code}`}>
          <code>{code}</code>
        </a>{' '}
        <span>{statusOf(code)}</span>
      </li>
    ))}
  </ul>
);

const placeNames = { keys: 'Keys', hooks: 'Inbound hooks' } as const;

/** The page about a code. `hasConsole`: whether there are pages to lead to. */
export const errorArticle = (code: ErrorCode, hasConsole: boolean): Html => {
  const { means, next, charged, place } = errorPages[code];
  const status = statusOf(code);
  return (
    <>
      <header class="bar">
        <a href="/docs">Handwritten Card Service</a>
      </header>
      <main id="content" class="narrow">
        <p class="eyebrow">Error, HTTP {status}</p>
        <h1>
          <code>{code}</code>
        </h1>
        <h2>What it means</h2>
        <p>{inline(means)}</p>
        <h2>Was anything charged?</h2>
        <p>{inline(charged ?? notCharged(status))}</p>
        <h2>What to do</h2>
        <p>{inline(next)}</p>
        {place === undefined || !hasConsole ? null : (
          <p>
            <a href={`/console?place=${place}`}>{placeNames[place]} in the console</a>
          </p>
        )}
        <h2>When you ask for help</h2>
        <p>
          Quote the <code>request_id</code> of the response. It is also in the header{' '}
          <code>x-request-id</code>. Never quote your key.
        </p>
        <nav aria-label="More">
          <a href="/docs#errors">All error codes</a>
        </nav>
      </main>
    </>
  );
};
