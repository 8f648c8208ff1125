import { Command, Option } from 'commander';
import { count } from '../support/runner/count-option.js';
import { season, type Season } from './season.js';
import { inFiles, onServers, type Stage } from './stage.js';

const command = new Command('npm run soak --')
  .description('Kills the service in a loop while clients are at work. (docs/testing.md#soak)')
  .option('--hours <n>', 'for how long; 1 where no number of rounds is given', count)
  .option('--rounds <n>', 'for how many kills', count)
  .addOption(new Option('--wiring <name>', 'one of the two').choices(['embedded', 'distributed']))
  .option('--seed <n>', 'the first seed', count, (Date.now() % 1_000_000) + 1)
  .parse();
const options = command.opts<{
  readonly hours?: number;
  readonly rounds?: number;
  readonly wiring?: string;
  readonly seed: number;
}>();

const roundsOfSeason = 25;
const needed = ['MONGODB_URL', 'RABBITMQ_URL'] as const;

const wirings = (): readonly (readonly [string, (directory: string) => Stage | Promise<Stage>])[] => {
  const missing = needed.filter((name) => (process.env[name] ?? '') === '');
  if (missing.length > 0 && options.wiring !== 'embedded')
    process.stdout.write(`The distributed wiring is left out: set ${missing.join(' and ')}.\n`);
  const all = [
    ['embedded', inFiles],
    ...(missing.length === 0 ? [['distributed', onServers] as const] : []),
  ] as const;
  return all.filter(([name]) => options.wiring === undefined || options.wiring === name);
};

type Sums = Omit<Season, 'wrong'>;
const nothing: Sums = { rounds: 0, killedStarts: 0, acknowledged: 0, cutOff: 0, events: 0, deliveries: 0 };

const plus = (a: Sums, b: Sums): Sums => ({
  rounds: a.rounds + b.rounds,
  killedStarts: a.killedStarts + b.killedStarts,
  acknowledged: a.acknowledged + b.acknowledged,
  cutOff: a.cutOff + b.cutOff,
  events: a.events + b.events,
  deliveries: a.deliveries + b.deliveries,
});

const described = (sums: Sums): string =>
  `${sums.rounds} kills at work and ${sums.killedStarts} while starting, ${sums.acknowledged} acknowledged sends, ` +
  `${sums.cutOff} calls cut off, ${sums.events} events, ${sums.deliveries} deliveries`;

const main = async (): Promise<number> => {
  const began = performance.now();
  const { rounds: most = Infinity, hours = most === Infinity ? 1 : Infinity } = options;
  const over = (): boolean => performance.now() - began > hours * 3_600_000;
  const chosen = wirings();
  const sums = new Map(chosen.map(([name]) => [name, nothing]));
  const all = (): number => [...sums.values()].reduce((total, { rounds }) => total + rounds, 0);
  for (let { seed } = options; chosen.length > 0 && !over() && all() < most; seed += 1)
    for (const [name, open] of chosen) {
      const rounds = Math.min(roundsOfSeason, most - all());
      if (rounds <= 0 || over()) break;
      const { wrong, ...went } = await season(open, { rounds, seed, over });
      sums.set(name, plus(sums.get(name) ?? nothing, went));
      const minutes = ((performance.now() - began) / 60_000).toFixed(0);
      process.stdout.write(`${minutes} min, ${name}: ${described(sums.get(name) ?? nothing)}\n`);
      if (wrong.length === 0) continue;
      process.stdout.write(`Violated with --wiring ${name} --seed ${seed}:\n${wrong.join('\n')}\n`);
      return 1;
    }
  process.stdout.write('No invariant was violated.\n');
  return 0;
};

process.exit(await main());
