import { createHash } from 'node:crypto';
import { expect } from 'chai';
import { printable, printables, sheetsOf } from '../../../application/cards/print-run.js';
import { sendCard } from '../../../application/cards/send-card.js';
import { execute } from '../../../application/writing/execute.js';
import type { CardCode } from '../../../domain/card-code.js';
import { cancel, card, erase, queue } from '../../../domain/card.js';
import { ArtworkDigest } from '../../../domain/artwork.js';
import { collectionCard, putCollectionCard } from '../../../domain/catalogue.js';
import { archiveDesign, copyOf, created, organization, saveDesign } from '../../../domain/organization.js';
import { ArtworkUnavailable } from '../../../application/ports/artwork.js';
import type { Sheet } from '../../../application/ports/sheet-printer.js';
import { Uuid } from '../../../domain/ids.js';
import { front } from '../../support/fixtures/front.js';
import { makeWorld, org, sendRequest, type World } from '../../support/fixtures/world.js';
import { MemoryArtwork } from '../../support/memory/artwork.js';

/** A front, and its print master. */
const pictureOf = (text: string) => {
  const master = Buffer.from(text);
  const digest = ArtworkDigest.parse(createHash('sha256').update(master).digest('hex'));
  return { front: { ...front('a'), digest }, master };
};

