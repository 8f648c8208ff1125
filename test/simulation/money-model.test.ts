import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { read } from '../support/runner/repository.js';
import { explore, type Explored } from './money-model/explore.js';
import { leftOut, type RuleName } from './money-model/rules.js';
import { scenarios, smallScenarios, withOneTrouble } from './money-model/scenarios.js';

/** What goes wrong without a rule, in the scenario that shows it, with one trouble at most. */
const expected: Readonly<Record<RuleName, string>> = {
  'slot-only': 'one cause moved money twice',
  'blind-retry': 'one cause moved money twice',
  'blind-return': 'one cause moved money twice',
  'card-first': 'one cause moved money twice',
  'blind-purchase': 'one cause moved money twice',
  'no-owes': 'live cards: 0, credits gone: 1',
  'no-void': 'live cards: 1, credits gone: 0',
  'any-revision': 'one cause moved money twice',
  'no-fence': 'one key made two cards',
  'any-card': "a 201 with no card, or with somebody else's",
  'no-close': 'one key made two cards',
  'lost-order': 'an order of 2 credits, of which 0 came',
  'late-request': 'one key made two cards',
};
const names = Object.keys(expected) as RuleName[];

const violationWithout = (name: RuleName): Explored['violation'] => {
  const scenario = scenarios.find((known) => known.name === leftOut[name].shownBy);
  if (scenario === undefined) throw new Error(`no scenario shows ${name}`);
  for (const { world } of withOneTrouble(scenario)) {
    const { violation } = explore(world, name);
    if (violation !== null) return violation;
  }
  return null;
};

const main = fileURLToPath(new URL('./money-model/main.js', import.meta.url));
const run = (...args: readonly string[]) =>
  new Promise<{ readonly code: unknown; readonly out: string; readonly error: string }>((resolve) => {
    execFile(process.execPath, [main, ...args], (failure, out, error) =>
      resolve({ code: failure?.code ?? 0, out, error }),
    );
  });

describe('the model of the money protocol', function () {
  // It computes for seconds, and a busy machine takes longer.

  for (const { name, world } of smallScenarios) {
    it(`finds no violation in: ${name}`, () => {
      const { states, ends, violation } = explore(world);
      expect(violation).to.equal(null);
      expect([states > 1, ends > 0]).to.deep.equal([true, true]);
    });
  }

  for (const name of names) {
    const { rule, instead } = leftOut[name];
    it(`finds a violation without rule ${rule} (${name}): ${instead}`, () => {
      expect(violationWithout(name)?.what).to.equal(expected[name]);
    });
  }

  it('can leave out each rule of docs/money.md', () => {
    const written = [...read('docs/money.md').matchAll(/<a id="rule-(\d+)"><\/a>/g)].map(([, rule]) =>
      Number(rule),
    );
    expect(written).to.deep.equal([...new Set(names.map((name) => leftOut[name].rule))]);
  });

  it('shows the shortest way to a violation, step by step', () => {
    expect(violationWithout('any-card')?.trace).to.deep.equal([
      'send 0 reads the ledger',
      'send 0 claims the key with c0',
      'send 0 appends the spend to ledger: it is written',
      'send 0 appends Scheduled to c0: conflict',
      'send 0 finds our card',
      'send 0 responds 201',
      'reconciler 1 sees that void:c0@0/0 is due',
      'reconciler 1 appends the return to ledger: it is written',
    ]);
  });
});

describe('npm run model', () => {
  it('prints what it explored, and that it found no violation', async () => {
    const { code, out, error } = await run('--small', '--only', 'code is taken');
    expect([code, error]).to.deep.equal([0, '']);
    expect(out).to.match(/^a send whose code is taken, nothing goes wrong: 28 states, \d+ ends, [\d.]+ s$/m);
    expect(out).to.match(/^8 scenarios, [\d,]+ states, no violation$/m);
  });

  it('exits with 1 and the shortest trace if a rule is left out', async () => {
    const { code, out } = await run('--break', 'any-card');
    expect(code).to.equal(1);
    expect(out).to.match(/^Without rule 7 \(docs\/money\.md#rule-7\): /);
    expect(out).to.include(
      ' 8. reconciler 1 appends the return to ledger: it is written\n  VIOLATION: a 201 with no card',
    );
  });

  it('shows its options, its rules and its scenarios', async () => {
    const { code, out } = await run('--help');
    expect(code).to.equal(0);
    for (const word of ['--break', '--only', '--small', ...names, ...scenarios.map(({ name }) => name)])
      expect(out).to.include(word);
  });

  it('refuses what it does not know', async () => {
    const wrong = [['--fast'], ['everything'], ['--break', 'rule-9'], ['--only', 'nothing like it']];
    for (const { code, out, error } of await Promise.all(wrong.map((args) => run(...args)))) {
      expect([code, out], error).to.deep.equal([2, '']);
      expect(error).to.include('npm run model -- --help');
    }
  });
});
