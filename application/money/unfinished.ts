import { card, cardStream, owedBy } from '../../domain/card.js';
import type { CardCode } from '../../domain/card-code.js';
import { parseEvent } from '../../domain/events.js';
import type { CommandId, Milliseconds } from '../../domain/ids.js';
import type { OpenDebt } from '../../domain/open-money.js';
import { mapLimited } from '../timing/limit-concurrency.js';
import { untilAborted } from '../timing/until-aborted.js';
import { isPassing } from '../writing/execute.js';
import { findMovement } from './ledger-queue.js';
import { spendFor } from '../../domain/credits.js';
import {
  reconcilerCommand,
  returnCredit,
  settleSpend,
  type SettlingDeps,
  type Spend,
} from './settle-spend.js';

/** An event that a command may have recorded, and whose credit may not have come back. */
export interface LeftDebt extends Pick<OpenDebt, 'org' | 'card' | 'revision' | 'since'> {
  readonly command: CommandId;
}

export interface UnfinishedDeps extends SettlingDeps {
  /** Called with failures; the reconciler finishes that work. */
  readonly report: (error: unknown) => void;
}

/** `closed`: it is finished. `absent`: it has not begun, as far as can be seen. */
type Found = 'closed' | 'absent';

interface UnfinishedPiece {
  readonly look: () => Promise<Found>;
  absentSince: Milliseconds | null;
}

const pause: Milliseconds = 1_000;
/**
 * An append that was lost may still arrive for this long after the store has answered; after that it is no
 * longer looked for here.
 */
const looksFor: Milliseconds = 15_000;
/** Work beyond this is left to the reconciler. */
const maxPieces = 10_000;
const atOnce = 16;

/**
 * Work that requests of this process have left with an unknown outcome. The requests are over, so there is no
 * need to wait for `RECONCILE_AFTER`: as soon as the store answers again, credits that were spent for nothing
 * come back, and so do credits that are owed. The reconciler does the same from the log, for processes that
 * died. (docs/money.md#the-flows)
 */
export class UnfinishedWork {
  readonly #pieces = new Set<UnfinishedPiece>();

  constructor(private readonly deps: UnfinishedDeps) {}

  get size(): number {
    return this.#pieces.size;
  }

  /** A credit that a command may have spent. */
  spend(spend: Spend): void {
    this.#add(() => this.#lookAtSpend(spend));
  }

  debt(debt: LeftDebt): void {
    this.#add(() => this.#lookAtDebt(debt));
  }

  /** Finishes work as it comes, until the signal aborts. Remaining work is the reconciler's. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, report } = this.deps;
    await untilAborted({ clock, signal, pause, onError: report }, () => this.#pass());
  }

  #add(look: UnfinishedPiece['look']): void {
    if (this.#pieces.size >= maxPieces) return;
    this.#pieces.add({ look, absentSince: null });
  }

  /** The first piece finds out whether the store answers. */
  async #pass(): Promise<void> {
    const [first, ...others] = this.#pieces;
    if (first === undefined || !(await this.#tryToFinish(first))) return;
    await mapLimited(atOnce, others, (piece) => this.#tryToFinish(piece));
  }

  /** False if the store can't be asked now. */
  async #tryToFinish(piece: UnfinishedPiece): Promise<boolean> {
    const { clock, report } = this.deps;
    try {
      const isClosed = (await piece.look()) === 'closed';
      piece.absentSince ??= clock.monotonic();
      if (isClosed || clock.monotonic() - piece.absentSince >= looksFor) this.#pieces.delete(piece);
      return true;
    } catch (error) {
      if (isPassing(error)) return false;
      this.#pieces.delete(piece);
      report(error);
      return true;
    }
  }

  async #lookAtSpend(spend: Spend): Promise<Found> {
    const { org, slot, since } = spend;
    const { found } = await findMovement(this.deps.store, org, spendFor(slot, org), since);
    if (found === null) return 'absent';
    await settleSpend(this.deps, reconcilerCommand(this.deps, org), spend);
    return 'closed';
  }

  async #lookAtDebt({ org, card: code, revision, command, since }: LeftDebt): Promise<Found> {
    const [stored] = await this.deps.store.readStream(cardStream(code as CardCode), revision, 1);
    if (stored === undefined) return 'absent';
    const owed = stored.metadata.causationId === command ? owedBy(parseEvent(card, stored)) : 0;
    const cause = { owed: { card: code, revision } };
    if (owed > 0)
      await returnCredit(this.deps, reconcilerCommand(this.deps, org), { org, since }, cause, owed);
    return 'closed';
  }
}
