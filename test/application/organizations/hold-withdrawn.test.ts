import { expect } from 'chai';
import { changeCard } from '../../../application/cards/change-card.js';
import { queueDueCards, type FloorDeps } from '../../../application/cards/floor.js';
import { partOfRun, printables } from '../../../application/cards/print-run.js';
import { holdWithdrawn } from '../../../application/organizations/hold-withdrawn.js';
import { sendCard } from '../../../application/cards/send-card.js';
import { execute } from '../../../application/writing/execute.js';
import {
  card,
  isMade,
  queue,
  release,
  reportStep,
  schedule,
  type Card,
  type CardEvent,
} from '../../../domain/card.js';
import type { CardCode } from '../../../domain/card-code.js';
import { DomainError } from '../../../domain/errors.js';
import { categoryOf, LocalDate, Uuid } from '../../../domain/ids.js';
import {
  eraseDesign,
  organization,
  organizationStream,
  saveDesign,
  withdrawDesign,
  type Organization,
  type OrganizationEvent,
} from '../../../domain/organization.js';
import { front } from '../../support/fixtures/front.js';
import { cards } from '../../../projections/cards.js';
import { organizations } from '../../../projections/organizations.js';
import type { Projection } from '../../../projections/projection.js';
import { everyOrganization, type Stored } from '../../../application/ports/read-models.js';
import {
  anOrder,
  balanceOf,
  designId,
  letter,
  makeWorld,
  nothingProjected,
  org,
  sendRequest,
} from '../../support/fixtures/world.js';
import { MemoryReadModels } from '../../support/memory/read-models.js';
import { drive } from '../../support/simulation/drive.js';

const minute = 60_000;
const reason = 'The photograph belongs to somebody else.';
const told =
  'The design was withdrawn: The photograph belongs to somebody else. Cancel the card and send it again with another design';

const start = async ({ atomic, credits = 300 }: { readonly atomic: boolean; readonly credits?: number }) => {
  const world = await makeWorld({ atomic, credits });
  const readModels = new MemoryReadModels();
  const foldAll = async (projection: Projection<unknown>): Promise<void> => {
    const rows = new Map<string, Stored<unknown>>();
    for (const event of await world.store.readLog(0n, 100_000)) {
      if (categoryOf(event.stream) !== projection.category) continue;
      const key = projection.key(event);
      const before = rows.get(key);
      const document = projection.evolve(before?.document ?? null, event);
      const { position } = event;
      if (document !== null) rows.set(key, { key, created: before?.created ?? position, position, document });
    }
    const { generation } = await readModels.active(projection);
    await readModels.activate(projection, generation);
    await readModels.save([{ projection, generation, documents: [...rows.values()], checkpoint: 1n }]);
  };
  const beforeRead = async (): Promise<void> => {
    await foldAll(cards);
    await foldAll(organizations);
  };
  const late = { is: false };
  const readYourWrites = { ...nothingProjected, beforeRead, rowsMayBeLate: () => late.is };
  const deps: FloorDeps = { ...world, readModels, readYourWrites };
  const send = async (): Promise<CardCode> => (await sendCard(world, sendRequest(world))).code;
  const decide = (code: CardCode, decision: (state: Card) => CardEvent[]) =>
    execute(world, card, code, world.command(), decision);
  const setWithdrawn = (why: string | null) =>
    execute(world, organization, org, world.command(), withdrawDesign(designId, why));
  const pass = (signal = new AbortController().signal) => drive(world.clock, holdWithdrawn(deps, signal));
  const seen = async (codes: readonly CardCode[]): Promise<Readonly<Record<string, number>>> => {
    const counted: Record<string, number> = {};
    for (const code of codes) {
      const { state } = await world.streams.load(card, code);
      const status = isMade(state) ? state.status : 'none';
      counted[status] = (counted[status] ?? 0) + 1;
    }
    return counted;
  };
  const carriedOut = async (): Promise<number> =>
    (await world.store.readStream(organizationStream(org), 0)).filter(
      ({ type }) => type === 'WithdrawalCarriedOut',
    ).length;
  return { world, deps, late, send, decide, setWithdrawn, pass, seen, carriedOut };
};

const sendMany = async (send: () => Promise<CardCode>, count: number): Promise<CardCode[]> => {
  const codes: CardCode[] = [];
  for (let at = 0; at < count; at++) codes.push(await send());
  return codes;
};

