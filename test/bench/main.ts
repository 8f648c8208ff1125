import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { measureAccounting } from './accounting.js';
import { measureReads, measureRebuild, measureSends } from './cards.js';
import { measureConsole, measureFloor } from './console.js';
import { measureDesigns } from './designs.js';
import { measureDistributed } from './distributed.js';
import { measureNotary } from './notary.js';
import { measurePartsOfRebuilds, measurePartsOfSends } from './parts.js';
import { measureRelay } from './relay.js';
import { measureSweep } from './sweep.js';
import { measureTenant } from './tenant.js';
import { measureTenantDeliveries } from './tenant-deliveries.js';
import { measureHostile, measureWebhooks } from './webhooks.js';
import { isFarMissed, table, type Figure } from './report.js';

const million = 1_000_000;
/**
 * Events of a card on its way through all its steps: spent, scheduled, queued, and two for each of six steps.
 */
const eventsPerCard = 15;

const parts = (scale: number): Readonly<Record<string, (directory: string) => Promise<Figure[]>>> => ({
  sends: measureSends,
  reads: (directory) => measureReads(directory, million * scale),
  webhooks: measureWebhooks,
  hostile: measureHostile,
  distributed: (directory) => measureDistributed(join(directory, 'distributed'), scale),
  // Deliveries first, while the endpoint is as it was seeded.
  tenant: async (directory) => [
    ...(await measureTenantDeliveries(directory, million * scale)),
    ...(await measureTenant(directory, million * scale)),
  ],
  sweep: (directory) => measureSweep(join(directory, 'sweep'), 5 * million * scale),
  console: (directory) => measureConsole(directory, million * scale),
  designs: measureDesigns,
  floor: (directory) => measureFloor(directory, 10_000 * scale),
  relay: () => measureRelay(million * scale),
  accounting: () => measureAccounting(100_000 * scale),
  notary: (directory) => measureNotary(directory, Math.ceil((million * scale) / eventsPerCard)),
  'parts-sends': measurePartsOfSends,
  'parts-rebuilds': (directory) => measurePartsOfRebuilds(directory, million * scale),
  rebuild: (directory) => measureRebuild(directory, Math.ceil((million * scale) / eventsPerCard)),
});

const asked = process.argv.slice(2);
const options: readonly string[] = ['--small', '--check'];
const chosen = asked.filter((argument) => !options.includes(argument));
const all = parts(asked.includes('--small') ? 0.01 : 1);
if (!chosen.every((name) => Object.hasOwn(all, name))) {
  process.stderr.write(`Usage: npm run bench -- [part ...] [--small] [--check]

Measures parts of the service, or all: ${Object.keys(all).join(', ')}.

  --small   with a hundredth of the data
  --check   fails where a figure misses its target by more than half
`);
  process.exit(asked.includes('--help') ? 0 : 2);
}
const directory = await mkdtemp(join(tmpdir(), 'cards-bench-'));
const figures: Figure[] = [];
const processors = cpus().length;
/** The load average of the machine when this began. */
const [others = 0] = loadavg();
try {
  for (const [name, measure] of Object.entries(all)) {
    if (chosen.length > 0 && !chosen.includes(name)) continue;
    process.stderr.write(`measuring ${name} …\n`);
    figures.push(...(await measure(directory)));
  }
} finally {
  await rm(directory, { recursive: true, force: true });
}
process.stdout.write(`${table(figures)}\n`);
if (others > processors / 4) {
  process.stdout.write(
    `The machine was busy with other work (load ${others.toFixed(1)} on ${processors} processors): rates and latencies can not be trusted, processor time says more.\n`,
  );
}
await mkdir('bench-results', { recursive: true });
const file = join('bench-results', 'bench.json');
await writeFile(
  file,
  `${JSON.stringify({ node: process.version, cpus: processors, loadBefore: others, figures }, null, 2)}\n`,
);
process.stdout.write(`written to ${file}\n`);
const farMissed = figures.filter(isFarMissed);
if (asked.includes('--check') && farMissed.length > 0) {
  process.stdout.write(`Missed by more than half:\n${table(farMissed)}\n`);
  process.exitCode = 1;
}
