import { expect } from 'chai';
import { files, read } from '../support/runner/repository.js';
import { brokenReferences } from './references.js';

describe('the references of the repository', () => {
  it('lead to a decision, an invariant, a file, a heading or a test that is there', () => {
    expect(files.length).to.be.greaterThan(300);
    expect(brokenReferences({ paths: files, read }).join('\n')).to.equal('');
  }).timeout(240_000);
});

const decisions = `# Decisions

<a id="d1"></a>

### 1. The order of checks

- **Test:** \`test/order.test.ts\` "checks the key before the rate"

<a id="d2"></a>

### 2. One error at a time

- **Test:** \`test/order.test.ts\` "reports the first of"
`;

const invariants = `# Invariants

<a id="i1"></a>

1. Credits add up. Test: \`test/order.test.ts\` "reports the first of 12 faults"
`;

const contract = `# The API

## Errors, and what to do

See [decision 2](decisions.md#d2) and [below](#errors-and-what-to-do-1).

## Errors, and what to do
`;

const tests = `
describe('an order', () => {
  it('checks the key before the rate', () => {});
  for (const count of counts) it(\`reports the first of \${count} faults\`, () => {});
});
`;

const whole: Readonly<Record<string, string>> = {
  'README.md':
    '# A service\n\n[The API](docs/contract.md#errors-and-what-to-do) is made in `application/order.ts`.\n',
  'docs/contract.md': contract,
  'docs/decisions.md': decisions,
  'docs/invariants.md': invariants,
  'docs/money.md': '# Money\n\n4. Who finds a slot empty takes it first.\n',
  'test/order.test.ts': tests,
  'application/order.ts': '',
};

/** What is found in the repository with some of its files as given. */
const found = (changed: Readonly<Record<string, string>>): readonly string[] => {
  const all = { ...whole, ...changed };
  return brokenReferences({ paths: Object.keys(all), read: (path) => all[path] ?? '' });
};

/** What is found in a source that consists of this. */
const inSource = (text: string): readonly string[] =>
  found({ 'application/order.ts': text }).map((line) => line.replace('application/order.ts:', ''));

describe('the check of references', () => {
  it('finds nothing in a repository whose references are all right', () => {
    expect(found({})).to.deep.equal([]);
    expect(
      inSource('/** (decisions 1 and 2; invariant 1; docs/contract.md#the-api; docs/money.md, rule 4) */'),
    ).to.deep.equal([]);
    expect(
      inSource(
        '// In test/ and docs/, beside ./order.ts and https://example.com/docs/none.md, as application/json.',
      ),
    ).to.deep.equal([]);
  });

  it('sees a number that there is not, in one, a list and a range, also where the comment is wrapped', () => {
    expect(inSource('\n/** (decision 3) */')).to.deep.equal(['2: docs/decisions.md has no decision 3']);
    expect(inSource('/** (decisions 1, 2 and 4) */')).to.deep.equal([
      '1: docs/decisions.md has no decision 4',
    ]);
    expect(inSource('/** (decisions 1–3) */')).to.deep.equal(['1: docs/decisions.md has no decision 3']);
    expect(inSource('/**\n * (decisions 1 to\n * 4) */')).to.deep.equal([
      '2: docs/decisions.md has no decision 3',
      '2: docs/decisions.md has no decision 4',
    ]);
    expect(inSource('// as decision\n// 7 says')).to.deep.equal(['1: docs/decisions.md has no decision 7']);
    expect(inSource('/** Invariant 2. */')).to.deep.equal(['1: docs/invariants.md has no invariant 2']);
    expect(found({ 'docs/money.md': '# Money\n\nAs decision 9 says.' })).to.deep.equal([
      'docs/money.md:3: docs/decisions.md has no decision 9',
    ]);
  });

  it('sees a wrong number in the title of a test', () => {
    const title = "it('checks the key first (decision 8)', () => {});";
    expect(found({ 'test/more.test.ts': title })).to.deep.equal([
      'test/more.test.ts:1: docs/decisions.md has no decision 8',
    ]);
  });

  it('looks at comments, not at code', () => {
    expect(inSource("export const wrong = 'decision 9, docs/none.md';")).to.deep.equal([]);
  });

  it('sees a file, a folder, an anchor and a rule that there is not', () => {
    expect(inSource('/** (docs/none.md) */')).to.deep.equal(['1: there is no file docs/none.md']);
    expect(inSource('/** See ../ports/system.ts. */')).to.deep.equal([
      '1: there is no file ../ports/system.ts',
    ]);
    expect(inSource('// Everything in application/ports/ is one.')).to.deep.equal([
      '1: there is no folder application/ports/',
    ]);
    expect(inSource('/** (docs/contract.md#cards) */')).to.deep.equal([
      '1: docs/contract.md has no anchor #cards',
    ]);
    expect(inSource('/** (docs/money.md, rule 5) */')).to.deep.equal(['1: docs/money.md has no rule 5']);
  });

  it('sees a link that leads nowhere', () => {
    expect(
      found({
        'docs/money.md':
          '# Money\n\n[a](none.md) [b](contract.md#none) [c](#none) [d](https://a.test) [e](../README.md)',
      }),
    ).to.deep.equal([
      'docs/money.md:3: the link to none.md leads nowhere',
      'docs/money.md:3: docs/contract.md has no anchor #none',
      'docs/money.md:3: docs/money.md has no anchor #none',
    ]);
  });

  it('passes over what is shown as code', () => {
    expect(
      found({ 'docs/money.md': '# Money\n\n```ts\n// docs/none.md, decision 9, [a](none.md)\n```\n' }),
    ).to.deep.equal([]);
  });

  it('sees a decision and an invariant without a test, with one that there is not, and out of order', () => {
    const without = (text: string) =>
      decisions.replace('- **Test:** `test/order.test.ts` "checks the key before the rate"', text);
    expect(found({ 'docs/decisions.md': without('') })).to.deep.equal([
      'docs/decisions.md:3: decision 1 names no test',
    ]);
    expect(
      found({ 'docs/decisions.md': without('- **Test:** `test/order.test.ts` "checks the rate first"') }),
    ).to.deep.equal(['docs/decisions.md:7: test/order.test.ts has no test "checks the rate first"']);
    expect(
      found({ 'docs/decisions.md': without('- **Test:** `test/none.test.ts` "checks the rate first"') }),
    ).to.deep.equal(['docs/decisions.md:7: there is no file test/none.test.ts']);
    expect(
      found({ 'docs/decisions.md': without('- **Test:** `test/order.test.ts` "checks"') }),
    ).to.deep.equal(['docs/decisions.md:7: "checks" is too short to name a test']);
    expect(found({ 'docs/decisions.md': decisions.replace('id="d2"', 'id="d1"') })).to.include(
      'docs/decisions.md:9: decision 1 stands after decision 1',
    );
    expect(found({ 'docs/invariants.md': '<a id="i1"></a>\n' })).to.deep.equal([
      'docs/invariants.md:1: invariant 1 names no test',
    ]);
  });

  it('sees a page that is named without its path, unless that is allowed', () => {
    const source = { 'application/order.ts': '/** (money.md, rule 4; spec: Cards) */' };
    expect(found(source)).to.deep.equal([
      'application/order.ts:1: money.md is named without its path',
      'application/order.ts:1: "spec:" names a page that is not in the repository',
    ]);
  });
});