for (const atomic of [true, false])
  describe(`a withdrawn design, on a store that ${atomic ? 'commits several streams at once' : 'writes one stream at a time'}`, () => {
    it('has its pending and queued cards held with the reason, each once, and their credits back', async () => {
      const { world, send, decide, setWithdrawn, pass, seen, carriedOut } = await start({ atomic });
      const codes = await sendMany(send, 230);
      const [printed, waiting] = codes as [CardCode, CardCode];
      for (const code of [printed, waiting]) await decide(code, queue);
      await decide(printed, reportStep('card_stock_prepared', 'in_progress', null));
      const other = Uuid.parse('6c0f6a3e-0000-4000-8000-00000000000e');
      await execute(
        world,
        organization,
        org,
        world.command(),
        saveDesign({ id: other, name: 'Another', slug: null }),
      );
      const ofAnother = await send();
      await setWithdrawn(reason);
      await pass();
      expect(await seen(codes)).to.deep.equal({ blocked: 229, in_production: 1 });
      expect(await seen([ofAnother])).to.deep.equal({ pending: 1 });
      expect(await balanceOf(world)).to.equal(298);
      const { state } = await world.streams.load(card, waiting);
      expect(isMade(state) && state.heldReason).to.equal(told);
      expect(await carriedOut(), 'before it has settled').to.equal(0);
      await world.clock.advance(minute);
      await pass();
      await pass();
      expect(await carriedOut()).to.equal(1);
      expect(await balanceOf(world)).to.equal(298);
    });

    it('has all of them held though a pass breaks off in the middle', async () => {
      const { world, deps, send, setWithdrawn, pass, seen, carriedOut } = await start({ atomic });
      const codes = await sendMany(send, 150);
      await setWithdrawn(reason);
      await world.clock.advance(minute);
      const { readModels } = deps;
      const page = readModels.page.bind(readModels);
      let pages = 0;
      readModels.page = async (projection, query) => {
        if (query.org === everyOrganization) return page(projection, query);
        pages += 1;
        if (pages === 2) throw new Error('killed');
        return page(projection, query);
      };
      const failure = await pass().then(String, String);
      expect(failure).to.equal('Error: killed');
      expect(await seen(codes)).to.deep.equal({ blocked: 100, pending: 50 });
      expect(await carriedOut()).to.equal(0);
      await pass();
      expect(await seen(codes)).to.deep.equal({ blocked: 150 });
      expect(await carriedOut()).to.equal(1);
    });
  });

