import { eventually } from '../support/time/eventually.js';
import type { StartedService } from './processes.js';

/** How often each call was made, by `{engine} {call}`. */
export type Calls = ReadonlyMap<string, number>;

const line = /^engine_calls_total\{engine="([^"]*)",call="([^"]*)"\} (\S+)$/gm;

/** The metrics of the service, as text. */
const metricsOf = async ({ url }: StartedService): Promise<string> => (await fetch(`${url}/metrics`)).text();

export const callsOf = async (service: StartedService): Promise<Calls> =>
  new Map(
    [...(await metricsOf(service)).matchAll(line)].map(([, engine = '', call = '', times]) => [
      `${engine} ${call}`,
      Number(times),
    ]),
  );

export const since = (before: Calls, after: Calls): Calls =>
  new Map([...after].map(([call, times]) => [call, times - (before.get(call) ?? 0)]));

export const sumOf = (calls: Calls, wanted: RegExp): number =>
  [...calls].reduce((sum, [call, times]) => (wanted.test(call) ? sum + times : sum), 0);

/** Counts the calls of adapters that a benchmark uses itself. */
export class CallCounts {
  readonly #calls = new Map<string, number>();

  counter(engine: string): (call: string, times?: number) => void {
    return (call, times = 1) =>
      void this.#calls.set(`${engine} ${call}`, (this.#calls.get(`${engine} ${call}`) ?? 0) + times);
  }

  sumOf(wanted: RegExp): number {
    return sumOf(this.#calls, wanted);
  }
}

/** Until the metrics show it. */
export const metricsShow = async (
  service: StartedService,
  test: (text: string) => boolean,
): Promise<void> => {
  await eventually(async () => test(await metricsOf(service)), { within: 120_000 });
};

/** Until everything that was written is in the read models. */
export const settled = (service: StartedService): Promise<void> =>
  metricsShow(service, (text) => !/^projection_events_behind\{[^}]*\} [1-9]/m.test(text));
