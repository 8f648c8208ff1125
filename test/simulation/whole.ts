import { stockCatalogue } from '../../application/organizations/administer.js';
import { drive } from '../support/simulation/drive.js';
import { runClient, settleKeys, usualPause } from '../support/simulation/whole/clients.js';
import { Dice } from '../support/simulation/whole/dice.js';
import { House } from '../support/simulation/whole/house.js';
import { findings } from '../support/simulation/whole/oracles.js';
import { Town } from '../support/simulation/whole/town.js';
import { digestOf, UnknownWeather, type Outcome, type Run, type Size } from './runs.js';
import { together, weatherNames, type WeatherName } from '../support/simulation/whole/weather.js';

/** Most runs are short, because many short ones find more than a few long ones; one in twenty is long. */
export const usualSize = (seed: number): Size => {
  const dice = new Dice(seed, 'size');
  if (dice.chance(50)) return { clients: 5, calls: 24 };
  if (dice.chance(200)) return { clients: 3, calls: 12 };
  return { clients: 2 + dice.below(2), calls: 4 + dice.below(4) };
};

const minute = 60_000;
/** Longer than the pauses between attempts of a delivery. */
const settlingTime = 75_000;
/** Longer than any clock was ahead, a late write is under way, and the reconciler waits. */
const maxDelay = 15 * minute;
/** Receivers that never come to rest are not waited for any longer. */
const maxLooks = 120;

/** Drawn beside other troubles, out of a thousand runs: a seed has the same of these as ever. */
const beside: Partial<Record<WeatherName, number>> = {
  'a shared log': 300,
  'a slow return': 40,
  // By name alone.
  'suspended machines': 0,
};

const drawWeather = (dice: Dice): readonly WeatherName[] => {
  const others = weatherNames.filter((name) => beside[name] === undefined);
  const troubles = Array.from({ length: 1 + dice.below(3) }, () => dice.pick(others) ?? 'fair');
  const more = weatherNames.filter((name) => new Dice(dice.seed, name).chance(beside[name] ?? 0));
  return [...new Set([...troubles, ...more])];
};

const named = (text: string): WeatherName => {
  const found = weatherNames.find((name) => name === text);
  if (found === undefined) throw new UnknownWeather(text, weatherNames);
  return found;
};

/** The whole service in several processes, its customers, its operator and its receivers, under one seed. */
export const simulateWhole = async ({ seed, weather, size }: Run): Promise<Outcome> => {
  const dice = new Dice(seed, 'run');
  const drawn = drawWeather(dice);
  const names = weather === null ? drawn : [named(weather)];
  const embedded = dice.chance(250);
  const house = new House({ seed, weather: together(names), embedded });
  const { clock } = house;
  const must = async <T>(work: Promise<T>): Promise<T> => {
    const outcome = await drive(clock, work);
    if (outcome === 'dead') throw new Error('nothing moves any more');
    return outcome;
  };
  house.start(embedded ? 1 : 2);
  await must(stockCatalogue(house.administration));
  const town = await must(Town.open(house, dice));
  house.begin(size.calls * usualPause);
  await must(
    Promise.all(Array.from({ length: size.clients }, (_, at) => runClient(town, `client ${at}`, size.calls))),
  );
  house.calm();
  await must(clock.sleep(10_000));
  // Time that is skipped ends the claim on a delivery: what was told a 2xx would be sent again.
  for (let looks = 0; looks < maxLooks && house.receivers.areAtWork; looks++) await must(clock.sleep(500));
  // Nobody acts any more: what only waits for time needs none of its small steps.
  house.skip(maxDelay);
  await must(clock.sleep(settlingTime));
  await must(settleKeys(town));
  await must(clock.sleep(45_000));
  const { wrong, log } = await must(findings(town));
  house.end();
  const { history } = town;
  const sent = JSON.stringify(house.receivers.received.map(({ delivery, told }) => [delivery, told]));
  return { weather: names, embedded, wrong, log, history, digest: digestOf(log, history, sent) };
};