describe('a print run', () => {
  it('leaves a card out whose print master is missing or another one, and says so at its end', async () => {
    const world = await makeWorld({ atomic: true, credits: 4 });
    const artwork = new MemoryArtwork(world.clock);
    const kept = pictureOf('kept');
    const replaced = pictureOf('replaced');
    for (const [{ digest }, master] of [
      [kept.front, kept.master],
      [replaced.front, Buffer.from('another')],
    ] as const)
      await artwork.put(digest, { master, preview: master, thumbnail: master });
    const codes: CardCode[] = [];
    for (const picture of [kept.front, replaced.front, pictureOf('missing').front, null]) {
      const id = Uuid.parse(world.entropy.uuid());
      const design = saveDesign({ id, name: 'Thanks', slug: null, artwork: picture });
      await execute(world, organization, org, world.command(), design);
      const { code } = await sendCard(world, sendRequest(world, { designId: { value: id } }));
      await execute(world, card, code, world.command(), queue);
      codes.push(code);
    }
    const sheets: Sheet[] = [];
    for await (const sheet of sheetsOf({ artwork }, await printables(world, { codes, isLast: true })))
      sheets.push(sheet);
    const [whole, other, missing, none] = codes;
    const codesOf = (part: Sheet['part']) =>
      sheets.filter((each) => each.part === part).map(({ code }) => code);
    for (const part of ['front', 'inside', 'envelope'] as const)
      expect(codesOf(part)).to.have.members([whole, none]);
    expect(
      sheets.flatMap((each) => (each.part === 'front' ? [[each.code, each.picture]] : [])),
    ).to.have.deep.members([
      [whole, kept.master],
      [none, null],
    ]);
    const printed = 'Not printed: its picture is';
    expect(sheets.slice(-2)).to.have.deep.members([
      { part: 'none', code: other, design: 'Thanks', problem: `${printed} not the one that was saved` },
      { part: 'none', code: missing, design: 'Thanks', problem: `${printed} missing` },
    ]);
    const reprinted: unknown[] = [];
    if (missing === undefined) throw new Error('there are no cards');
    for await (const sheet of sheetsOf({ artwork }, [await printable(world, missing)], {
      withoutFront: true,
    }))
      reprinted.push(sheet.part === 'none' ? sheet.problem : sheet.part);
    expect(reprinted).to.deep.equal(['inside', 'envelope', 'Front not printed: its picture is missing']);
  });

  it('says of an erased card that it was erased', async () => {
    const world = await makeWorld({ atomic: true, credits: 1 });
    const { code } = await sendCard(world, sendRequest(world));
    await execute(world, card, code, world.command(), cancel);
    await execute(world, card, code, world.command(), erase('a request'));
    const problem = 'Not printed: its message and address were erased';
    expect(await printables(world, { codes: [code], isLast: true })).to.deep.equal([
      { part: 'none', code, design: '', problem },
    ]);
  });

  it('leaves out what can not be read, says so at its end, and prints the others', async () => {
    const world = await makeWorld({ atomic: true, credits: 4 });
    const { front: unreadable } = pictureOf('unreadable');
    const codes: CardCode[] = [];
    for (const artwork of [unreadable, null, null, null]) {
      const id = Uuid.parse(world.entropy.uuid());
      await execute(
        world,
        organization,
        org,
        world.command(),
        saveDesign({ id, name: 'Thanks', slug: null, artwork }),
      );
      const { code } = await sendCard(world, sendRequest(world, { designId: { value: id } }));
      await execute(world, card, code, world.command(), queue);
      codes.push(code);
    }
    const [pictured, damaged, lost, whole] = codes;
    const store = Object.create(world.store) as World['store'];
    store.readStream = async (stream, ...of) =>
      (await world.store.readStream(stream, ...of)).map((event) =>
        stream === `card-${damaged}`
          ? { ...event, metadata: { ...event.metadata, actor: { kind: 'key', id: 'x' } } }
          : stream === `card-${lost}`
            ? { ...event, data: { ...event.data, personal: null } }
            : event,
      );
    const artwork = { get: () => Promise.reject(new ArtworkUnavailable('a bad sector')) };
    const sheets: Sheet[] = [];
    const found = await printables({ ...world, store }, { codes, isLast: true });
    for await (const sheet of sheetsOf({ artwork }, found)) sheets.push(sheet);
    expect(sheets.map(({ part, code }) => [part, code])).to.deep.equal([
      ...['front', 'inside', 'envelope'].map((part) => [part, whole]),
      ...[pictured, damaged, lost].map((code) => ['none', code]),
    ]);
    expect(sheets.flatMap((sheet) => (sheet.part === 'none' ? [sheet.problem] : []))).to.deep.equal([
      "Not printed: its picture can't be read",
      "Not printed: its message or address can't be read",
      "Not printed: its message or address can't be read",
    ]);
  });

  it('has the front that a card was sent with, although the card of the collection has another since', async () => {
    const world = await makeWorld({ atomic: true, credits: 3 });
    const artwork = new MemoryArtwork(world.clock);
    const [first, second] = [pictureOf('first'), pictureOf('second')];
    for (const {
      front: { digest },
      master,
    } of [first, second])
      await artwork.put(digest, { master, preview: master, thumbnail: master });
    const publish = ({ front: picture }: typeof first) =>
      execute(
        world,
        collectionCard,
        'thank-you',
        world.command(),
        putCollectionCard('Thank you', true, picture),
      );
    const send = async () => {
      const { code } = await sendCard(world, sendRequest(world, { designId: { value: 'card:thank-you' } }));
      await execute(world, card, code, world.command(), queue);
      return code;
    };
    await publish(first);
    const sent = await send();
    await publish(second);
    const ofCopy = await send();
    const { state } = await world.streams.load(organization, org);
    const copy = copyOf(created(state), 'thank-you')?.id ?? '';
    await execute(world, organization, org, world.command(), archiveDesign(copy));
    const anew = await send();

    const codes = [sent, ofCopy, anew];
    const found = await printables(world, { codes, isLast: true });
    const printed: unknown[] = [];
    let last: Buffer | null = null;
    for await (const sheet of sheetsOf({ artwork }, found)) {
      if (sheet.part !== 'front') continue;
      last = sheet.picture === undefined ? last : sheet.picture;
      printed.push([sheet.code, last?.toString()]);
    }
    expect(printed).to.have.deep.members([
      [sent, 'first'],
      [ofCopy, 'first'],
      [anew, 'second'],
    ]);
  });
});
