import { Command } from 'commander';
import { count } from '../support/runner/count-option.js';
import { cutPower, described } from './cuts.js';
import { canRecord, record } from './recording.js';

const command = new Command('npm run power --')
  .description('Lets the power fail in recordings of the service. (docs/testing.md#power-loss)')
  .option('--cuts <n>', 'how many power losses', count, 20_000)
  .option('--calls <n>', 'calls of clients in each run of a recording', count, 60)
  .option('--seed <n>', 'the first seed', count, (Date.now() % 1_000_000) + 1)
  .option('--weak', 'the service with synchronous = normal, which must lose something', false)
  .parse();
const options = command.opts<{
  readonly cuts: number;
  readonly calls: number;
  readonly seed: number;
  readonly weak: boolean;
}>();

const cutsOfRecording = 20_000;

const main = async (): Promise<number> => {
  if (!canRecord()) {
    process.stdout.write('strace is needed to record what the service writes.\n');
    return 1;
  }
  const began = performance.now();
  let made = 0;
  for (let { seed } = options; made < options.cuts; seed += 1) {
    const recording = await record({ calls: options.calls, seed, weak: options.weak });
    const many = Math.min(cutsOfRecording, options.cuts - made);
    const { made: more, failures } = await cutPower(recording, { count: many, seed, keep: 3 });
    made += more;
    const minutes = ((performance.now() - began) / 60_000).toFixed(1);
    process.stdout.write(
      `${minutes} min: ${made} cuts, seed ${seed}: ${recording.operations.length} operations, ${recording.log.length} events, ${failures.length} failures\n`,
    );
    if (failures.length === 0) continue;
    process.stdout.write(`${failures.map(described).join('\n')}\n`);
    return 1;
  }
  return 0;
};

process.exit(await main());
