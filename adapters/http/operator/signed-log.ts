import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { assertUndamaged } from '../../../application/log/damaged-log.js';
import { inclusionProof } from '../../../application/log/log-proofs.js';
import { entryBundle, placeOf } from '../../../application/log/log-entries.js';
import type { EventStore } from '../../../application/ports/event-store.js';
import type { LogTiles } from '../../../application/ports/log-tiles.js';
import type { RawLog } from '../../../application/ports/raw-log.js';
import { DomainError } from '../../../domain/errors.js';
import type { StreamName } from '../../../domain/ids.js';
import { hashBytes, hashesAt, tileAt, tileWidth } from '../../../domain/merkle.js';
import { text, unlistedParam } from '../schema/fields.js';
import { examples } from '../schema/shown.js';
import { sharedDocument } from '../server/documents.js';
import { operatorAccess, operatorRoute } from './route.js';
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
