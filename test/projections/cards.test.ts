import { expect } from 'chai';
import { existsSync, readFileSync } from 'node:fs';
import { z } from 'zod';
import { cardBody, cardRow, cardRowBody, wholeCard } from '../../adapters/http/api/cards.js';
import type { CardCode } from '../../domain/card-code.js';
import { card, cardStream } from '../../domain/card.js';
import { cards, type CardDocument } from '../../projections/cards.js';
import { logged } from '../support/fixtures/logged-event.js';
import { versionOf } from '../../domain/events.js';

const golden = new URL('../../../test/golden/', import.meta.url);
const read = (name: string): unknown => JSON.parse(readFileSync(new URL(name, golden), 'utf8'));

const stream = cardStream('HC-7K3M9QX' as CardCode);
const erasure = logged(stream, { type: 'CardErased', data: { reason: 'asked for' } }, 1);

const Fields = z.looseObject({}).nullable();
const Personal = z.looseObject({ order: Fields, personal: Fields });
const Examples = z.array(z.looseObject({ data: Personal }));

/** Every first event of the golden files that has a letter. */
const letters = ['CardScheduled', 'CardHeld'].flatMap((type) =>
  Examples.parse(read(`card.${type}.v${versionOf(card)}.json`))
    .filter(({ data }) => data.order !== null && data.personal !== null)
    .map(({ data }) => ({ event: logged(stream, { type, data }, 0), letter: data.personal })),
);

const textsIn = (value: unknown): readonly string[] => {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
};

const asStored = (document: CardDocument | null): Readonly<Record<string, unknown>> =>
  z.record(z.string(), z.unknown()).parse(JSON.parse(JSON.stringify(document)));

const Rows = z.array(z.looseObject({ document: z.looseObject({ status: z.string() }) }));
/** The documents of a version; none if it was never released. */
const documentsOf = (version: number) =>
  existsSync(new URL(`documents/cards.v${version}.json`, golden))
    ? Rows.parse(read(`documents/cards.v${version}.json`)).map(({ document }) => document)
    : [];

describe('the document of a card', () => {
  it('has nothing of the letter any more once the card is erased', () => {
    expect(letters).to.not.have.length(0);
    for (const { event, letter } of letters) {
      const before = cards.evolve(null, event);
      const personal = textsIn(letter);
      expect(personal.some((text) => textsIn(before).includes(text))).to.equal(true);
      const after = textsIn(cards.evolve(before, erasure));
      expect(personal.filter((text) => after.includes(text))).to.deep.equal([]);
    }
  });

  // Until a new version is built, readers see documents of the one before, and its events are folded on.
  const seen = [cards.version - 1, cards.version].flatMap(documentsOf) as unknown as readonly CardDocument[];

  it('is shown as responses promise it, also as the version before has built it', () => {
    expect(seen).to.not.have.length(0);
    for (const document of seen) {
      const shown: unknown = JSON.parse(JSON.stringify(cardBody(document, 'https://cards.example')));
      expect(wholeCard.safeParse(shown).error).to.equal(undefined);
      const row: unknown = JSON.parse(JSON.stringify(cardRowBody(document)));
      expect(cardRow.safeParse(row).error).to.equal(undefined);
    }
  });

  it('has every field after its next event, also if the version before has built it', () => {
    const fields = Object.keys(documentsOf(cards.version)[0] ?? {}).toSorted();
    const next = [logged(stream, { type: 'CardCancelled', data: { owes: 1 } }, 1), erasure];
    for (const event of next)
      for (const document of seen.filter(({ status }) => status === 'pending'))
        expect(Object.keys(asStored(cards.evolve(document, event))).toSorted()).to.deep.equal(fields);
  });
});
