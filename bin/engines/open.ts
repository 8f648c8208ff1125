import type { Logger } from 'pino';
import type { Clock } from '../../application/ports/system.js';
import type { Engine } from '../engine.js';
import type { Settings } from '../settings.js';
import { openEmbedded } from './embedded.js';

export interface EngineOptions {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly log: Logger;
  /** What can't be lived with: ends the process. */
  readonly fail: (error: unknown) => void;
}

/** The engine that the settings ask for. */
export const openEngine = (options: EngineOptions): Promise<Engine> => openEmbedded(options);
