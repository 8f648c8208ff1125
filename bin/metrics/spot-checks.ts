import type { Logger } from 'pino';
import { Counter, type Registry } from 'prom-client';
import type { SpotCheckDeps } from '../../application/projecting/spot-check.js';
import { allProjections } from '../../projections/all.js';

/** Counts the rows that were compared with their events, and logs differences. */
export const spotCheckReports = (
  registry: Registry,
  log: Pick<Logger, 'error'>,
): Pick<SpotCheckDeps, 'checked' | 'differs'> => {
  const counter = (name: string, help: string): Counter => {
    const made = new Counter({ name, help, labelNames: ['projection'], registers: [registry] });
    for (const { name: projection } of allProjections) made.inc({ projection }, 0);
    return made;
  };
  const rows = counter('projection_rows_checked_total', 'Random rows that were compared with their events.');
  const wrong = counter('projection_rows_wrong_total', 'Compared rows that differed from their events.');
  return {
    checked: (projection) => rows.inc({ projection }),
    differs: ({ projection, key, fields }) => {
      wrong.inc({ projection });
      log.error(
        { projection, key, fields },
        'a row is not what its events make of it: rebuild the projection',
      );
    },
  };
};
