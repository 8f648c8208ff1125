import type { Engine, EngineOptions } from '../engine.js';
import { openEmbedded } from './embedded.js';
import { withRabbit } from './rabbit.js';
import { openWithServers } from './servers.js';

/** The engine that the settings ask for: each server that they name replaces its embedded counterpart. */
export const openEngine = async (options: EngineOptions): Promise<Engine> => {
  const { eventStoreUrl, mongoUrl, rabbitUrl } = options.settings;
  const engine = eventStoreUrl === null && mongoUrl === null ? await openEmbedded(options) : await openWithServers(options);
  return rabbitUrl === null ? engine : withRabbit(engine, rabbitUrl, options);
};
