import { readFileSync } from 'node:fs';

/** The version of the service, from its package.json. */
export const { version } = JSON.parse(
  readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'),
) as { readonly version: string };

/** The warning at the start about a Node that gets no security fixes any more; null about any other. */
export const nodeWarning = (version: string): string | null =>
  version.startsWith('20.')
    ? 'Node 20 has had no security fixes since the end of April 2026; Node 24 is recommended'
    : null;
