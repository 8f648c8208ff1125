import { codeFrom } from '../../../../../application/cards/read-cards.js';
import {
  partOfRun,
  printable,
  printables,
  sheetsOf,
  type LeftOut,
  type PartOfRun,
  type Printable,
} from '../../../../../application/cards/print-run.js';
import { today } from '../../../../../domain/calendar.js';
import type { LinesResponse } from '../../../server/route.js';
import { ButtonLink, Empty } from '../../../web/parts.js';
import { cardOn } from '../../floor-data.js';
import { PageRefusal } from '../../gates.js';
import { filePage, type KnownContext, page } from '../../page.js';

const partIn = ({ deps, query, timeZone }: KnownContext): Promise<PartOfRun> =>
  partOfRun(deps, today(deps.clock.instant(), timeZone), query('after'), query('to'));

/** The cards that are printed today, in parts. */
export const runPage = page({
  path: 'run',
  may: 'floor.work',
  query: ['after', 'to'],
  load: partIn,
  title: () => 'Today’s run',
  heading: (_, { url }) => ({ above: ['Floor', url('floor')] }),
  view: ({ codes, isLast }, { url, query }) =>
    codes.length === 0 ? (
      <Empty title="Nothing is to be printed">Cards come here on the day they are due.</Empty>
    ) : (
      <>
        <p>
          {codes.length} cards that are due and not started yet, {codes[0]} to {codes.at(-1)}: first all
          fronts, then all insides, then all envelopes, each by design and in the same order.
        </p>
        <p class="actions">
          <ButtonLink
            to={url('runSheets', {}, { after: query('after'), to: codes.at(-1) ?? '' })}
            words="Print the sheets"
          />
          {isLast ? null : (
            <ButtonLink to={url('run', {}, { after: codes.at(-1) ?? '' })} kind="second" words="Next part" />
          )}
        </p>
      </>
    ),
});

const pdf = (
  { deps }: KnownContext,
  name: string,
  found: readonly (Printable | LeftOut)[],
  how?: { readonly withoutFront: boolean },
): LinesResponse => ({
  type: 'application/pdf',
  headers: { 'content-disposition': `attachment; filename="${name}.pdf"` },
  lines: deps.sheetPrinter.print(sheetsOf(deps, found, how)),
});

export const runSheetsPdf = filePage(
  { path: 'runSheets', may: 'floor.work', query: ['after', 'to'] },
  async (context) => pdf(context, 'run', await printables(context.deps, await partIn(context))),
);

/**
 * The sheets of one card, whatever its status: to print some of them again, also where the front is gone. A
 * card that was never started is not printed while its design is out of use.
 */
export const sheetsPdf = filePage({ path: 'sheets', may: 'floor.work' }, async (context) => {
  const { card } = await cardOn(context);
  const found = await printable(context.deps, codeFrom(card.code));
  const isStarted = card.steps.some(({ status }) => status !== 'pending');
  if (!isStarted && 'whyHeld' in found && found.whyHeld !== null)
    throw new PageRefusal(409, `${found.whyHeld}.`, 'Not printed');
  return pdf(context, card.code, [found], { withoutFront: true });
});
