import type { Engine, EngineOptions } from '../engine.js';
import { openEmbedded } from './embedded.js';

const openWithoutRabbit = async (options: EngineOptions): Promise<Engine> => {
  const { eventStoreUrl, mongoUrl } = options.settings;
  if (eventStoreUrl === null && mongoUrl === null) return openEmbedded(options);
  const { openWithServers } = await import('./servers.js');
  return openWithServers(options);
};

/**
 * Opens the engine that the settings ask for: each server that they name replaces its embedded counterpart.
 * Loading the clients of servers takes a third of the start, so they are loaded only if they are used.
 */
export const openEngine = async (options: EngineOptions): Promise<Engine> => {
  const engine = await openWithoutRabbit(options);
  const { rabbitUrl } = options.settings;
  if (rabbitUrl === null) return engine;
  const { withRabbit } = await import('./rabbit.js');
  return withRabbit(engine, rabbitUrl, options);
};