describe('a withdrawal', () => {
  it('is not carried out while rows may be late, or after the design has changed', async () => {
    const { world, deps, late, setWithdrawn, pass, carriedOut } = await start({ atomic: true });
    await setWithdrawn(reason);
    await world.clock.advance(minute);
    late.is = true;
    await pass();
    late.is = false;
    const { readModels } = deps;
    const page = readModels.page.bind(readModels);
    let isChanged = false;
    readModels.page = async (projection, query) => {
      const mayChange = !isChanged && query.org !== everyOrganization;
      if (mayChange) for (const why of [null, reason]) await setWithdrawn(why);
      isChanged ||= mayChange;
      return page(projection, query);
    };
    await pass();
    expect(await carriedOut()).to.equal(0);
    await world.clock.advance(minute);
    readModels.page = async (...query) => {
      const another = saveDesign({ id: Uuid.parse(world.entropy.uuid()), name: 'New', slug: null });
      await execute(world, organization, org, world.command(), another);
      return page(...query);
    };
    await pass();
    expect(await carriedOut()).to.equal(1);
  });

  it('holds a card that was sent beside it, too', async () => {
    const { world, decide, setWithdrawn, pass, seen } = await start({ atomic: true });
    const codeBeside = 'HC-712340V' as CardCode;
    await setWithdrawn(reason);
    await pass();
    await decide(codeBeside, () => [schedule(anOrder(), letter)]);
    await world.clock.advance(minute);
    await pass();
    expect(await seen([codeBeside])).to.deep.equal({ blocked: 1 });
  });

  it('holds a card that appears after all were held, when it is due, and lets nobody queue it', async () => {
    const { world, deps, decide, setWithdrawn, pass, seen } = await start({ atomic: true });
    const code = 'HC-712340V' as CardCode;
    await setWithdrawn(reason);
    await world.clock.advance(minute);
    await pass();
    await decide(code, () => [schedule(anOrder(), letter)]);
    const refusal = await changeCard(deps, { code, org: null }, world.command(), queue).catch(String);
    expect(refusal).to.include(told);
    await world.clock.advance(30 * 24 * 60 * minute);
    await deps.readYourWrites.beforeRead();
    expect(await queueDueCards(deps, 0)).to.equal(0);
    expect(await seen([code])).to.deep.equal({ blocked: 1 });
  });

  it('keeps a queued card out of the print run before it is held', async () => {
    const { world, deps, send, decide, setWithdrawn, seen } = await start({ atomic: true });
    const code = await send();
    await decide(code, queue);
    const printed = async () => {
      await deps.readYourWrites.beforeRead();
      const part = await partOfRun(deps, LocalDate.parse('2099-01-01'), '', '');
      expect(part.codes, 'on the floor').to.deep.equal([code]);
      return (await printables(world, part)).map((each) => each.code);
    };
    expect(await printed()).to.deep.equal([code]);
    await setWithdrawn(reason);
    expect(await printed()).to.deep.equal([]);
    expect(await seen([code])).to.deep.equal({ queued: 1 });
    await setWithdrawn(null);
    expect(await printed()).to.deep.equal([code]);
  });

  it('ends when the design is put back: held cards can be released then, and not before', async () => {
    const { world, deps, send, setWithdrawn, pass, seen } = await start({ atomic: true });
    const codes = await sendMany(send, 2);
    await setWithdrawn(reason);
    await pass();
    const [code] = codes as [CardCode];
    const released = () =>
      changeCard(deps, { code, org: null }, world.command(), release).then(
        ({ card: made }) => made.status,
        (error: unknown) => (error instanceof DomainError ? [error.code, error.message] : String(error)),
      );
    expect(await released()).to.deep.equal(['invalid_transition', `${told}.`]);
    await setWithdrawn(null);
    expect(await released()).to.equal('pending');
    await world.clock.advance(minute);
    await pass();
    expect(await seen(codes)).to.deep.equal({ pending: 1, blocked: 1 });
  });

  it('holds cards of a picture that was erased alike, for good', async () => {
    const { world, deps, send, decide, pass, seen, carriedOut } = await start({ atomic: true });
    const design = Uuid.parse('6c0f6a3e-0000-4000-8000-00000000000e');
    const change = (decision: Parameters<typeof execute<Organization, OrganizationEvent>>[4]) =>
      execute(world, organization, org, world.command(), decision);
    await change(saveDesign({ id: design, name: 'Pictured', slug: null, artwork: front('a') }));
    const codes = await sendMany(send, 2);
    const [code] = codes as [CardCode];
    await decide(code, queue);
    await change(eraseDesign(design));
    await deps.readYourWrites.beforeRead();
    const part = await partOfRun(deps, LocalDate.parse('2099-01-01'), '', '');
    expect([part.codes, await printables(world, part)]).to.deep.equal([[code], []]);
    for (let passes = 0; passes < 2; passes++) {
      await pass();
      expect(await seen(codes)).to.deep.equal({ blocked: 2 });
      await world.clock.advance(minute);
    }
    await pass();
    expect([await carriedOut(), await balanceOf(world)]).to.deep.equal([1, 300]);
    const erased =
      'The picture of the design was erased. Cancel the card and send it again with another design';
    const { state } = await world.streams.load(card, code);
    expect(isMade(state) && state.heldReason).to.equal(erased);
    for (const why of [reason, null]) await change(withdrawDesign(design, why));
    const refusal = await changeCard(deps, { code, org: null }, world.command(), release).catch(String);
    expect(refusal).to.include(erased);
  });

  it('keeps no card waiting for one that can’t be held, and is not carried out with it', async () => {
    const { world, deps, send, setWithdrawn, pass, seen, carriedOut } = await start({ atomic: true });
    const [bad, ...good] = await sendMany(send, 120);
    await setWithdrawn(reason);
    await world.clock.advance(minute);
    const load = world.streams.load.bind(world.streams);
    deps.streams.load = async (aggregate, id, ...rest) => {
      if (id === bad) throw new Error('damaged');
      return load(aggregate, id, ...rest);
    };
    expect(await pass().then(String, String)).to.equal('Error: damaged');
    deps.streams.load = load;
    expect(await seen(good)).to.deep.equal({ blocked: 119 });
    expect(await carriedOut()).to.equal(0);
  });
});
