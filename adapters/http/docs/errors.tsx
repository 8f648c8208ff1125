import { errorCodes, type ErrorCode } from '../../../domain/errors.js';
import { errorBody, statusOf } from '../server/errors.js';
import { examples } from '../schema/shown.js';
import type { Html } from '../web/prose.js';
import { Json } from './code.js';
import { errorPages } from '../document/error-pages.js';
import { firstRefusal } from '../document/first-card.js';
import { type Context, type DocsPage } from './page.js';
import { errorsPlace } from './places.js';
import { grid, part, text } from './text.js';

const notCharged = (status: number): string =>
  status >= 500
    ? 'No. Whatever had been started was rolled back: nothing was charged and nothing was sent.'
    : 'No. The request was refused before anything was created: nothing was charged and nothing was sent.';

const final = new Set<ErrorCode>(['too_late_to_cancel', 'revoked_key', 'invalid_hook', 'rehearsal']);

/** Whether to try again, in a few words. */
const retryOf = (code: ErrorCode): string => {
  const status = statusOf(code);
  if (code === 'rate_limited' || code === 'request_in_progress') return 'After `Retry-After` seconds.';
  if (code === 'no_credits') return 'After adding credits.';
  if (final.has(code)) return 'No.';
  if (code === 'log_damaged') return 'Later.';
  if (status >= 500) return 'Yes, as it is.';
  if (status === 401) return 'With another key.';
  return 'After a correction.';
};

const chargedOf = (code: ErrorCode): string => (errorPages[code].charged ?? 'No.').split(/[.,:]/)[0] ?? '';

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

const rowOf = (code: ErrorCode): readonly string[] => [
  `[\`${code}\`](/docs/errors/${code})`,
  String(statusOf(code)),
  errorPages[code].means,
];

/** Codes with their statuses and meanings, as a table. */
export const errorGrid = (label: string, codes: readonly ErrorCode[]): Html =>
  grid(label, ['Code', 'Status', 'Means'], codes.map(rowOf));

const groups: readonly (readonly [id: string, title: string, least: number, most: number])[] = [
  ['requests', 'The request', 400, 400],
  ['credentials', 'Credentials, credits, rate', 401, 403],
  ['missing-things', 'Things that are not there', 404, 405],
  ['states', 'States, sizes and types', 409, 415],
  ['values', 'Values', 422, 422],
  ['rates', 'Too many requests', 429, 429],
  ['service', 'The service', 500, 599],
];

const byStatus = errorCodes.toSorted((a, b) => statusOf(a) - statusOf(b));

/** Every code in a few words, by status. */
export const errorsPage = (context: Context): DocsPage => ({
  ...errorsPlace,
  for: context.shared,
  shape: 'guide',
  lead: text(
    'Switch on `code`: it is stable. `message` is for people and may change, `param` names the field at fault if there is one, and `docs` leads to the page about the code.',
    <Json value={errorBody(firstRefusal(), context.baseUrl, examples.request)} />,
    '**A request that gets a 4xx makes nothing and charges nothing. After any 500 it is safe to try again.**',
  ),
  parts: groups.map(([id, title, least, most]) =>
    part(
      id,
      title,
      grid(
        title,
        ['Code', 'Status', 'Means', 'Charged', 'Try again'],
        byStatus
          .filter((code) => statusOf(code) >= least && statusOf(code) <= most)
          .map((code) => [...rowOf(code), chargedOf(code), retryOf(code)]),
      ),
    ),
  ),
});

const placeNames = { keys: 'Keys', hooks: 'Inbound hooks' } as const;

export const errorPage = (code: ErrorCode, context: Context): DocsPage => {
  const { means, next, charged, place } = errorPages[code];
  const status = statusOf(code);
  return {
    path: `/docs/errors/${code}`,
    title: code,
    isCode: true,
    about: `Error, HTTP ${status}`,
    for: context.shared,
    shape: 'plain',
    parts: [
      part('means', 'What it means', means),
      part('charged', 'Was anything charged?', charged ?? notCharged(status)),
      part(
        'next',
        'What to do',
        next,
        place !== undefined && context.hasConsole
          ? `[${placeNames[place]} in the console](/console?place=${place})`
          : null,
      ),
      part(
        'help',
        'When you ask for help',
        'Quote the `request_id` of the response. It is also in the header `x-request-id`. Never quote your key.',
        `[All error codes](${errorsPlace.path})`,
      ),
    ],
  };
};
