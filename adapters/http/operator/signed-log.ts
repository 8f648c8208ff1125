import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { codeFrom } from '../../../application/cards/read-cards.js';
import { assertUndamaged } from '../../../application/log/damaged-log.js';
import {
  exportLog,
  type ExportBound,
  type ExportDeps,
  type ExportSubject,
} from '../../../application/log/export.js';
import { inclusionProof } from '../../../application/log/log-proofs.js';
import { entryBundle, placeOf } from '../../../application/log/log-entries.js';
import { organizationOf } from '../../../application/organizations/administer.js';
import type { EventStore } from '../../../application/ports/event-store.js';
import type { LogTiles } from '../../../application/ports/log-tiles.js';
import type { RawLog } from '../../../application/ports/raw-log.js';
import { DomainError } from '../../../domain/errors.js';
import { OrganizationId, type StreamName } from '../../../domain/ids.js';
import { hashBytes, hashesAt, tileAt, tileWidth } from '../../../domain/merkle.js';
import { placeFrom } from '../api/as-of.js';
import { optionalChoice, optionalText, text, unlistedParam } from '../schema/fields.js';
import { examples } from '../schema/shown.js';
import { sharedDocument } from '../server/documents.js';
import { byOperator, operatorAccess, operatorRoute } from './route.js';
import { pathParameters, route, type BytesResponse, type Route } from '../server/route.js';

export interface LogRouteDeps {
  readonly tiles: LogTiles;
  readonly raw: RawLog;
  readonly store: Pick<EventStore, 'positionBefore'>;
  /** The keys that checkpoints are checked with; none if this process doesn't know them. */
  readonly vkeys: readonly string[];
  /** Whether checkpoints and hashes are public. */
  readonly isPublic: boolean;
}

const plain = (text: string) => ({ type: 'text/plain; charset=utf-8', text });
/** Immutable files may be cached forever. */
const forever = { 'cache-control': 'public, max-age=31536000, immutable' };

const whole = /^(0|[1-9][0-9]{0,14})$/;
const number = (description: string) =>
  text(description, '0', { code: 'invalid_parameter', pattern: whole, hint: 'a whole number' });

const newestOf = async (tiles: LogTiles) => {
  await assertUndamaged(tiles);
  const newest = await tiles.newest();
  if (newest === null) throw new DomainError('not_found', 'The log has no signed checkpoint yet.');
  return newest;
};

const noTile = () => new DomainError('not_found', 'The log has no such tile.');

/** A full tile, or the requested part of the last one; only as far as a checkpoint covers. */
const tileOf = async (deps: LogRouteDeps, path: string): Promise<BytesResponse> => {
  const { tiles, isPublic } = deps;
  const tile = tileAt(path);
  if (tile === null) throw noTile();
  const { level, n, width } = tile;
  const { size } = await newestOf(tiles);
  const wanted = n * tileWidth + width;
  if (wanted > hashesAt(level === 'entries' ? 0 : level, size)) throw noTile();
  const bytes =
    level === 'entries' ? await entryBundle(deps, n, width) : await tiles.hashes(level, n * tileWidth, width);
  if (level !== 'entries' && bytes.length !== width * hashBytes) throw noTile();
  const mayBeKept = isPublic && level !== 'entries';
  return { type: 'application/octet-stream', bytes, ...(mayBeKept && { headers: forever }) };
};

/** A tile's path has two to six parts: its level, its number in groups of three digits, and its width. */
const tilePaths = (
  deps: LogRouteDeps,
  level: ':level' | 'entries',
  access: Route['access'],
): readonly Route[] =>
  [':a', ':b', ':c', ':d', ':e'].map((_, at, segments) => {
    const path = `tile/${level}/${segments.slice(0, at + 1).join('/')}`;
    return route(`GET /log/${path}`, {
      id: `getTile${level === ':level' ? '' : 'OfEntries'}${at + 1}`,
      summary: 'Read a tile of the log',
      access,
      params: z.object(Object.fromEntries(pathParameters(path).map((name) => [name, unlistedParam]))),
      hidden: true,
      handle: ({ params }) =>
        tileOf(
          deps,
          path.replaceAll(/:(\w+)/g, (__, name: string) => params[name] ?? ''),
        ),
    });
  });

const base64 = (hash: Buffer): string => hash.toString('base64');

