import { expect } from 'chai';
import { SeededEntropy } from '../support/memory/entropy.js';
import { rounds } from '../support/runner/effort.js';
import { cutPower, described } from './cuts.js';
import { Disk } from './disk.js';
import { canRecord, record } from './recording.js';
import type { Operation } from './operations.js';

const calls = 30;
const cuts = rounds({ usually: 300, thoroughly: 1_000 });

describe('a service that loses power', () => {
  before(function () {
    if (!canRecord()) this.skip();
  });

  it(`has everything that was acknowledged, and nothing half-done, at ${cuts} cuts with writes lost, reordered and torn`, async () => {
    const seed = Number(process.hrtime.bigint() & 0xffffffn);
    const recording = await record({ calls, seed });
    expect(recording.operations.filter(({ kind }) => kind === 'answered').length).to.be.above(calls);
    const { made, failures } = await cutPower(recording, { count: cuts, seed, failures: 5, keep: 1 });
    expect(failures.map(described), `seed ${seed}`).to.deep.equal([]);
    expect(made).to.equal(cuts);
  }).timeout(600_000);

  it('is found to lose what was acknowledged if its commits are not synced', async () => {
    const isLost = async (seed: number): Promise<boolean> => {
      const recording = await record({ calls, seed, weak: true });
      const { failures } = await cutPower(recording, { count: 150, seed, failures: 150 });
      return failures.some(({ wrong }) => wrong.some((line) => line.includes('was acknowledged')));
    };
    expect((await isLost(1)) || (await isLost(2)) || (await isLost(3))).to.equal(true);
  }).timeout(600_000);
});

describe('a simulated disk', () => {
  const after = (...operations: readonly Operation[]): Disk => {
    const disk = new Disk();
    for (const operation of operations) disk.apply(operation);
    return disk;
  };
  const made = { kind: 'create', path: 'a' } as const;
  const written = (at: number, text: string): Operation => ({
    kind: 'write',
    path: 'a',
    at,
    bytes: Buffer.from(text),
  });
  const dice = () => new SeededEntropy(1);
  const textOf = (files: ReadonlyMap<string, Buffer>): string | undefined => files.get('a')?.toString();

  it('has what was synced, whatever is lost', () => {
    const disk = after(made, written(0, 'one'), { kind: 'sync', path: 'a' }, { kind: 'sync directory' });
    for (const loss of ['nothing', 'everything', 'in order', 'pages', 'sectors'] as const)
      expect(textOf(disk.cut(loss, dice()))).to.equal('one');
  });

  it('may lose what was not synced: content, a name, a removal', () => {
    const disk = after(made, written(0, 'one'), { kind: 'sync', path: 'a' }, { kind: 'sync directory' });
    disk.apply(written(0, 'two'));
    expect([textOf(disk.cut('nothing', dice())), textOf(disk.cut('everything', dice()))]).to.deep.equal([
      'one',
      'two',
    ]);
    disk.apply({ kind: 'unlink', path: 'a' });
    expect([textOf(disk.cut('nothing', dice())), textOf(disk.cut('everything', dice()))]).to.deep.equal([
      'one',
      undefined,
    ]);
    expect(after(made, { kind: 'sync', path: 'a' }).cut('nothing', dice()).size).to.equal(0);
  });

  it('may keep a later page and lose an earlier one, and tear a page', () => {
    const disk = after(
      made,
      { kind: 'sync directory' },
      written(0, 'x'.repeat(4096)),
      written(4096, 'y'.repeat(4096)),
    );
    const seen = new Set<string>();
    for (let seed = 0; seed < 200; seed += 1)
      for (const loss of ['pages', 'sectors'] as const) {
        const content = textOf(disk.cut(loss, new SeededEntropy(seed))) ?? '';
        const has = (letter: string): string =>
          content.includes(letter.repeat(4096)) ? 'whole' : content.includes(letter) ? 'torn' : 'lost';
        seen.add(`${has('x')} ${has('y')}`);
      }
    expect([...seen]).to.include.members(['lost whole', 'whole lost', 'torn torn', 'whole whole']);
  });

  it('cuts a file short as a whole', () => {
    const disk = after(
      made,
      written(0, 'x'.repeat(1024)),
      { kind: 'sync', path: 'a' },
      { kind: 'sync directory' },
    );
    disk.apply({ kind: 'resize', path: 'a', size: 0 });
    disk.apply(written(0, 'y'));
    const seen = new Set<string | undefined>();
    for (let seed = 0; seed < 50; seed += 1)
      seen.add(textOf(disk.cut('sectors', new SeededEntropy(seed)))?.slice(0, 2));
    expect(seen).to.deep.equal(new Set(['xx', '', 'y', '\0']));
  });
});
