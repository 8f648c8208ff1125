import { numberFrom } from '../../adapters/sqlite/database.js';
import type { Figure } from './report.js';
import { openRig, type Rig } from './webhooks.js';

const endpoints = 50;
const backoff = [200, 400, 800, 1_600, 5_000];
const attempts = backoff.length + 1;
const together = 5_000;

const countOf = ({ file }: Rig, where: string): number =>
  numberFrom(file.database.prepare(`select count(*) from deliveries where ${where}`)) ?? 0;

/** The number of deliveries that break invariant 14, by what is wrong with them. */
const faultsOf = async (rig: Rig, events: number): Promise<Readonly<Record<string, number>>> => {
  const { answered, duplicates } = await rig.report();
  const pairs =
    numberFrom(
      rig.file.database.prepare('select count(*) from (select distinct event, endpoint from deliveries)'),
    ) ?? 0;
  return {
    missing: Math.max(0, events - pairs),
    'made twice': countOf(rig, 'true') - pairs,
    'not ended': countOf(rig, `status = 'pending'`),
    'dropped without a reason': countOf(rig, `status = 'dropped' and dropReason is null`),
    'given up early': countOf(rig, `status = 'exhausted' and made <> ${attempts}`),
    'never received': Math.max(0, countOf(rig, `status = 'delivered'`) - (answered - duplicates)),
  };
};

/**
 * Sends every event to a receiver that fails one in five at random; one of the endpoints never succeeds and
 * is disabled on the way. (invariant 14)
 */
export const measureAccounting = async (events: number): Promise<Figure[]> => {
  const rig = await openRig({ endpoints, broken: 1, failEvery: 5, backoff, disableAfter: 20 });
  try {
    rig.start();
    for (let first = 0; first < events; first += together)
      await rig.appendCards(
        Array.from({ length: Math.min(together, events - first) }, (_, index) => first + index),
      );
    while (countOf(rig, 'true') < events || countOf(rig, `status = 'pending'`) > 0)
      await rig.clock.sleep(250);
    const faults = Object.entries(await faultsOf(rig, events)).filter(([, count]) => count !== 0);
    const ended = ['delivered', 'exhausted', 'dropped'].map(
      (status) => `${countOf(rig, `status = '${status}'`).toLocaleString('en-US')} ${status}`,
    );
    const value = faults.reduce((sum, [, count]) => sum + count, 0);
    const told = faults.map(([what, count]) => `; ${count} ${what}`).join('');
    return [
      {
        what: `webhooks: unaccounted of ${events.toLocaleString('en-US')} events to receivers that fail at random (${ended.join(', ')}${told})`,
        value,
        unit: '',
        ratio: null,
        comparedWith: null,
        target: '0',
        met: value === 0,
      },
    ];
  } finally {
    await rig.close();
  }
};
