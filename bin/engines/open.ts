import type { Logger } from 'pino';
import type { Clock, Entropy } from '../../application/ports/system.js';
import type { Engine } from '../engine.js';
import type { Settings } from '../settings.js';
import { openEmbedded } from './embedded.js';
import { withRabbit } from './rabbit.js';
import { openWithServers } from './servers.js';

export interface EngineOptions {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly log: Logger;
  /** What can't be lived with: ends the process. */
  readonly fail: (error: unknown) => void;
  /** Before every name in RabbitMQ: for tests that share a broker. */
  readonly namespace?: string;
}

/** The engine that the settings ask for: each server that they name replaces its embedded counterpart. */
export const openEngine = async (options: EngineOptions): Promise<Engine> => {
  const { eventStoreUrl, mongoUrl, rabbitUrl } = options.settings;
  const engine = eventStoreUrl === null && mongoUrl === null ? await openEmbedded(options) : await openWithServers(options);
  return rabbitUrl === null ? engine : withRabbit(engine, rabbitUrl, options);
};
