import { parseArgs } from 'node:util';
import { explore, type Violation } from './explore.js';
import { isRuleName, leftOut, type RuleName } from './rules.js';
import { scenarios, smallScenarios, type Scenario } from './scenarios.js';

// `npm run model`: goes through every state of every scenario of the two-stream protocol.

const usage = `Usage: npm run model -- [options]

Explores every interleaving of the scenarios of docs/money.md and checks the invariants in every state.

  --break <rule>  leave out a rule, and print the shortest way to a violation in the first scenario with one
  --only <text>   only scenarios whose name contains this text
  --small         what \`npm test\` explores: the smaller scenarios, with one trouble at a time
  --help          this text

Exit codes: 0 no violation, 1 a violation, 2 wrong usage.

Rules that can be left out:
${Object.entries(leftOut)
  .map(([name, { rule, instead }]) => `  ${name.padEnd(14)}  rule ${rule}. ${instead}`)
  .join('\n')}

Scenarios:
${scenarios.map(({ name }) => `  ${name}`).join('\n')}
`;

interface Wanted {
  readonly without: RuleName | null;
  readonly scenarios: readonly Scenario[];
}

class WrongUsage extends Error {}

const ruleFrom = (text: string | undefined): RuleName | null => {
  if (text === undefined) return null;
  if (isRuleName(text)) return text;
  throw new WrongUsage(
    `There is no rule "${text}" to leave out: name one of ${Object.keys(leftOut).join(', ')}.`,
  );
};

/** The scenario that shows best what the rule is good for comes first. */
const inOrder = (chosen: readonly Scenario[], without: RuleName | null): readonly Scenario[] => {
  const showsIt = ({ name }: Scenario): boolean =>
    without !== null && name.startsWith(leftOut[without].shownBy);
  return [...chosen.filter(showsIt), ...chosen.filter((scenario) => !showsIt(scenario))];
};

/** What the arguments ask for; null: help. Throws WrongUsage. */
const wantedFrom = (args: readonly string[]): Wanted | null => {
  const options = {
    break: { type: 'string' },
    only: { type: 'string' },
    small: { type: 'boolean' },
    help: { type: 'boolean', short: 'h' },
  } as const;
  let values;
  try {
    ({ values } = parseArgs({ args: [...args], options, allowPositionals: false }));
  } catch (error) {
    throw new WrongUsage(error instanceof Error ? error.message : String(error));
  }
  const { only = '', small = false, help = false } = values;
  if (help) return null;
  const without = ruleFrom(values.break);
  const chosen = (small ? smallScenarios : scenarios).filter(({ name }) => name.includes(only));
  if (chosen.length === 0) throw new WrongUsage(`No scenario's name contains "${only}".`);
  return { without, scenarios: inOrder(chosen, without) };
};

const say = (text: string): void => void process.stdout.write(`${text}\n`);

const count = (number: number): string => number.toLocaleString('en-US');

const printed = ({ what, trace, world }: Violation): string => {
  const steps = trace.map((happened, index) => `${String(index + 1).padStart(4)}. ${happened}`);
  const movements = world.ledger.map(({ cause, amount }) => `${amount > 0 ? '+' : ''}${amount} for ${cause}`);
  const cards = Object.entries(world.cards).map(
    ([code, card]) => `      ${code}: ${card.map(({ type }) => type).join(', ')}`,
  );
  const state = [`      ledger: ${world.purchased} at first, ${movements.join(', ')}`, ...cards];
  return [...steps, `  VIOLATION: ${what}`, ...state].join('\n');
};

/** Explores until the first violation. Returns whether there was one. */
const findsViolation = ({ without, scenarios: chosen }: Wanted): boolean => {
  let total = 0;
  for (const { name, world } of chosen) {
    const began = performance.now();
    const { states, ends, violation } = explore(world, without);
    const seconds = ((performance.now() - began) / 1_000).toFixed(1);
    total += states;
    say(`${name}: ${count(states)} states, ${count(ends)} ends, ${seconds} s`);
    if (violation === null) continue;
    say(printed(violation));
    return true;
  }
  say(`${chosen.length} scenarios, ${count(total)} states, no violation`);
  return false;
};

const main = (args: readonly string[]): number => {
  const wanted = wantedFrom(args);
  if (wanted === null) {
    say(usage);
    return 0;
  }
  if (wanted.without !== null) {
    const { rule, instead } = leftOut[wanted.without];
    say(`Without rule ${rule} (docs/money.md#rule-${rule}): ${instead}`);
  }
  return findsViolation(wanted) ? 1 : 0;
};

try {
  process.exitCode = main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof WrongUsage)) throw error;
  process.stderr.write(`${error.message}\nnpm run model -- --help shows the options.\n`);
  process.exitCode = 2;
}
