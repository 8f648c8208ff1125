import { parseArgs } from 'node:util';
import { cutPower, described } from './cuts.js';
import { canRecord, record } from './recording.js';

/**
 * `npm run power -- --cuts 1000000`: power losses in recordings of the service, each with `--calls` calls a
 * run.
 */
const { values } = parseArgs({
  options: {
    cuts: { type: 'string', default: '20000' },
    calls: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    weak: { type: 'boolean', default: false },
  },
});

const cutsOfRecording = 20_000;

const main = async (): Promise<number> => {
  if (!canRecord()) {
    process.stdout.write('strace is needed to record what the service writes.\n');
    return 1;
  }
  const wanted = Number(values.cuts);
  const began = performance.now();
  let made = 0;
  for (let seed = Number(values.seed); made < wanted; seed += 1) {
    const recording = await record({ calls: Number(values.calls), seed, weak: values.weak });
    const count = Math.min(cutsOfRecording, wanted - made);
    const { made: more, failures } = await cutPower(recording, { count, seed, keep: 3 });
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
