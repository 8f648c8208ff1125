import { z } from 'zod';
import { card } from '../../domain/card.js';
import { parseEvent, type RecordedEvent } from '../../domain/events.js';
import { Instant, OrganizationId, Uuid, type Milliseconds } from '../../domain/ids.js';
import {
  OpenMoney,
  placeName,
  SavedMoney,
  type OpenDebt,
  type OpenOrder,
  type OpenSpend,
} from '../../domain/open-money.js';
import { organization } from '../../domain/organization.js';

/** A card whose design was not copied to its organization's designs. */
const OpenCopy = z.object({ org: OrganizationId, id: Uuid, slug: z.string(), at: Instant });
export type OpenCopy = z.infer<typeof OpenCopy>;

type OpenPiece = OpenSpend | OpenDebt | OpenCopy | OpenOrder;

const nameOf = (piece: OpenPiece): string => {
  if ('slot' in piece)
    return `spend ${placeName(piece.slot.card, piece.slot.revision)} ${piece.slot.command}`;
  if ('purchase' in piece) return `purchase ${piece.purchase}`;
  return 'slug' in piece ? `copy ${piece.id}` : `debt ${placeName(piece.card, piece.revision)}`;
};

const SavedWork = SavedMoney.extend({ copies: z.array(OpenCopy) });
type SavedWork = z.infer<typeof SavedWork>;

/** Work that a prefix of the log leaves open: money, and copies of designs. */
export class OpenWork extends OpenMoney {
  readonly #copies = new Map<string, OpenCopy>();
  /** The names of pieces that are being closed. */
  readonly #reserved = new Set<string>();

  static restore(saved: unknown): OpenWork {
    return new OpenWork(SavedWork.parse(saved));
  }

  constructor(saved?: SavedWork) {
    super(saved);
    for (const copy of saved?.copies ?? []) this.#copies.set(copy.id, copy);
  }

  /** When the oldest piece began; null if there is none. */
  get oldest(): Milliseconds | null {
    const begun = [...this.spends, ...this.debts, ...this.copies, ...this.orders].map(({ at }) =>
      Date.parse(at),
    );
    return begun.length === 0 ? null : begun.reduce((least, at) => Math.min(least, at));
  }

  get copies(): readonly OpenCopy[] {
    return [...this.#copies.values()];
  }

  /** Reserves pieces for this pass; leaves out pieces that are reserved already. */
  reserve<Work>(pieces: readonly (readonly [OpenPiece, Work])[]): readonly (readonly [OpenPiece, Work])[] {
    const free = pieces.filter(([piece]) => !this.#reserved.has(nameOf(piece)));
    for (const [piece] of free) this.#reserved.add(nameOf(piece));
    return free;
  }

  release(piece: OpenPiece): void {
    this.#reserved.delete(nameOf(piece));
  }

  save(): SavedWork {
    return { ...this.saved(), copies: [...this.copies] };
  }

  override observe(stored: RecordedEvent): void {
    super.observe(stored);
    if (stored.type === 'DesignSaved') {
      const event = parseEvent(organization, stored);
      if (event.type === 'DesignSaved') this.#copies.delete(event.data.design.id);
    }
    if (stored.type !== 'CardScheduled' && stored.type !== 'CardHeld') return;
    const event = parseEvent(card, stored);
    if (event.type !== 'CardScheduled' && event.type !== 'CardHeld') return;
    if (event.data.order?.design.copied !== true) return;
    const { org, design } = event.data.order;
    if (design.slug === null) return;
    this.#copies.set(design.id, { org, id: design.id, slug: design.slug, at: stored.metadata.occurredAt });
  }

  /** Called for a copy that exists, because no event follows if another send made it. */
  settleCopy({ id }: OpenCopy): void {
    this.#copies.delete(id);
  }
}
