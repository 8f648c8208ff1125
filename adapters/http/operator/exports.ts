import { z } from 'zod';
import { organizationOf } from '../../../application/organizations/administer.js';
import {
  exportLog,
  type ExportDeps,
  type ExportSubject,
  type ExportBound,
} from '../../../application/log/export.js';
import { codeFrom } from '../../../application/cards/read-cards.js';
import { DomainError } from '../../../domain/errors.js';
import { OrganizationId } from '../../../domain/ids.js';
import { optionalChoice, optionalText } from '../schema/fields.js';
import { examples } from '../schema/shown.js';
import { byOperator, operatorAccess, operatorRoute } from './route.js';
import { placeFrom } from '../api/as-of.js';
import type { Route } from '../server/route.js';

const treeSize = /^[0-9]{1,15}$/;

const wanted = z.object({
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
type Wanted = z.output<typeof wanted>;

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
    query: wanted,
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
