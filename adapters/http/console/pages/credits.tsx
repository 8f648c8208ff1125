import { z } from 'zod';
import { readCardDays } from '../../../../application/cards/card-days.js';
import { addCredits, readStatement } from '../../../../application/money/credits.js';
import { readBalance } from '../../../../application/organizations/read-accounts.js';
import { today } from '../../../../domain/calendar.js';
import { DomainError } from '../../../../domain/errors.js';
import { derivedUuid, Instant } from '../../../../domain/ids.js';
import { purchase } from '../../operator/credits.js';
import { parseValues } from '../../schema/read.js';
import { Field, FormPanel } from '../../web/form.js';
import { ButtonLink, Older } from '../../web/parts.js';
import { actorNames } from '../actor-name.js';
import { Balance, LastDays } from '../home-parts.js';
import { confirmed, filePage, page } from '../page.js';
import { partOf } from '../paging.js';
import { Statement, statementCsv } from '../statement.js';

const days = 30;

/** The typed number, or else the typed text, to be refused. */
const numberIn = (text: string): unknown => (/^\d{1,15}$/.test(text) ? Number(text) : text);

export const creditsPage = page({
  path: 'credits',
  may: 'credits.read',
  mayAct: 'credits.add',
  query: ['before', 'done'],
  load: async ({ deps, org, visitor, timeZone, query }) => {
    const [{ shown, last }, used] = await Promise.all([
      partOf(query, (part) => readStatement(deps, org, part)),
      readCardDays(deps, org, { now: deps.clock.instant(), timeZone, days }),
    ]);
    const nameOf = actorNames(deps, visitor, org);
    const lines = await Promise.all(shown.map(async (line) => ({ ...line, by: await nameOf(line.actor) })));
    // The newest line has the balance: so the page can't disagree with itself.
    const newest = query('before') === '' ? lines[0]?.event.data.balance : undefined;
    const balance = newest ?? (await readBalance(deps, org));
    return { balance, lines, used, last };
  },
  title: () => 'Credits',
  view: ({ balance, lines, used, last }, { url, mayAct }) => (
    <>
      <div class="grid">
        <section class="panel" aria-label="Balance">
          <Balance balance={balance} />
          {mayAct ? null : <p class="quiet">Credits are added by those who run the service.</p>}
        </section>
        <LastDays title={`Cards sent, last ${days} days`} days={used} named={5} />
      </div>
      <FormPanel id="add" title="Add credits" action="add" button="Add credits">
        <div class="beside">
          <Field name="amount" label="Amount" type="number" />
          <Field name="reference" label="Reference" optional />
          <Field name="reason" label="Reason" optional />
        </div>
        <p class="hint">A reference, such as the number of an invoice, buys once: a repeat adds nothing.</p>
      </FormPanel>
      <div class="head">
        <h2>Statement</h2>
        <ButtonLink to={url('creditsCsv')} kind="second" words="Download as CSV" />
      </div>
      <Statement lines={lines} />
      <Older to={last && url('credits', {}, { before: String(last.revision) })} />
    </>
  ),
  actions: {
    add: confirmed('creditsAdded', async ({ deps, by, org }, sent) => {
      const asked = parseValues(purchase, {
        amount: numberIn(sent('amount')),
        reason: sent('reason'),
        reference: sent('reference'),
      });
      // A form that is taken over after a crash buys under the same reference, and so buys once.
      const reference = asked.reference ?? `console-${derivedUuid('purchase in the console', sent('form'))}`;
      await addCredits(deps, by, org, { ...asked, reference });
    }),
  },
});

const dayIn = (param: string, text: string): string => {
  if (text === '' || z.iso.date().safeParse(text).success) return text;
  throw new DomainError('invalid_parameter', `${param} is a day, as YYYY-MM-DD.`, param);
};

/** The whole statement, or that of some days: `from` and `to`, as YYYY-MM-DD. */
export const creditsCsv = filePage(
  { path: 'creditsCsv', may: 'credits.read', query: ['from', 'to'] },
  ({ deps, org, query, timeZone, signal }) =>
    Promise.resolve({
      type: 'text/csv; charset=utf-8',
      headers: { 'content-disposition': 'attachment; filename="credits.csv"' },
      lines: statementCsv(deps, org, {
        from: dayIn('from', query('from')),
        to: dayIn('to', query('to')),
        dayOf: (at) => today(Instant.parse(at), timeZone),
        signal,
      }),
    }),
);
