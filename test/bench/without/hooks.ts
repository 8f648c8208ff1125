import type { ResolveHook } from 'node:module';

/** The module that each part is in, and what takes its place: a module of this folder. */
const modules: Readonly<Record<string, readonly [module: string, instead: string]>> = {
  sealing: ['/application/personal/personal.js', 'no-sealing.js'],
  macs: ['/domain/event-mac.js', 'no-macs.js'],
  notary: ['/adapters/sqlite/notary/notary-thread.js', 'no-notary.js'],
  requests: ['/application/requests/request-log.js', 'no-requests.js'],
  public_events: ['/projections/all.js', 'no-public-events.js'],
};

const replaced = (process.env['BENCH_WITHOUT'] ?? '')
  .split(',')
  .flatMap((part) => (modules[part] === undefined ? [] : [modules[part]]));

/** What takes a module's place may import the module itself. */
export const resolve: ResolveHook = async (specifier, context, next) => {
  const found = await next(specifier, context);
  const instead = replaced.find(([module]) => found.url.endsWith(`/dist${module}`))?.[1];
  if (instead === undefined) return found;
  const url = new URL(instead, import.meta.url).href;
  return context.parentURL === url ? found : { ...found, url };
};
