import { expect } from 'chai';
import { addDesign, stockCatalogue, changeDesign } from '../../../application/organizations/administer.js';
import {
  findFront,
  saveFront,
  uploadFront,
  type FrontDeps,
} from '../../../application/organizations/fronts.js';
import { sweepArtwork } from '../../../application/organizations/sweep-artwork.js';
import type { ReadModels } from '../../../application/ports/read-models.js';
import { foldDocument } from '../../../application/projecting/read-your-writes.js';
import { execute } from '../../../application/writing/execute.js';
import { collectionCard, putCollectionCard } from '../../../domain/catalogue.js';
import { streamName, Uuid } from '../../../domain/ids.js';
import { house } from '../../../domain/members.js';
import { saveDesign, organization, organizationStream, eraseDesign } from '../../../domain/organization.js';
import { collectionCards } from '../../../projections/catalogue.js';
import { organizations } from '../../../projections/organizations.js';
import { front } from '../../support/fixtures/front.js';
import { MemoryArtwork } from '../../support/memory/artwork.js';
import { MemoryImportRecords } from '../../support/memory/records.js';
import { makeWorld, org } from '../../support/fixtures/world.js';

const by = { actor: { kind: 'member' as const, id: 'ann' }, requestId: 'req_1' };
const minute = 60_000;
const pictures = { master: Buffer.from('m'), preview: Buffer.from('p'), thumbnail: Buffer.from('t') };

/** A file that notes whether any of it was read. */
const aFile = () => {
  const file = { isRead: false, pieces: [Buffer.from('a picture')] };
  const read = async function* () {
    file.isRead = true;
    yield* file.pieces;
  };
  return { file, read };
};

const start = async () => {
  const world = await makeWorld({ atomic: true });
  const artwork = new MemoryArtwork(world.clock);
  const importRecords = new MemoryImportRecords(world.clock);
  const makes = { fronts: [front('a'), front('b', 'fit')] };
  const pictureMaker = { make: async () => makes.fronts.map((each) => ({ ...each, pictures })) };
  const deps: FrontDeps = { ...world, artwork, importRecords, pictureMaker };
  const late = { is: false };
  const page: ReadModels['page'] = async <Document>(projection: unknown) => {
    const stream = projection === organizations ? organizationStream(org) : streamName('collection', 'wave');
    const events = await world.store.readStream(stream, 0);
    if (events.length === 0) return [];
    const document =
      projection === organizations
        ? await foldDocument(organizations, events)
        : await foldDocument(collectionCards, events);
    return [{ key: stream, created: 1n, position: 1n, document: document as Document }];
  };
  const readYourWrites = { beforeRead: () => Promise.resolve(), rowsMayBeLate: () => late.is };
  const sweep = () => sweepArtwork({ artwork, readModels: { page }, readYourWrites, clock: world.clock });
  const stored = async () => {
    const digests: string[] = [];
    for await (const { digest } of artwork.list()) digests.push(digest.slice(0, 1));
    return digests;
  };
  const upload = () => uploadFront(deps, org, 'Ours', aFile().read());
  return { world, deps, makes, late, sweep, stored, upload };
};

