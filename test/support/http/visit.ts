import type { Url } from '../../../adapters/http/web/paths.js';
import type { Visit } from '../../../adapters/http/web/visit.js';

/** A visit in 2026, to draw parts of pages alone. */
export const visitIn = (timeZone: string): Visit => ({
  url: (path) => path as Url,
  timeZone,
  year: '2026',
  newForm: () => '',
  mayDo: () => true,
  mayAct: true,
  notice: null,
  refused: null,
  labels: new Map(),
});
