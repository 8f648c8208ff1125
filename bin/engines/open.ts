import type { Engine, EngineOptions } from '../wiring/engine.js';
import { openEmbedded } from './embedded.js';

/**
 * Opens the engine that the settings ask for. Loading the clients of servers takes a third of the start, so
 * they are loaded only if they are used.
 */
export const openEngine = async (options: EngineOptions): Promise<Engine> => {
  const { servers } = options.settings;
  if (servers === null) return openEmbedded(options);
  const { openServers } = await import('./servers.js');
  return openServers(options, servers);
};