/** Files for auditors: checkpoints, keys, tiles and proofs. (docs/exports.md#tiles-and-proofs) */
export const logRoutes = (deps: LogRouteDeps): readonly Route[] => {
  const { tiles, vkeys, isPublic } = deps;
  // For everyone: it needs nothing else.
  const program = readFileSync(new URL('../../log-verifier/verify.mjs', import.meta.url), 'utf8');
  const verifier = sharedDocument('text/javascript; charset=utf-8', program);
  const open = isPublic ? ({ kind: 'public' } as const) : operatorAccess;
  const operation = (id: string, summary: string) => ({
    id,
    summary,
    tags: ['log'],
    responses: { 200: { description: 'Success.', schema: null, type: 'text/plain' } },
    errors: ['not_found', 'log_damaged'] as const,
  });
  return [
    route('GET /log/checkpoint', {
      access: open,
      ...operation('getCheckpoint', 'Read the newest signed head of the log'),
      handle: async () => plain((await newestOf(tiles)).note),
    }),
    route('GET /log/key', {
      access: open,
      ...operation('getLogKey', 'Read the keys that checkpoints are checked with, one per line'),
      handle: async () => {
        if (vkeys.length === 0)
          throw new DomainError('not_found', 'This process does not have the keys of the log.');
        return plain(vkeys.map((vkey) => `${vkey}\n`).join(''));
      },
    }),
    route('GET /log/verify.mjs', {
      id: 'getVerifier',
      summary: 'The program that checks exports',
      access: { kind: 'public' },
      failure: 'internal_error',
      hidden: true,
      handle: () => Promise.resolve({ document: verifier }),
    }),
    ...tilePaths(deps, 'entries', operatorAccess),
    ...tilePaths(deps, ':level', open),
    operatorRoute('GET /log/proof', {
      id: 'getLogProof',
      summary: 'Prove that an event stands in the log',
      access: operatorAccess,
      query: z.object({
        stream: text('The stream of the event.', `card-${examples.card}`, {
          code: 'invalid_parameter',
          maxLength: 500,
        }),
        revision: number('The number of the event in its stream, from 0.'),
      }),
      responses: {
        200: {
          description:
            'A proof as c2sp.org/tlog-proof@v1 describes it: its extra data is the entry, and it ends with the checkpoint.',
          schema: null,
          type: 'text/plain',
        },
      },
      errors: ['not_found', 'log_damaged'],
      handle: async ({ query }) => {
        const { size, note } = await newestOf(tiles);
        const place = await placeOf(deps, query.stream as StreamName, Number(query.revision));
        if (place === null || place.index >= size)
          throw new DomainError('not_found', 'The signed log has no such event yet.');
        const proof = await inclusionProof(tiles, place.index, size);
        const lines = [
          'c2sp.org/tlog-proof@v1',
          `extra ${base64(place.entry)}`,
          `index ${place.index}`,
          ...proof.map(base64),
        ];
        return plain(`${lines.join('\n')}\n\n${note}`);
      },
    }),
  ];
};

const treeSize = /^[0-9]{1,15}$/;

const exportQuery = z.object({
  card: optionalText('Every event of the card with this code.', examples.card, { maxLength: 100 }),
  organization: optionalText(
    'Every event of the organization with this id; with `from` or `to`, those of the period.',
    examples.organization,
    { maxLength: 100 },
  ),
  from: optionalText(
    'The beginning of a period: events after this position, or from this time on (ISO 8601). Of other organizations only the hashes are shown, if `organization` is given.',
    '2026-03-01T00:00:00Z',
    { maxLength: 40 },
  ),
  to: optionalText(
    'The end of a period: up to this position, or before this time. It ends with the first checkpoint at or after it.',
    '2026-04-01T00:00:00Z',
    { maxLength: 40 },
  ),
  personal: optionalChoice(
    ['include', 'withhold'],
    'Whether personal data is shown. Not, if it is left out.',
  ),
  artwork: optionalChoice(
    ['include', 'withhold'],
    'Whether the print masters of fronts are shown. Not, if it is left out.',
  ),
  since: optionalText(
    'The size in an older checkpoint, for the proof that it is a prefix of the log.',
    '1042',
    { pattern: treeSize, hint: 'the size of a tree: a whole number' },
  ),
});
type Wanted = z.output<typeof exportQuery>;

const alone = (name: string): DomainError =>
  new DomainError('invalid_parameter', 'Ask for a `card`, or an `organization`, or a period.', name);

const subjectOf = async (
  { store }: ExportDeps,
  { card, organization, from, to }: Wanted,
): Promise<ExportSubject> => {
  const momentOf = async (text: string | null, name: 'from' | 'to'): Promise<ExportBound | null> => {
    const place = text === null ? null : await placeFrom(store, text, name);
    return place && ('position' in place ? place.position : place.time);
  };
  const org = organization === null ? null : OrganizationId.parse(organization);
  if (card !== null) {
    if (org !== null) throw alone('organization');
    if (from !== null || to !== null) throw alone(from === null ? 'to' : 'from');
    return { kind: 'card', code: codeFrom(card) };
  }
  if (from !== null || to !== null)
    return { kind: 'period', org, from: await momentOf(from, 'from'), to: await momentOf(to, 'to') };
  if (org === null) throw alone('card');
  return { kind: 'organization', org };
};

/** Exports for the operator: events, with proofs for third parties. */
export const exportRoutes = (deps: ExportDeps): readonly Route[] => [
  operatorRoute('GET /exports', {
    id: 'exportEvents',
    summary: 'Take out events with proofs that they are what was recorded; the export itself is recorded',
    access: operatorAccess,
    // It signs, and records itself.
    rehearses: false,
    query: exportQuery,
    responses: {
      200: {
        description:
          'One JSON object on each line: what it is, the events, and at the end checkpoint and statement. A response without that last line was broken off.',
        schema: null,
        type: 'application/jsonl',
      },
    },
    errors: ['card_not_found', 'not_found', 'log_damaged'],
    handle: async (request) => {
      const subject = await subjectOf(deps, request.query);
      if (subject.kind !== 'card' && subject.org !== null) await organizationOf(deps, subject.org);
      const { personal, artwork, since } = request.query;
      const shown = { personal: personal === 'include', artwork: artwork === 'include' };
      const options = { ...shown, since: since === null ? null : Number(since) };
      const lines = await exportLog(deps, byOperator(request), subject, options, request.signal);
      return { type: 'application/jsonl', lines };
    },
  }),
];
