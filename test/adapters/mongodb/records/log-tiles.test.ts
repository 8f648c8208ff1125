import { expect } from 'chai';
import { mongoLogTiles } from '../../../../adapters/mongodb/records/log-tiles.js';
import { frontierAt } from '../../../../application/log/log-proofs.js';
import { emptyFrontier, grow, rootOf } from '../../../../domain/merkle.js';
import { leavesFrom } from '../../../contract/log-tiles.js';
import { describeWithEngines } from '../../../support/runner/engines.js';
import { freshDatabase, hearingCalls, refusing } from '../support.js';

const rootAt = (size: number): Buffer =>
  rootOf(
    grow(
      emptyFrontier,
      leavesFrom(0, size).map(({ hash }) => hash),
    ).frontier,
  );

describeWithEngines(['MONGODB_URL'], 'the tiles of the log in MongoDB, whose notary dies', (url) => {
  it('are whole after a death before any call, and are extended again', async () => {
    const { database, end } = freshDatabase(url);
    try {
      let size = 0;
      let isOver = false;
      // One call later each time, until an extension gets through.
      for (let dies = 0; !isOver; dies += 1) {
        let calls = 0;
        const dying = mongoLogTiles(refusing(database, () => (calls += 1) > dies));
        const leaves = leavesFrom(size, 200);
        isOver = await dying
          .extend(size, leaves, leaves.at(-1)?.position ?? 0n, 2 * dies + 1)
          .catch(() => false);
        const tiles = mongoLogTiles(database);
        const tree = await tiles.tree();
        expect([size, size + 200], `death at call ${dies}`).to.include(tree.size);
        expect(rootOf(tree).equals(rootAt(tree.size))).to.equal(true);
        expect(rootOf(await frontierAt(tiles, tree.size)).equals(rootAt(tree.size))).to.equal(true);
        size = tree.size;
        // The next notary has other events to begin with.
        const other = leavesFrom(size, 7);
        expect(await tiles.extend(size, other, other.at(-1)?.position ?? 0n, 2 * dies + 2)).to.equal(true);
        size += 7;
        expect(rootOf(await frontierAt(tiles, size)).equals(rootAt(size))).to.equal(true);
        isOver ||= dies > 30;
      }
      expect(size).to.be.greaterThan(200);
    } finally {
      await end();
    }
  });

  it('of another log are replaced, even if they were longer', async () => {
    const { database, end } = freshDatabase(url);
    try {
      let calls = 0;
      // The first notary dies once its tile is written: nothing of it counts.
      const dying = mongoLogTiles(
        refusing(database, (call) => call.endsWith('log_tree') && (calls += 1) > 1),
      );
      const others = leavesFrom(1_000, 90);
      await dying.extend(0, others, 90n, 1).then(
        () => expect.fail('it should have died'),
        () => undefined,
      );
      const tiles = mongoLogTiles(database);
      const leaves = leavesFrom(0, 40);
      expect(await tiles.extend(0, leaves, 400n, 1)).to.equal(true);
      expect(rootOf(await frontierAt(tiles, 40)).equals(rootAt(40))).to.equal(true);
    } finally {
      await end();
    }
  });

  it('do not count where another notary made them again while they were removed', async () => {
    const { database, end } = freshDatabase(url);
    try {
      const tiles = mongoLogTiles(database);
      const leaves = leavesFrom(0, 300);
      await tiles.extend(0, leaves, 300n, 1);
      const slow = hearingCalls(database, async (call, _, make) => {
        if (call === 'deleteMany log_tiles') await tiles.extend(0, leaves, 300n, 2);
        return make();
      });
      await mongoLogTiles(slow).reset();
      const { size } = await tiles.tree();
      expect(await frontierAt(tiles, size)).to.have.property('size', size);
    } finally {
      await end();
    }
  });
});
