import { pino } from 'pino';
import { SystemClock } from '../../../adapters/system/clock.js';
import { SystemEntropy } from '../../../adapters/system/entropy.js';
import type { Clock } from '../../../application/ports/system.js';
import { readSettings } from '../../../bin/settings/settings.js';
import { explain } from '../../../bin/wiring/exit.js';
import { startService, type Service } from '../../../bin/wiring/service.js';
import { eventually } from '../time/eventually.js';

/** The service in one process, over a data directory that may be there already. */
export const serviceIn = async (
  directory: string,
  more: Readonly<Record<string, string>> = {},
  clock: Clock = new SystemClock(),
): Promise<Service> => {
  const service = await startService({
    settings: readSettings({ PORT: '0', DATA_DIR: directory, DEMO: 'off', ...more }),
    role: 'all',
    clock,
    entropy: new SystemEntropy(),
    log: pino({ level: 'silent' }),
    fail: (error) => {
      throw error;
    },
  });
  await service.prepared;
  return service;
};

/** What /readyz says of the log, once that is not ready. */
export const faultOfLog = ({ baseUrl }: Pick<Service, 'baseUrl'>): Promise<string> =>
  eventually(async () => {
    const { parts } = (await (await fetch(`${baseUrl}/readyz`)).json()) as {
      readonly parts: readonly { readonly name: string; readonly ready: boolean; readonly detail: string }[];
    };
    return parts.find(({ name, ready }) => name === 'log' && !ready)?.detail ?? null;
  });

/** What a start says that is refused, or null; a service that was started is stopped. */
export const refusalOf = async (
  directory: string,
  more: Readonly<Record<string, string>> = {},
): Promise<ReturnType<typeof explain> | null> => {
  try {
    await (await serviceIn(directory, more)).stop();
    return null;
  } catch (error) {
    return explain(error);
  }
};
