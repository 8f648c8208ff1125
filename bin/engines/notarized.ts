import type { EventsFileOptions } from '../../adapters/sqlite/log/events-file.js';
import type { LogTiles } from '../../application/ports/log-tiles.js';
import type { RawLog } from '../../application/ports/raw-log.js';
import { DamagedLog } from '../../application/log/damaged-log.js';
import { runNotary } from '../../application/log/notarize.js';
import { untilAborted } from '../../application/until-aborted.js';
import { checkpointText, signerText, signNote } from '../../domain/signed-note.js';
import type { EngineOptions } from '../engine.js';
import { elsewhereOf, knownElsewhere } from '../known-elsewhere.js';

/** Ends the process if the log is damaged, or only says so. (docs/operations.md#a-damaged-log) */
const damageHandler =
  ({ settings, log, fail }: EngineOptions) =>
  (error: DamagedLog): void => {
    if (settings.logOnDamage === 'exit') fail(error);
    else
      log.fatal(
        { position: String(error.position), reason: error.reason },
        'the log is damaged: nothing more is signed or exported until it is restored and the service is started again',
      );
  };

/** How events.db is opened: with the notary in a thread of its own. */
export const notarized = (
  options: EngineOptions,
): Pick<EventsFileOptions, 'notary' | 'onDamage' | 'onUnknownOutcome' | 'opensDamaged'> => {
  const { settings, log, fail, logKeys = null } = options;
  return {
    notary: {
      thread: new URL('../notary-thread.js', import.meta.url),
      signers: logKeys?.signers.map(signerText) ?? [],
      scrubEvery: settings.logScrubEvery,
      elsewhere: elsewhereOf(settings, logKeys),
      onError: (reason) => log.error({ reason }, 'the notary failed, trying again'),
    },
    onUnknownOutcome: fail,
    onDamage: damageHandler(options),
    opensDamaged: settings.logOnDamage === 'report',
  };
};

/**
 * The notary of a log on servers, for one process at a time. Throws DamagedLog, unless damage is only to be
 * reported: then it does nothing more until the signal aborts.
 */
export const notaryOf =
  (options: EngineOptions, { log: raw, tiles }: { readonly log: RawLog; readonly tiles: LogTiles }) =>
  async (signal: AbortSignal): Promise<void> => {
    const { settings, clock, logKeys = null } = options;
    const onDamage = damageHandler(options);
    try {
      await runNotary(
        {
          log: raw,
          tiles,
          clock,
          sign:
            logKeys === null
              ? null
              : ({ size, root }) =>
                  signNote(checkpointText({ origin: logKeys.origin, size, root }), logKeys.signers),
          knownElsewhere: () =>
            knownElsewhere(elsewhereOf(settings, logKeys), tiles, {
              report: (error) =>
                options.log.error({ err: error }, 'what is known of the log elsewhere was not found out'),
              signal,
            }),
          scrubEvery: settings.logScrubEvery,
          restore: 'the event store',
          onScrubbed: (events) => options.log.info({ events }, 'every event of the log has been read back'),
        },
        signal,
      );
    } catch (error) {
      if (!(error instanceof DamagedLog)) throw error;
      onDamage(error);
      await untilAborted({ clock, signal, pause: 60_000, onError: () => undefined }, () => Promise.resolve());
    }
  };
