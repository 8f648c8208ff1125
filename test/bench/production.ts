import { SystemClock } from '../../adapters/system/clock.js';
import { steps, type CardEvent } from '../../domain/card.js';
import { ledgerStream, type LedgerEvent } from '../../domain/credits.js';
import { CommandId, derivedUuid, OrganizationId, Uuid } from '../../domain/ids.js';
import { EventStoreDbStandIn } from '../engines/eventstoredb-stand-in.js';
import { metadataOf } from './metadata.js';
import { movedCard, scheduledCard, seededCode } from './seed.js';

/**
 * A stand-in of EventStoreDB with many cards in production, described on the command line as JSON. It prints
 * where it is and what it holds as JSON, and serves until it is killed. It is a process of its own, so that
 * its work is not taken for that of the service.
 */
export interface Production {
  readonly cards: number;
  /** How many of the cards, from all over, had an event last, each of them one: a multiple of six. */
  readonly moved: number;
  /** How many movements of credits their organization has made; none if it is absent. */
  readonly movements?: number;
}

export interface ProductionLog {
  readonly url: string;
  readonly org: string;
  /** The position before the cards moved, and that of the last event. */
  readonly from: string;
  readonly to: string;
  readonly events: number;
}

const { cards, moved, movements = 0 } = JSON.parse(process.argv[2] ?? '{}') as Production;
const clock = new SystemClock();
const org = OrganizationId.parse(derivedUuid('bench'));
const standIn = await EventStoreDbStandIn.start(clock);

const metadata = metadataOf(org, clock.instant());
const metadataBytes = Buffer.from(JSON.stringify(metadata));
const stored = ({ type, data }: CardEvent | LedgerEvent) => ({
  id: derivedUuid('bench event', type),
  type,
  data: Buffer.from(JSON.stringify(data)),
  metadata: metadataBytes,
});
const stepEvents = steps.flatMap((step) => [
  stored({ type: 'StepStarted', data: { step, machine: 'm-1' } }),
  stored({ type: 'StepCompleted', data: { step, machine: 'm-1' } }),
]);
const begun = 5;

/** As many ids as are needed, made quickly. */
const idOf = (number: number): Uuid =>
  Uuid.parse(`00000000-0000-5000-8000-${number.toString(16).padStart(12, '0')}`);
/** Events of one kind share their bytes: a million cards would not fit into memory otherwise. */
const past = [
  stored(scheduledCard(org, 1)),
  stored({ type: 'CardQueued', data: {} }),
  ...stepEvents.slice(0, begun),
];
const slot = { card: seededCode(1), revision: 0, command: CommandId.parse(derivedUuid('bench command')) };
const spent = stored({ type: 'CreditSpent', data: { cause: slot, amount: 1, balance: 1_000 } });
for (let number = 0; number < movements; number += 1) standIn.place(ledgerStream(org), spent);
let from = 0n;
for (let number = 0; number < cards; number += 1)
  for (const [place, event] of past.entries())
    from = standIn.place(`card-${seededCode(number)}`, {
      ...event,
      id: idOf(number * past.length + place),
    });

/** One event in six is public. So is the last one, after which the relay saves where it is. */
const next = stepEvents.slice(begun, begun + 6);
let to = from;
for (let index = 0; index < moved; index += 1) {
  const event = next[(index + 1) % next.length] ?? past[0];
  const id = derivedUuid('bench event', index);
  if (event !== undefined) to = standIn.place(`card-${movedCard(index, cards)}`, { ...event, id });
}

const log: ProductionLog = {
  url: standIn.url,
  org,
  from: String(from),
  to: String(to),
  events: moved,
};
process.stdout.write(`${JSON.stringify(log)}\n`);
