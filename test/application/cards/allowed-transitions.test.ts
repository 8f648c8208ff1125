import { expect } from 'chai';
import { forbiddenTransitions } from '../../../application/cards/allowed-transitions.js';
import { exported, happened, notarized, reordered, storedEvents } from '../../support/fixtures/notarized.js';
import { org } from '../../support/fixtures/world.js';

describe('the changes of cards in an export', () => {
  it('are all allowed in what the service recorded', async () => {
    const { world } = await happened([
      'send',
      'hold',
      'release',
      'produce',
      'send',
      'cancel',
      'send',
      'hold',
      'cancel',
    ]);
    const deps = await notarized(world, await storedEvents(world));
    for (const personal of [true, false]) {
      const file = await exported(deps, { kind: 'organization', org }, { personal });
      expect(forbiddenTransitions(file)).to.deep.equal([]);
    }
  });

  it('are read line by line, since an export may be longer than a string can be', async () => {
    const { world } = await happened(['send', 'hold', 'release', 'send']);
    const deps = await notarized(world, await storedEvents(world));
    const file = await exported(deps, { kind: 'organization', org });
    const text = file.toString();
    const longest = Math.max(...text.split('\n').map((line) => Buffer.byteLength(line)));
    expect(file.length).to.be.above(3 * longest);
    const toString = file.toString.bind(file);
    file.toString = (encoding, start = 0, end = file.length) => {
      if (end - start > longest) throw new RangeError('Invalid string length');
      return toString(encoding, start, end);
    };
    expect(forbiddenTransitions(file)).to.deep.equal([]);
  });

  it('are named where one was not allowed, although every hash is right', async () => {
    const { world, codes } = await happened(['send', 'hold', 'release', 'produce']);
    const stored = await storedEvents(world);
    const without = reordered(stored.filter(({ type }) => type !== 'CardReleased' && type !== 'StepStarted'));
    const deps = await notarized(world, without);
    const file = await exported(deps, { kind: 'organization', org });
    expect(forbiddenTransitions(file)).to.deep.equal([
      `card-${codes[0]}@2: CardQueued was not allowed after what stood before`,
      `card-${codes[0]}@3: CardFailed was not allowed after what stood before`,
    ]);
  });
});
