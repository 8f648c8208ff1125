import { expect } from 'chai';
import { VirtualClock } from '../../support/memory/clock.js';
import {
  headInterval,
  waitTimeout,
  waitTimeoutOfSeveral,
  noticedWithin,
  ProjectionBoard,
  type ProjectionStatus,
} from '../../../application/projecting/projection-board.js';

const standing = (
  name: string,
  checkpoint: bigint,
  changes: Partial<ProjectionStatus> = {},
): ProjectionStatus => ({
  name,
  checkpoint,
  live: true,
  rebuilding: null,
  ...changes,
});

const setUp = (...projections: readonly ProjectionStatus[]) => {
  const clock = new VirtualClock();
  const board = new ProjectionBoard(clock);
  board.status({ down: null, projections });
  const resolved: bigint[] = [];
  const wait = (...positions: readonly bigint[]) =>
    positions.forEach(
      (position) => void board.waitUntilProjected(position).then(() => resolved.push(position)),
    );
  return { clock, board, resolved, wait };
};

describe('the board of a projector', () => {
  it('ends each wait when its position is passed, in the order of the positions', async () => {
    const { board, resolved, wait, clock } = setUp(standing('a', 10n));
    wait(15n, 12n, 13n, 12n, 10n);
    await clock.advance(0);
    expect(resolved).to.deep.equal([10n]);
    board.moved(13n);
    await clock.advance(0);
    expect(resolved).to.deep.equal([10n, 12n, 12n, 13n]);
    board.moved(20n);
    await clock.advance(0);
    expect(resolved).to.deep.equal([10n, 12n, 12n, 13n, 15n]);
    expect(board.current().projections).to.deep.equal([standing('a', 20n)]);
  });

  it('ends every wait after 5 s', async () => {
    const { resolved, wait, clock } = setUp(standing('a', 0n));
    wait(2n);
    await clock.advance(waitTimeout - 1);
    wait(1n);
    expect(resolved).to.deep.equal([]);
    await clock.advance(1);
    expect(resolved).to.deep.equal([2n]);
    await clock.advance(waitTimeout);
    expect(resolved).to.deep.equal([2n, 1n]);
    wait(3n);
    await clock.advance(waitTimeout);
    expect(resolved).to.deep.equal([2n, 1n, 3n]);
    expect(clock.sleeping).to.equal(0);
  });

  it('ends every wait after 5 s, even if the system clock is set back meanwhile', async () => {
    const { resolved, wait, clock } = setUp(standing('a', 0n));
    wait(1n);
    await clock.advance(1_000);
    clock.set(clock.now() - 3_600_000);
    wait(2n);
    await clock.advance(waitTimeout - 1_000);
    expect(resolved).to.deep.equal([1n]);
    await clock.advance(1_000);
    expect(resolved).to.deep.equal([1n, 2n]);
  });

  it('makes writes wait for the takeover of a projector that died, whenever they began', async () => {
    const { board, resolved, wait, clock } = setUp(standing('a', 5n));
    wait(6n);
    await clock.advance(3_000);
    board.status({ down: 'away', projections: [standing('a', 5n)] });
    wait(7n);
    await clock.advance(waitTimeout - 1);
    expect(resolved).to.deep.equal([]);
    board.status({ down: null, projections: [standing('a', 5n)] });
    wait(8n);
    await clock.advance(waitTimeout - 1);
    expect(resolved).to.deep.equal([]);
    board.moved(7n);
    await clock.advance(0);
    expect(resolved).to.deep.equal([6n, 7n]);
    await clock.advance(1);
    expect(resolved).to.deep.equal([6n, 7n, 8n]);
    expect(clock.sleeping).to.equal(0);
  });

  it('makes nobody wait for a projector that has been down for 5 s, until it is up again', async () => {
    const { board, resolved, wait, clock } = setUp(standing('a', 5n));
    board.status({ down: 'away', projections: [] });
    await clock.advance(waitTimeout - 1);
    wait(5n, 7n);
    board.status({ down: 'still away', projections: [] });
    await clock.advance(0);
    expect(resolved).to.deep.equal([5n]);
    await clock.advance(1);
    wait(8n);
    await clock.advance(0);
    expect(resolved).to.deep.equal([5n, 7n, 8n]);
    expect(board.current()).to.deep.equal({ down: 'still away', projections: [] });
    board.status({ down: null, projections: [standing('a', 5n)] });
    wait(9n);
    await clock.advance(waitTimeout - 1);
    expect(resolved).to.deep.equal([5n, 7n, 8n]);
    board.moved(9n);
    await clock.advance(0);
    expect(resolved).to.deep.equal([5n, 7n, 8n, 9n]);
  });

  it('reports late rows while a projection is built, and after a vain wait until its position is passed', async () => {
    const { board, wait, clock } = setUp(standing('a', 5n));
    expect(board.isLate()).to.equal(false);
    board.status({ down: null, projections: [standing('a', 5n), standing('b', 5n, { live: false })] });
    expect(board.isLate()).to.equal(true);
    board.status({ down: null, projections: [standing('a', 5n), standing('b', 5n)] });
    wait(7n);
    await clock.advance(waitTimeout - 1);
    expect(board.isLate()).to.equal(false);
    await clock.advance(1);
    expect(board.isLate()).to.equal(true);
    board.moved(7n);
    expect(board.isLate()).to.equal(false);
  });

  it('reports late rows while the projector is down, and until positions nobody waited for are passed', async () => {
    const { board, wait, clock } = setUp(standing('a', 5n));
    board.status({ down: 'away', projections: [standing('a', 5n)] });
    expect(board.isLate()).to.equal(true);
    await clock.advance(waitTimeout);
    wait(7n);
    board.status({ down: null, projections: [standing('a', 6n)] });
    expect([board.isLate(), board.lateFor()]).to.deep.equal([true, 0]);
    await clock.advance(waitTimeout);
    expect([board.isLate(), board.lateFor()]).to.deep.equal([true, waitTimeout]);
    board.moved(7n);
    expect([board.isLate(), board.lateFor()]).to.deep.equal([false, null]);
  });

  describe('of a log that other processes write to, too,', () => {
    const shared = (checkpoint: bigint) => {
      const clock = new VirtualClock();
      const board = new ProjectionBoard(clock, { isShared: true });
      board.status({ down: null, projections: [standing('a', checkpoint)] });
      // It has been there for long enough that others wait for what it shows.
      clock.skip(noticedWithin);
      board.viewed(clock.monotonic(), false, 0n);
      /** Looks at the head for as long as it is to be, as a process does. */
      const look = async (head: bigint, ms: number, areSeveral = false): Promise<void> => {
        for (let passed = 0; passed < ms; passed += headInterval) {
          board.viewed(clock.monotonic(), areSeveral, 0n);
          board.sawHead(head, clock.monotonic());
          await clock.advance(headInterval);
        }
      };
      return { clock, board, look };
    };

    it('reports late rows until it has seen how long the log was at the start, and they show that', () => {
      const { board, clock } = shared(5n);
      expect(board.isLate()).to.equal(true);
      board.sawHead(7n, clock.monotonic());
      expect(board.isLate()).to.equal(true);
      board.moved(6n);
      expect(board.isLate()).to.equal(true);
      board.moved(7n);
      expect(board.isLate()).to.equal(false);
    });

    it('takes no head that it saw just after its start for all that was acknowledged without waiting', async () => {
      const clock = new VirtualClock();
      const board = new ProjectionBoard(clock, { isShared: true });
      board.status({ down: null, projections: [standing('a', 5n)] });
      board.viewed(clock.monotonic(), false, 0n);
      board.sawHead(5n, clock.monotonic());
      // Another process does not know yet that rows are shown, and writes.
      expect([board.isLate(), board.lacksEvents()]).to.deep.equal([true, true]);
      await clock.advance(noticedWithin);
      board.viewed(clock.monotonic(), false, 0n);
      board.sawHead(7n, clock.monotonic());
      expect(board.isLate()).to.equal(true);
      board.moved(7n);
      expect([board.isLate(), board.lacksEvents()]).to.deep.equal([false, false]);
    });

    it('reports late rows before another process can have given up waiting for one, and until they show it', async () => {
      const { board, look } = shared(5n);
      await look(5n, headInterval);
      expect(board.isLate()).to.equal(false);
      await look(9n, headInterval);
      expect(board.isLate()).to.equal(false);
      await look(9n, waitTimeout - headInterval);
      expect(board.isLate()).to.equal(true);
      board.moved(8n);
      expect(board.isLate()).to.equal(true);
      board.moved(9n);
      expect(board.isLate()).to.equal(false);
    });

    it('reports late rows after a look that came late, because writes before it may have been given up', async () => {
      const { board, clock, look } = shared(5n);
      await look(5n, headInterval);
      await clock.advance(3 * headInterval);
      board.viewed(clock.monotonic(), false, 0n);
      board.sawHead(9n, clock.monotonic());
      expect(board.isLate()).to.equal(true);
      board.moved(9n);
      expect(board.isLate()).to.equal(false);
    });

    it('knows that rows lack events as soon as it has seen a head that they have not passed', async () => {
      const { board, look } = shared(5n);
      await look(5n, headInterval);
      expect(board.lacksEvents()).to.equal(false);
      await look(9n, headInterval);
      expect([board.lacksEvents(), board.isLate()]).to.deep.equal([true, false]);
      await look(9n, 60_000);
      expect(board.lacksEvents()).to.equal(true);
      board.moved(9n);
      expect(board.lacksEvents()).to.equal(false);
    });

    it('knows that rows lack events while readers see an older build, however far the new one has come', async () => {
      const { board, look } = shared(5n);
      board.status({ down: null, projections: [standing('a', 5n, { live: false, rebuilding: 5n })] });
      await look(5n, headInterval);
      expect(board.lacksEvents()).to.equal(true);
      board.status({ down: null, projections: [standing('a', 5n)] });
      await look(5n, 2 * noticedWithin);
      expect(board.lacksEvents()).to.equal(false);
    });

    it('takes rows to be late until every process knows that they are shown, and has waited for them', async () => {
      const { board, look } = shared(5n);
      await look(5n, headInterval);
      board.status({ down: null, projections: [standing('a', 0n, { live: false, rebuilding: 5n })] });
      await look(5n, headInterval);
      // Another process writes at 7 meanwhile, and does not wait: no rows are read.
      board.status({ down: null, projections: [standing('a', 5n)] });
      expect([board.isLate(), board.lacksEvents()]).to.deep.equal([true, true]);
      await look(7n, 2 * noticedWithin);
      expect([board.isLate(), board.lacksEvents()]).to.deep.equal([true, true]);
      board.moved(7n);
      expect([board.isLate(), board.lacksEvents()]).to.deep.equal([false, false]);
    });

    it('tells 3 s before what it is about to give up, and then what it has, until it gives up more', async () => {
      const { board, clock } = shared(5n);
      board.viewed(clock.monotonic(), false, 0n);
      void board.waitUntilProjected(7n);
      await clock.advance(1_000);
      void board.waitUntilProjected(9n);
      await clock.advance(999);
      expect(board.missing()).to.equal(0n);
      await clock.advance(1);
      expect(board.missing()).to.equal(7n);
      await clock.advance(1_000);
      expect(board.missing()).to.equal(9n);
      await clock.advance(60_000);
      expect(board.missing()).to.equal(9n);
    });

    it('knows that rows lack events that another process has given up, until the projections have passed them', async () => {
      const { board, clock, look } = shared(5n);
      await look(5n, headInterval);
      board.viewed(clock.monotonic(), false, 7n);
      expect(board.lacksEvents()).to.equal(true);
      board.moved(7n);
      expect(board.lacksEvents()).to.equal(false);
    });

    it('takes rows to lack events where another process may have given some up untold', async () => {
      const { board, clock, look } = shared(5n);
      const view = (areSeveral = false) => board.viewed(clock.monotonic(), areSeveral, 0n);
      view();
      expect(board.lacksEvents(), 'before a look at the head').to.equal(true);
      await look(5n, headInterval);
      expect(board.lacksEvents()).to.equal(false);
      await clock.advance(noticedWithin);
      expect(board.lacksEvents(), 'without a look at other processes').to.equal(true);
      view(true);
      expect(board.lacksEvents(), 'beside another release').to.equal(true);
      view();
      expect(board.lacksEvents(), 'just after another release has gone').to.equal(true);
      await look(5n, 2 * noticedWithin);
      board.status({ down: 'the log is away', projections: [standing('a', 5n)] });
      expect(board.lacksEvents(), 'where the projector went down after that look').to.equal(false);
      await look(5n, headInterval);
      expect(board.lacksEvents(), 'where it was down before').to.equal(true);
      board.status({ down: null, projections: [standing('a', 5n)] });
      expect(board.lacksEvents(), 'just after it has come up').to.equal(true);
      await look(5n, 2 * noticedWithin);
      expect(board.lacksEvents()).to.equal(false);
    });

    it('reports late rows when a projector is back, until they show what the log had when all processes knew that', async () => {
      const { board, look } = shared(5n);
      await look(5n, headInterval);
      board.status({ down: 'away', projections: [standing('a', 5n)] });
      await look(9_000n, 60_000);
      board.status({ down: null, projections: [standing('a', 6n)] });
      await look(9_100n, headInterval);
      board.moved(9_100n);
      expect(board.isLate()).to.equal(true);
      await look(9_200n, 2 * headInterval);
      board.moved(9_199n);
      expect(board.isLate()).to.equal(true);
      board.moved(9_200n);
      expect(board.isLate()).to.equal(false);
    });

    it('reports late rows while it does not know how long the log is', async () => {
      const { board, clock, look } = shared(5n);
      await look(5n, headInterval);
      expect(board.isLate()).to.equal(false);
      await clock.advance(waitTimeout);
      expect(board.isLate()).to.equal(true);
      await look(5n, headInterval);
      expect(board.isLate()).to.equal(false);
    });

    it('reports late rows while another release is about, without a word to lists, and until they show what it left', async () => {
      const { board, look } = shared(5n);
      await look(5n, headInterval);
      const seen = () => [board.isLate(), board.lateFor()];
      expect(seen()).to.deep.equal([false, null]);
      await look(5n, 60_000, true);
      expect(seen()).to.deep.equal([true, null]);
      // Until every process knows that it is gone, another one may acknowledge what these rows lack.
      await look(7n, noticedWithin);
      expect(board.isLate()).to.equal(true);
      await look(8n, headInterval);
      board.moved(7n);
      expect(board.isLate()).to.equal(true);
      board.moved(8n);
      expect(seen()).to.deep.equal([false, null]);
    });

    it('makes a write beside another release wait for half a second, and no write while rows are late', async () => {
      const { board, clock, look } = shared(5n);
      const passed: string[] = [];
      const wait = (position: bigint, what: string) =>
        void board.waitUntilProjected(position).then(() => passed.push(what));
      // Other processes may not know of the other release yet, and read rows.
      wait(6n, 'begun before');
      await look(5n, noticedWithin - headInterval, true);
      expect(passed).to.deep.equal([]);
      await look(5n, headInterval, true);
      expect(passed).to.deep.equal(['begun before']);
      board.moved(6n);
      passed.length = 0;
      wait(6n, 'projected');
      board.moved(6n);
      wait(7n, 'given up');
      await clock.advance(waitTimeoutOfSeveral - 1);
      expect(passed).to.deep.equal(['projected']);
      await clock.advance(1);
      wait(8n, 'not waited for');
      await clock.advance(0);
      expect(passed).to.deep.equal(['projected', 'given up', 'not waited for']);
      expect(board.lateFor()).to.equal(0);
      board.moved(8n);
      wait(9n, 'projector gone');
      board.status({ down: 'away', projections: [standing('a', 8n)] });
      await clock.advance(0);
      expect(passed.at(-1)).to.equal('projector gone');
    });

    it('reports late rows if it has not looked at releases for as long as it takes one to come', async () => {
      const { board, clock, look } = shared(5n);
      await look(5n, headInterval);
      await clock.advance(noticedWithin);
      board.sawHead(5n, clock.monotonic());
      expect(board.isLate()).to.equal(true);
      board.viewed(clock.monotonic(), false, 0n);
      expect(board.isLate()).to.equal(false);
    });

    it('gives nothing up at once after a pause in which nobody looked at the projector', async () => {
      const { board, clock, look } = shared(5n);
      await look(5n, headInterval);
      board.status({ down: 'away', projections: [standing('a', 5n)] });
      await look(5n, waitTimeout);
      const passed: string[] = [];
      void board.waitUntilProjected(6n).then(() => passed.push('at once'));
      await clock.advance(60_000);
      void board.waitUntilProjected(7n).then(() => passed.push('after a look'));
      await clock.advance(0);
      expect(passed).to.deep.equal(['at once']);
      board.status({ down: null, projections: [standing('a', 7n)] });
      await clock.advance(0);
      expect(passed).to.deep.equal(['at once', 'after a look']);
    });
  });

  it('makes nobody wait for a projection that catches up, but until the slowest of the others has passed', async () => {
    const { board, resolved, wait, clock } = setUp(
      standing('a', 10n),
      standing('b', 4n),
      standing('late', 3n, { live: false, rebuilding: 3n }),
    );
    wait(4n, 6n);
    await clock.advance(0);
    expect(resolved).to.deep.equal([4n]);
    board.moved(20n);
    await clock.advance(0);
    expect(resolved).to.deep.equal([4n, 6n]);
    board.status({ down: null, projections: [standing('late', 3n, { live: false, rebuilding: 3n })] });
    wait(30n);
    await clock.advance(0);
    expect(resolved).to.deep.equal([4n, 6n, 30n]);
  });

  it('notifies listeners when somebody begins to wait', async () => {
    const { board, wait } = setUp(standing('a', 10n));
    let calls = 0;
    const forget = board.onAwaited(() => calls++);
    wait(9n);
    expect([calls, board.isAwaited()]).to.deep.equal([0, false]);
    wait(11n, 12n);
    expect([calls, board.isAwaited()]).to.deep.equal([2, true]);
    forget();
    wait(13n);
    board.moved(13n);
    expect([calls, board.isAwaited()]).to.deep.equal([2, false]);
  });

  it('shows how far each projection is', () => {
    const { board } = setUp(
      standing('a', 10n),
      standing('b', 10n, { rebuilding: 2n }),
      standing('late', 3n, { live: false }),
    );
    board.moved(12n);
    expect(board.current()).to.deep.equal({
      down: null,
      projections: [
        standing('a', 12n),
        standing('b', 12n, { rebuilding: 2n }),
        standing('late', 3n, { live: false }),
      ],
    });
  });

  it('makes everyone wait for a projector that has not started yet, and nobody for one that is closed', async () => {
    const clock = new VirtualClock();
    const board = new ProjectionBoard(clock);
    const starting = board.waitUntilProjected(1n);
    board.status({ down: null, projections: [standing('a', 1n)] });
    await starting;
    const waiting = board.waitUntilProjected(9n);
    board.close();
    await waiting;
    await board.waitUntilProjected(9n);
    await clock.advance(0);
    expect(clock.sleeping).to.equal(0);
  });
});