describe('a picture for a design', () => {
  it('has its bytes before its event, and keeps them when it is saved', async () => {
    const { deps, world, upload, stored, sweep } = await start();
    const id = await upload();
    expect(await stored()).to.deep.equal(['a', 'b']);
    for (const isSaved of [true, false]) expect(await saveFront(deps, by, org, id, 'fill')).to.equal(isSaved);
    const { state } = await world.streams.load(organization, org);
    const designs = state.status === 'created' ? state.designs : [];
    expect(designs.filter(({ artwork }) => artwork !== null)).to.have.length(1);
    for (let sweeps = 0; sweeps < 3; sweeps++) {
      await world.clock.advance(36 * minute);
      await sweep();
    }
    expect(await stored()).to.deep.equal(['a']);
    const saved = designs.find(({ artwork }) => artwork !== null)?.id ?? '';
    await changeDesign(deps, by, org, eraseDesign(saved));
    await sweep();
    expect(await stored()).to.deep.equal([]);
  });

  it('is gone within an hour if nobody saves it, but not while the read models are late', async () => {
    const { deps, world, upload, stored, sweep, late } = await start();
    const id = await upload();
    const kept = [];
    for (let at = 0; at < 60; at += 10) {
      await world.clock.advance(10 * minute);
      await sweep();
      kept.push((await stored()).length);
    }
    expect(kept).to.deep.equal([2, 2, 2, 2, 0, 0]);
    expect(await findFront(deps, org, id)).to.equal(null);
    expect(String(await saveFront(deps, by, org, id, 'fill').catch(String))).to.include('not kept any more');
    late.is = true;
    await upload();
    for (let at = 0; at < 60; at += 10) {
      await world.clock.advance(10 * minute);
      await sweep();
    }
    expect(await stored()).to.have.length(2);
  });

  for (const [slug, events] of [
    [null, 'DesignSaved'],
    ['wave', 'CollectionCardPublished'],
  ] as const) {
    const uploaded = async () => {
      const started = await start();
      const { deps, world, sweep } = started;
      const owner = slug === null ? org : house;
      const id = await uploadFront(deps, owner, 'Ours', aFile().read(), slug);
      const save = () => saveFront(deps, by, owner, id, 'fill').catch(String);
      const recorded = async () =>
        (await world.store.readLog(0n, 1_000)).filter(
          ({ type, data }) => type === events && JSON.stringify(data).includes(front('a').digest),
        ).length;
      const standStill = async (minutes: number) => {
        await world.clock.advance(minutes * minute);
        await sweep();
      };
      /** Before its event. */
      const standsStill = (minutes: number) => {
        const append = world.store.append.bind(world.store);
        world.store.append = async (...given) => {
          world.store.append = append;
          await standStill(minutes);
          return append(...given);
        };
      };
      return { ...started, save, recorded, standStill, standsStill };
    };

    it(`is refused, and not in ${events}, if it was removed while the save stood still`, async () => {
      const { deps, save, stored, recorded, standStill } = await uploaded();
      const find = deps.importRecords.find.bind(deps.importRecords);
      deps.importRecords.find = async (...given) => {
        const found = await find(...given);
        await standStill(41);
        return found;
      };
      expect(await save()).to.include('not kept any more');
      expect([await stored(), await recorded()]).to.deep.equal([[], 0]);
    });

    it(`is kept from the save on, however late ${events} comes within 40 minutes`, async () => {
      const { save, stored, recorded, world, standsStill } = await uploaded();
      await world.clock.advance(29 * minute);
      standsStill(39);
      expect(await save()).to.equal(true);
      expect([await stored(), await recorded()]).to.deep.equal([['a'], 1]);
    });

    it(`is said not to be there if ${events} came when it was removed, until it is uploaded again`, async () => {
      const { save, stored, recorded, upload, standsStill } = await uploaded();
      standsStill(41);
      expect(await save()).to.include('not kept any more');
      expect([await stored(), await recorded()]).to.deep.equal([[], 1]);
      await upload();
      expect(await stored()).to.include('a');
    });
  }

  it('of the first collection is there, though its event came when it was removed', async () => {
    const { deps, world, sweep, stored } = await start();
    const append = world.store.append.bind(world.store);
    world.store.append = async (...given) => {
      await world.clock.advance(41 * minute);
      await sweep();
      return append(...given);
    };
    await stockCatalogue(deps, { artwork: deps.artwork, frontOf: async () => ({ ...front('a'), pictures }) });
    expect(await stored()).to.deep.equal(['a']);
  });

  it('is gone although another one can not be removed', async () => {
    const { deps, world, upload, stored, sweep } = await start();
    await upload();
    await world.clock.advance(41 * minute);
    const remove = deps.artwork.remove.bind(deps.artwork);
    deps.artwork.remove = (digest, before) =>
      digest === front('a').digest ? Promise.reject(new Error('a bad sector')) : remove(digest, before);
    expect(String(await sweep().catch(String))).to.include('a bad sector');
    expect(await stored()).to.deep.equal(['a']);
  });

  it('stays as long as it may be on a card of the collection, also after it was replaced', async () => {
    const { deps, world, stored, sweep } = await start();
    for (const digit of ['a', 'c']) {
      await deps.artwork.put(front(digit).digest, pictures);
      const publish = putCollectionCard('Wave', true, front(digit));
      await execute(world, collectionCard, 'wave', world.command(), publish);
    }
    for (let sweeps = 0; sweeps < 3; sweeps++) {
      await world.clock.advance(60 * minute);
      await sweep();
    }
    expect(await stored()).to.deep.equal(['a', 'c']);
  });

  it('is gone within an hour if the process died when its bytes were there, whenever others start again', async () => {
    const { deps, world, stored, sweep } = await start();
    for (let restart = 31; restart < 60; restart++)
      for (const again of [1, 5, 9]) {
        await deps.artwork.put(front('a').digest, pictures);
        // A process sweeps when it starts, and then every ten minutes.
        let started = (restart % 10) + 1;
        for (let minutes = 1; minutes < 60; minutes++) {
          await world.clock.advance(minute);
          if (minutes === restart || minutes === restart + again) started = minutes;
          if (minutes >= started && (minutes - started) % 10 === 0) await sweep();
          if (minutes <= 30) expect(await stored()).to.deep.equal(['a']);
        }
        expect(await stored(), `started again after ${restart} minutes`).to.deep.equal([]);
      }
  });

  it('counts for its organization before any of it is read', async () => {
    const { deps, world, makes } = await start();
    for (const [digit, slug] of [
      ['c', null],
      ['d', 'thanks'],
    ] as const) {
      const artwork = front(digit, 'fill', 970_000_000);
      const id = Uuid.parse(world.entropy.uuid());
      const save = saveDesign({ id, name: 'Large', slug, artwork });
      await execute(world, organization, org, world.command(), save);
    }
    makes.fronts = [front('e', 'fill', 9_000_000), front('f', 'fit', 9_000_000)];
    expect(await uploadFront(deps, org, 'One', aFile().read())).to.be.a('string');
    const { file, read } = aFile();
    expect(await uploadFront(deps, org, 'Two', read()).catch(String)).to.match(
      /may take 1,000 MB. Erase some/,
    );
    expect(file.isRead).to.equal(false);
    expect(await deps.importRecords.listOf('front', org)).to.have.length(1);
    await world.clock.advance(30 * minute);
    expect(await uploadFront(deps, org, 'Three', aFile().read())).to.be.a('string');
  });

  it('is not taken beside others that come at once where there is room for one alone', async () => {
    const { deps, world, makes, stored } = await start();
    const artwork = front('c', 'fill', 970_000_000);
    const save = saveDesign({ id: Uuid.parse(world.entropy.uuid()), name: 'Large', slug: null, artwork });
    await execute(world, organization, org, world.command(), save);
    makes.fronts = [front('e', 'fill', 9_000_000)];
    const files = Array.from({ length: 3 }, aFile);
    const tries = files.map(({ read }) =>
      uploadFront(deps, org, 'At once', read()).then(
        () => 1,
        () => 0,
      ),
    );
    const taken = (await Promise.all(tries)).reduce<number>((sum, each) => sum + each, 0);
    expect(taken).to.be.at.most(1);
    expect(files.filter(({ file }) => file.isRead)).to.have.length(taken);
    expect(await deps.importRecords.listOf('front', org)).to.have.length(taken);
    if (taken === 0) await uploadFront(deps, org, 'Alone', aFile().read());
    expect(await stored()).to.deep.equal(['e']);
  });

  it('is one of 2,000 at most, although the same picture takes no more room', async () => {
    const { deps, world } = await start();
    const artwork = front('a');
    // There is one at first.
    for (let n = 0; n < 1_999; n++) {
      if (n === 1_998) expect(await uploadFront(deps, org, 'Last', aFile().read())).to.be.a('string');
      const id = Uuid.parse(world.entropy.uuid());
      const archived = { type: 'DesignArchived', data: { id } } as const;
      await execute(world, organization, org, world.command(), (state) => [
        ...saveDesign({ id, name: 'Again', slug: null, artwork })(state),
        archived,
      ]);
    }
    const { file, read } = aFile();
    expect(await uploadFront(deps, org, 'One more', read()).catch(String)).to.include('has saved 2,00');
    expect(file.isRead).to.equal(false);
    expect(await addDesign(deps, by, org, 'A name', null).catch(String)).to.include('has saved 2,00');
    expect(await addDesign(deps, by, org, 'A copy', 'wave').catch(String)).to.include('has saved 2,00');
  });
});
