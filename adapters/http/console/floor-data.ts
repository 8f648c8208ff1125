import { cardForOperator, type CardForOperator } from '../../../application/cards/card-record.js';
import { cardsOnFloor } from '../../../application/cards/floor.js';
import { codeFrom } from '../../../application/cards/read-cards.js';
import { everyOrganization } from '../../../application/ports/read-models.js';
import { readAccount } from '../../../application/organizations/read-accounts.js';
import { today } from '../../../domain/calendar.js';
import { steps, type CardStatus, type StepName } from '../../../domain/card.js';
import { parseCardCode } from '../../../domain/card-code.js';
import { OrganizationId, type LocalDate } from '../../../domain/ids.js';
import { cards, type CardDocument } from '../../../projections/cards.js';
import { orNothing } from './admit.js';
import type { KnownContext } from './page.js';

/** The next action for a card: the one of its large button. */
export type Next =
  | { readonly kind: 'queue' }
  | { readonly kind: 'start' | 'done'; readonly step: StepName }
  | { readonly kind: 'nothing' };

const working = ['queued', 'in_production', 'written', 'packed'] as const satisfies readonly CardStatus[];

export const nextOf = ({ status, steps: reached }: Pick<CardDocument, 'status' | 'steps'>): Next => {
  if (status === 'pending') return { kind: 'queue' };
  const at = reached.findIndex((each) => each.status !== 'completed');
  const step = steps[at];
  if (!working.some((known) => known === status) || step === undefined) return { kind: 'nothing' };
  return { kind: reached[at]?.status === 'in_progress' ? 'done' : 'start', step };
};

/** The code in scanned or typed text: the address of an order page ends with one. */
export const codeIn = (scanned: string): string | null => {
  const parsed = parseCardCode(scanned.trim().split('/').at(-1) ?? '');
  return parsed.kind === 'code' ? parsed.code : null;
};

/** A card as the floor needs it. Throws if there is none. */
export const cardOn = ({ deps, params }: KnownContext): Promise<CardForOperator> =>
  orNothing(async () => (await cardForOperator(deps, codeFrom(params['code'] ?? ''), null)).was);

/** Counting stops here: whether there are 50 or 10,000 makes no difference to the work. */
const maxCounted = 50;
/** Of the cards that are looked at: those due later that were queued early are few. */
const maxRead = 1_000;
const maxShown = 25;

const countOf = (count: number): string => (count >= maxCounted ? `${maxCounted}+` : String(count));

/** The organizations of cards, each loaded once. */
export const ownersOf = async <T>(
  shown: readonly CardDocument[],
  load: (org: OrganizationId) => Promise<T>,
): Promise<ReadonlyMap<string, T>> => {
  const orgs = new Set(shown.map(({ org }) => org));
  const loaded = [...orgs].map(async (org) => [org, await load(OrganizationId.parse(org))] as const);
  return new Map(await Promise.all(loaded));
};

/** The cards on the floor that are due, up to `maxCounted`, and others among the first `maxRead`. */
const floorByDue = async (readModels: KnownContext['deps']['readModels'], day: LocalDate) => {
  const due: CardDocument[] = [];
  const later: CardDocument[] = [];
  for await (const { document } of cardsOnFloor(readModels)) {
    (document.due <= day ? due : later).push(document);
    if (due.length === maxCounted || due.length + later.length === maxRead)
      return { due, later, isAll: false };
  }
  return { due, later, isAll: true };
};

/** How many cards are due and at each status, and those that came first, the due before others. */
export const floorList = async ({ deps, timeZone }: KnownContext) => {
  const { readModels, clock } = deps;
  const day = today(clock.instant(), timeZone);
  const [{ due, later, isAll }, ...pages] = await Promise.all([
    floorByDue(readModels, day),
    ...working.map((status) =>
      readModels.page(cards, { org: everyOrganization, where: { status }, limit: maxCounted }),
    ),
  ]);
  const first = [...due, ...later].slice(0, maxShown);
  return {
    /** Today, or overdue. */
    due: `${due.length}${isAll ? '' : '+'}`,
    today: day,
    first,
    owners: await ownersOf(first, (org) => readAccount(deps, org)),
    counts: working.map((status, at) => ({ status, count: countOf(pages[at]?.length ?? 0) })),
  };
};
