import { hash as digestOf } from 'node:crypto';
import type { ArtworkDigest } from '../../domain/artwork.js';
import type { Order } from '../../domain/card.js';
import type { CardCode } from '../../domain/card-code.js';
import { DomainError, insteadOf } from '../../domain/errors.js';
import type { LocalDate } from '../../domain/ids.js';
import { whyHeld } from '../../domain/organization.js';
import { addressLines } from '../../domain/recipient.js';
import { cards, type CardDocument } from '../../projections/cards.js';
import { DamagedStream } from '../history/as-of.js';
import { organizationOf } from '../organizations/administer.js';
import { ArtworkUnavailable, type Artwork } from '../ports/artwork.js';
import type { ReadModels } from '../ports/read-models.js';
import type { Sheet } from '../ports/sheet-printer.js';
import { nextTurn } from '../timing/next-turn.js';
import type { WriteDeps } from '../writing/execute.js';
import { readOrderPage } from './card-record.js';
import { cardsOnFloor } from './floor.js';
import { codeFrom } from './read-cards.js';

/** How many cards are printed at once. */
const maxCards = 200;

export interface PartOfRun {
  readonly codes: readonly CardCode[];
  readonly isLast: boolean;
}

/**
 * The part of a day's run after a card ('': the first) up to another ('': as many as are printed at once):
 * the queued cards that are due by then, in the order in which they were sent. Throws `card_not_found`.
 */
export const partOfRun = async (
  { readModels }: { readonly readModels: ReadModels },
  day: LocalDate,
  after: string,
  to: string,
): Promise<PartOfRun> => {
  const placeOf = async (code: string): Promise<bigint | null> => {
    const row = code === '' ? null : await readModels.get(cards, codeFrom(code));
    if (code !== '' && row === null) throw new DomainError('card_not_found', 'There is no such card.');
    return row?.created ?? null;
  };
  const end = await placeOf(to);
  const codes: CardCode[] = [];
  for await (const { document, created } of cardsOnFloor(readModels, (await placeOf(after)) ?? 0n)) {
    if (document.status !== 'queued' || document.due > day) continue;
    if (end === null ? codes.length === maxCards : created > end) return { codes, isLast: false };
    codes.push(codeFrom(document.code));
  }
  return { codes, isLast: true };
};

type PrintDeps = Pick<WriteDeps, 'store' | 'streams'>;

/** A card with what comes on its sheets. */
export interface Printable {
  readonly card: CardDocument;
  readonly code: CardCode;
  readonly message: string;
  readonly lines: readonly string[];
  readonly design: Order['design'];
  readonly designName: string;
  /** Why cards of its design are held; null if they are not. */
  readonly whyHeld: string | null;
}

/** A card that is not printed, and why. */
export type LeftOut = Extract<Sheet, { part: 'none' }>;

const leftOut = (code: CardCode, design: string, problem: string): LeftOut => ({
  part: 'none',
  code,
  design,
  problem,
});

const unreadable = (code: CardCode): LeftOut =>
  leftOut(code, '', "Not printed: its message or address can't be read");

/** Throws `card_not_found`, DamagedStream. */
export const printable = async (deps: PrintDeps, code: CardCode): Promise<Printable | LeftOut> => {
  const { card, message, order } = await readOrderPage(deps, code, { withRecovered: false });
  if (card.erasedAt !== null) return leftOut(code, '', 'Not printed: its message and address were erased');
  if (card.recipient === null || message === null) return unreadable(code);
  const { design } = order;
  const owner = await organizationOf(deps, order.org);
  const { name: designName = '' } = owner.designs.find(({ id }) => id === design.id) ?? {};
  const lines = addressLines(card.recipient);
  return { card, code, message, lines, design, designName, whyHeld: whyHeld(owner, design.id) };
};

/** The cards of a part of the run that are queued now, by their fronts, then those that can't be read. */
export const printables = async (
  deps: PrintDeps,
  { codes }: PartOfRun,
): Promise<readonly (Printable | LeftOut)[]> => {
  const found: Printable[] = [];
  const notes: LeftOut[] = [];
  for (const code of codes) {
    const each = await printable(deps, code).catch(insteadOf(DamagedStream, unreadable(code)));
    if ('problem' in each) notes.push(each);
    else if (each.card.status === 'queued' && each.whyHeld === null) found.push(each);
    await nextTurn();
  }
  return [...found.toSorted((a, b) => groupOf(a).localeCompare(groupOf(b))), ...notes];
};

/** Copies of a card of the collection have one front. */
const groupOf = ({ design: { front, id } }: Printable): string => front ?? id;

/** Says what is wrong with a picture (undefined: it can't be read). */
const problemOf = (front: ArtworkDigest | null, picture: Buffer | null | undefined): string | null => {
  if (picture === undefined) return "its picture can't be read";
  if (front === null || (picture !== null && digestOf('sha256', picture) === front)) return null;
  return `its picture is ${picture === null ? 'missing' : 'not the one that was saved'}`;
};

/**
 * All fronts, then all insides, then all envelopes, each in the order of the cards; last, a sheet for each
 * card that is left out, because it can't be read, or its front is not there as it was recorded. Of such a
 * card all but the front is printed `withoutFront`.
 */
export async function* sheetsOf(
  { artwork }: { readonly artwork: Pick<Artwork, 'get'> },
  found: readonly (Printable | LeftOut)[],
  { withoutFront = false } = {},
): AsyncGenerator<Sheet> {
  const printed: Printable[] = [];
  const notes: LeftOut[] = [];
  let last = '';
  let problem: string | null = null;
  for (const each of found) {
    if ('problem' in each) {
      notes.push(each);
      continue;
    }
    const { code, design, designName } = each;
    let shown = {};
    if (groupOf(each) !== last) {
      last = groupOf(each);
      const picture =
        design.front === null
          ? null
          : await artwork.get(design.front, 'master').catch(insteadOf(ArtworkUnavailable, undefined));
      problem = problemOf(design.front, picture);
      shown = { picture };
    }
    if (problem === null) yield { part: 'front', code, design: designName, ...shown };
    else notes.push(leftOut(code, designName, `${withoutFront ? 'Front not' : 'Not'} printed: ${problem}`));
    if (problem === null || withoutFront) printed.push(each);
  }
  for (const { code, card, message, lines: address } of printed)
    yield { part: 'inside', code, hand: card.handwriting, message, address };
  for (const { code, card, lines } of printed)
    yield { part: 'envelope', code, hand: card.handwriting, lines };
  yield* notes;
}
