import type { UnknownName } from '../../domain/errors.js';
import type { OrganizationId } from '../../domain/ids.js';
import { nearest } from '../../domain/nearest.js';
import { collectionCards, handwritings } from '../../projections/catalogue.js';
import { organizations } from '../../projections/organizations.js';
import type { ReadModels } from '../ports/read-models.js';

/** How many names of the catalogue, and the newest of how many designs, an unknown one is compared with. */
const maxCompared = 200;

/** Names that may be asked for, and the name to send for each. */
type Offers = ReadonlyMap<string, string>;

const offeredHands = async (readModels: ReadModels): Promise<Offers> => {
  const rows = await readModels.page(handwritings, { org: null, limit: maxCompared });
  const names = rows.flatMap(({ document }) => (document.active ? [document.name] : []));
  return new Map(names.map((name) => [name, name]));
};

/** Designs go by their id, but people know their names. */
const knownDesigns = async (readModels: ReadModels, org: OrganizationId | null): Promise<Offers> => {
  const own = org === null ? null : await readModels.get(organizations, org);
  const offered = { org: null, where: { offered: 'yes' }, limit: maxCompared };
  const cards = await readModels.page(collectionCards, offered);
  return new Map<string, string>([
    ...cards.map(({ document: { slug } }) => [slug, `card:${slug}`] as const),
    ...(own?.document.designs ?? [])
      .slice(0, maxCompared)
      .flatMap(({ id, name }) => [[name, id] as const, [id, id] as const]),
    // Of a copy and its original, which have one title, the original is meant.
    ...cards.map(({ document: { slug, title } }) => [title, `card:${slug}`] as const),
  ]);
};

/** How many names a refusal lists. */
const maxListed = 20;

/**
 * Tells of the names that there are: the one that was probably meant, and all handwritings. Null if nothing
 * is near, or the names can't be read. (decision 66: a refusal of a name proposes another)
 */
export const proposer =
  (readModels: ReadModels) =>
  async ({ code, wanted }: UnknownName, org: OrganizationId | null): Promise<string | null> => {
    try {
      const isHand = code === 'unknown_handwriting';
      const known = isHand ? await offeredHands(readModels) : await knownDesigns(readModels, org);
      const name = nearest(wanted.replace(/^card:/i, ''), known.keys());
      const proposed = name === null ? undefined : known.get(name);
      const meant = proposed === undefined || proposed === wanted ? [] : [`Did you mean \`${proposed}\`?`];
      const all = isHand ? [`On offer: ${[...known.keys()].slice(0, maxListed).join(', ')}.`] : [];
      return [...meant, ...all].join(' ') || null;
    } catch {
      return null;
    }
  };
