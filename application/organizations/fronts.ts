import { z } from 'zod';
import { count, Front, printFault } from '../../domain/artwork.js';
import { DomainError } from '../../domain/errors.js';
import { assertRoom } from '../../domain/organization.js';
import { house } from '../../domain/members.js';
import { derivedUuid, Uuid, type Milliseconds, type OrganizationId } from '../../domain/ids.js';
import type { Artwork, PictureMaker } from '../ports/artwork.js';
import type { ImportRecords } from '../ports/records.js';
import type { Initiator } from '../writing/execute.js';
import { addDesign, organizationOf, publishCollectionCard, type DesignDeps } from './administer.js';

export interface FrontDeps extends DesignDeps {
  readonly artwork: Artwork;
  readonly pictureMaker: PictureMaker;
  readonly importRecords: ImportRecords;
}

/** How long a picture that was uploaded waits to be saved. */
export const waitsFor: Milliseconds = 30 * 60 * 1000;
/** Of the file that is uploaded. */
export const pictureLimit = {
  bytes: 25_000_000,
  tooLarge: 'The picture is larger than 25 MB. Save it as JPEG, and upload that.',
};
/** Of the print masters of an organization, waiting ones included. */
const maxBytes = 1_000_000_000;
/** For a picture whose masters are not made yet. */
const bytesReserved = 20_000_000;

/** A picture that was uploaded, and its fronts that may be printed; none until they are made. */
const UploadedFront = z.object({
  name: z.string(),
  /** Of the collection card that it is for; null for a design. */
  slug: z.string().nullable(),
  fronts: z.array(Front),
});
export type UploadedFront = z.infer<typeof UploadedFront>;

/** The pictures of copies of collection cards cost an organization nothing. Throws `too_many_designs`. */
const assertPictureRoom = async (deps: FrontDeps, org: OrganizationId): Promise<void> => {
  const owner = org === house ? null : await organizationOf(deps, org);
  if (owner !== null) assertRoom(owner, 'file');
  const records = await deps.importRecords.listOf('front', org);
  const waiting = records.map(({ data }) => UploadedFront.parse(data).fronts);
  const saved = (owner?.designs ?? []).flatMap(({ slug, artwork }) =>
    slug === null && artwork !== null ? [artwork] : [],
  );
  const distinct = new Map([...saved, ...waiting.flat()].map(({ digest, bytes }) => [digest, bytes]));
  const unmade = waiting.filter((fronts) => fronts.length === 0).length;
  const bytes = [...distinct.values()].reduce((sum, each) => sum + each, unmade * bytesReserved);
  if (bytes > maxBytes)
    throw new DomainError(
      'too_many_designs',
      `The pictures of your designs may take ${count(maxBytes / 1_000_000)} MB. Erase some that are not used any more; uploads that are not saved count for 30 minutes.`,
      'file',
    );
};

const piecesOf = async (file: AsyncIterable<Buffer>): Promise<readonly Buffer[]> => {
  const pieces: Buffer[] = [];
  for await (const piece of file) pieces.push(piece);
  return pieces;
};

/**
 * Makes the fronts of a picture, and keeps them for `waitsFor`. With a slug it is for a collection card, and
 * the house's. The file has its limit from who reads it. Throws `too_many_designs` before any of it is read,
 * and `invalid_body` for a picture that can't be printed.
 */
export const uploadFront = async (
  deps: FrontDeps,
  org: OrganizationId,
  name: string,
  file: AsyncIterable<Buffer>,
  slug: string | null = null,
): Promise<Uuid> => {
  const { artwork, clock, entropy, importRecords, pictureMaker } = deps;
  const id = Uuid.parse(entropy.uuid());
  const record = (fronts: readonly Front[]) => ({
    data: { name, slug, fronts },
    ends: clock.now() + waitsFor,
  });
  await importRecords.add({ kind: 'front', id, owner: org, ...record([]) });
  try {
    // Counted with this one, so that of several at once none is overlooked.
    await assertPictureRoom(deps, org);
    const made = await pictureMaker.make(await piecesOf(file));
    const faults = made.map((front) => printFault(front, front.fit));
    const good = made.filter((_, at) => faults[at]?.isRefused !== true);
    if (good.length === 0)
      throw new DomainError('invalid_body', `${faults.at(-1)?.text ?? ''} Upload a larger picture.`, 'file');
    for (const { digest, pictures } of good) await artwork.put(digest, pictures);
    const found = await importRecords.find('front', id);
    if (found !== null) await importRecords.change(found, record(good.map((front) => Front.parse(front))));
    return id;
  } catch (error) {
    await importRecords.remove('front', id).catch(() => undefined);
    throw error;
  }
};

/** A picture that waits to be saved; null for any other id. Throws ImportsUnavailable. */
export const findFront = async (
  { importRecords }: Pick<FrontDeps, 'importRecords'>,
  org: OrganizationId,
  id: string,
): Promise<UploadedFront | null> => {
  const record = await importRecords.find('front', id);
  return record?.owner === org ? UploadedFront.parse(record.data) : null;
};

const notKept = (): DomainError =>
  new DomainError('not_found', 'This picture is not kept any more. Upload it again.');

/** Keeps it from being removed as unused for as long as an event may take. Throws `not_found`. */
const keep = async ({ artwork }: FrontDeps, { digest }: Front): Promise<void> => {
  if (!(await artwork.renew(digest))) throw notKept();
};

/**
 * Saves a picture that waits as a design, or publishes its collection card with it; a repeat saves nothing
 * and gives false, the other fit a second design.
 * Throws `not_found`, also if the picture was removed before its event came, and `invalid_parameter`.
 */
export const saveFront = async (
  deps: FrontDeps,
  initiator: Initiator,
  org: OrganizationId,
  id: string,
  fit: string,
): Promise<boolean> => {
  const found = await findFront(deps, org, id);
  if (found === null) throw notKept();
  const front = found.fronts.find((each) => each.fit === fit);
  if (front === undefined)
    throw new DomainError('invalid_parameter', 'Choose how the picture comes on the card.', 'fit');
  const { name, slug } = found;
  const design = derivedUuid('design of a picture', org, id, fit);
  let made = true;
  await keep(deps, front);
  if (slug === null) ({ made } = await addDesign(deps, initiator, org, name, null, design, front));
  else await publishCollectionCard(deps, initiator, slug, name, true, front);
  await keep(deps, front);
  return made;
};
