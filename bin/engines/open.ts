import type { Engine, EngineOptions } from '../engine.js';
import { openEmbedded } from './embedded.js';

const openStores = async (options: EngineOptions): Promise<Engine> => {
  const { eventStoreUrl, mongoUrl } = options.settings;
  if (eventStoreUrl === null && mongoUrl === null) return openEmbedded(options);
  const { openWithServers } = await import('./servers.js');
  return openWithServers(options);
};

/**
 * The engine that the settings ask for: each server that they name replaces its embedded counterpart. The
 * clients of servers take a third of the start: only who uses them loads them.
 */
export const openEngine = async (options: EngineOptions): Promise<Engine> => {
  const engine = await openStores(options);
  const { rabbitUrl } = options.settings;
  if (rabbitUrl === null) return engine;
  const { withRabbit } = await import('./rabbit.js');
  return withRabbit(engine, rabbitUrl, options);
};
