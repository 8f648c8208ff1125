import { readStatement, type StatementLine } from '../../../application/money/credits.js';
import type { OrganizationId } from '../../../domain/ids.js';
import { givingWay } from '../../../application/timing/next-turn.js';
import type { WriteDeps } from '../../../application/writing/execute.js';
import { cardOf, kinds } from '../api/credit-movements.js';
import { csvOf, csvRows } from '../server/csv.js';
import { timestamp } from '../api/responses.js';
import { count, Empty, Table, Time } from '../web/parts.js';
import { CardLink } from './card-words.js';

const words = { purchase: 'Added', withdrawal: 'Withdrawn', spend: 'Spent', return: 'Returned' } as const;

/** A movement and by whom it was made, in words. */
export interface ShownLine extends StatementLine {
  readonly by: string;
}

const reasonOf = ({ event: { data } }: StatementLine) => ('reason' in data ? data.reason : null);

const signed = (change: number): string => `${change < 0 ? '−' : '+'}${count(Math.abs(change))}`;

export const Statement = ({ lines }: { readonly lines: readonly ShownLine[] }) => (
  <Table
    label="Statement"
    rows={lines}
    columns={{
      What: (line) => {
        const card = cardOf(line);
        const word = words[kinds[line.event.type]];
        return (
          <>
            {card === null ? word : <CardLink code={card}>{`${word}: ${card}`}</CardLink>}
            {reasonOf(line) === null ? null : <span class="under">{reasonOf(line)}</span>}
            {line.reference === null ? null : <span class="under">Reference {line.reference}</span>}
          </>
        );
      },
      When: ({ at }) => <Time at={at} />,
      By: ({ by }) => by,
      Change: ({ change }) => signed(change),
      Balance: ({ event }) => count(event.data.balance),
    }}
    numbers={['Change', 'Balance']}
  >
    <Empty title="Nothing has moved yet">Purchases, cards and what came back stand here.</Empty>
  </Table>
);

const columns = ['at', 'what', 'change', 'balance', 'card', 'reason', 'reference'] as const;
const perPiece = 200;

/** Days of the time zone of the service, both included; '' for no limit. */
interface Period {
  readonly from: string;
  readonly to: string;
  readonly dayOf: (at: string) => string;
  readonly signal: AbortSignal;
}

/**
 * The statement as CSV, newest first, in pieces, until the signal aborts: however long it is, one piece of it
 * is in memory.
 */
export async function* statementCsv(
  deps: WriteDeps,
  org: OrganizationId,
  { from, to, dayOf, signal }: Period,
): AsyncGenerator<string> {
  const giveWay = givingWay(deps.clock);
  yield csvOf(columns, []);
  for (let startingAfter: string | null = null; ;) {
    const part = { startingAfter, limit: perPiece };
    const lines: readonly StatementLine[] = await readStatement(deps, org, part);
    const wanted = lines.filter(({ at }) => {
      const day = dayOf(at);
      return (from === '' || day >= from) && (to === '' || day <= to);
    });
    const rows = wanted.map((line) => ({
      ...line,
      at: timestamp(line.at),
      what: kinds[line.event.type],
      balance: line.event.data.balance,
      card: cardOf(line),
      reason: reasonOf(line),
    }));
    if (rows.length > 0) yield csvRows(columns, rows);
    const last = lines.at(-1);
    // The times of a stream never go back.
    if (last === undefined || last.revision === 0 || dayOf(last.at) < from || signal.aborted) return;
    await giveWay();
    startingAfter = String(last.revision);
  }
}
