import { hold } from '../../domain/card.js';
import { OrganizationId, type Milliseconds } from '../../domain/ids.js';
import { organization, whyHeld, type OrganizationEvent } from '../../domain/organization.js';
import { cards } from '../../projections/cards.js';
import { isWaiting, organizations, type DesignDocument } from '../../projections/organizations.js';
import { everyOrganization, pagesOf } from '../ports/read-models.js';
import { limitConcurrency } from '../timing/limit-concurrency.js';
import { givingWay } from '../timing/next-turn.js';
import { newCommand, service, appendTo } from '../writing/execute.js';
import { changeAs, type FloorDeps } from '../cards/floor.js';

const part = 'withdrawn-designs';

/** Sends and releases that saw the design in use have ended by then. */
const settles: Milliseconds = 60_000;
const rowsAtOnce = 100;
/** A card that fails keeps no others waiting, but a pass ends with so many. */
const maxFailures = 20;
/** So many cards are held at a time: others' writes come in between. */
const atOnce = 8;

async function* waitingCards({ readModels, clock }: FloorDeps, org: OrganizationId) {
  const giveWay = givingWay(clock);
  // A card that goes to the floor meanwhile is found there.
  for (const status of ['pending', 'queued'])
    yield* pagesOf(readModels, cards, { org, where: { status }, limit: rowsAtOnce }, giveWay);
}

/**
 * Holds the cards of withdrawn and erased designs that no machine has started on, to be done again and
 * again. Either is carried out once a pass that began when it had settled, over rows that were not late, has
 * come to its end, and the design has not changed since: a pass that breaks off is repeated.
 */
export const holdWithdrawn = async (deps: FloorDeps, signal: AbortSignal): Promise<void> => {
  const { readModels, readYourWrites, streams, clock } = deps;
  const limited = limitConcurrency(atOnce);
  const carryOut = async (org: OrganizationId, { id, withdrawn, erased }: DesignDocument): Promise<void> => {
    const hasSettled = [withdrawn, erased].every(
      (out) => out === null || clock.now() - Date.parse(out.at) >= settles,
    );
    const before = await streams.load(organization, org);
    await readYourWrites.beforeRead();
    let isWhole = !readYourWrites.rowsMayBeLate();
    const failures: unknown[] = [];
    const holdOne = (code: string, reason: string) =>
      limited(() => changeAs(deps, part, code, hold(reason)).catch((error: unknown) => failures.push(error)));
    for await (const page of waitingCards(deps, org)) {
      const reason = whyHeld((await streams.load(organization, org)).state, id);
      if (reason === null || signal.aborted) return;
      const found = page.filter(({ document }) => document.design === id);
      await Promise.all(found.map(({ key }) => holdOne(key, reason)));
      if (failures.length > maxFailures) break;
    }
    if (failures.length > 0) throw failures[0];
    isWhole &&= hasSettled && !readYourWrites.rowsMayBeLate();
    if (!isWhole) return;
    const now = await streams.loadAfter(organization, org, before.revision, ({ data }) => {
      isWhole &&= !('id' in data && data.id === id);
    });
    const event: OrganizationEvent = { type: 'WithdrawalCarriedOut', data: { id } };
    if (isWhole) await appendTo(deps, organization, now, newCommand(deps, service(part), org), [event]);
  };
  await readYourWrites.beforeRead();
  const where = { withdrawing: 'yes' };
  const rows = await readModels.page(organizations, { org: everyOrganization, where, limit: 100 });
  const work = rows.map(async ({ document: { id, archived } }) => {
    for (const design of archived.filter(isWaiting)) await carryOut(OrganizationId.parse(id), design);
  });
  for (const outcome of await Promise.allSettled(work))
    if (outcome.status === 'rejected') throw outcome.reason;
};
