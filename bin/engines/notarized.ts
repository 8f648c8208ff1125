import type { EventsFileOptions } from '../../adapters/sqlite/log/events-file.js';
import type { LogTiles } from '../../application/ports/log-tiles.js';
import type { RawLog } from '../../application/ports/raw-log.js';
import type { SignedHeads } from '../../application/ports/signed-heads.js';
import { DamagedLog } from '../../application/log/damaged-log.js';
import { assertNotSetBack, provenTiles } from '../../application/log/last-head.js';
import { runNotary } from '../../application/log/notarize.js';
import type { Rehearsal } from '../../application/writing/rehearsal.js';
import { untilAborted } from '../../application/timing/until-aborted.js';
import { eventMacs, type EventMacs } from '../../domain/event-mac.js';
import type { Milliseconds } from '../../domain/ids.js';
import { signerText } from '../../domain/signed-note.js';
import type { EngineOptions } from '../wiring/engine.js';
import { elsewhereOf, keptElsewhere, lastHeadIn } from '../wiring/known-elsewhere.js';
import { signingWith } from '../settings/log-keys.js';

/**
 * This thread may answer requests, too, so the notary rests nine times as long as it works: with 500 events a
 * piece it still keeps up with some 2,000 a second.
 */
const maxRest: Milliseconds = 250;

const withoutKeys = (): never => {
  throw new TypeError('this process was opened without EVENT_KEY_FILE');
};

/** The MACs of events with the keys that the engine was opened with. Throws UnusableSecretFile. */
export const macsOf = ({ eventKeys }: Pick<EngineOptions, 'eventKeys'>): EventMacs =>
  eventKeys === null ? { sign: withoutKeys, verifies: withoutKeys } : eventMacs(eventKeys(false));

/** Ends the process if the log is damaged, or only reports it. (docs/incidents.md#a-damaged-log) */
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

const headsOf = ({ settings, logKeys = null }: EngineOptions): SignedHeads | null =>
  lastHeadIn(elsewhereOf(settings, logKeys));

/**
 * The tiles as they are shown: nothing of a log that is not the one that was signed last. A rehearsal may be
 * of an older one.
 */
export const shownTiles = (options: EngineOptions, tiles: LogTiles, rehearsal: Rehearsal): LogTiles => {
  const heads = headsOf(options);
  if (heads === null) return tiles;
  const proven = provenTiles(tiles, heads);
  return { ...proven, damage: async () => ((await rehearsal()) === null ? proven : tiles).damage() };
};

/** How events.db is opened: with the notary in a thread of its own. */
export const notarized = (
  options: EngineOptions,
): Pick<EventsFileOptions, 'notary' | 'onDamage' | 'onUnknownOutcome' | 'opensDamaged'> => {
  const { settings, log, fail, eventKeys, logKeys = null, onWitnesses } = options;
  const heads = headsOf(options);
  return {
    notary: {
      thread: new URL('../notary-thread.js', import.meta.url),
      signers: logKeys?.signers.map(signerText) ?? [],
      eventKeys: eventKeys ?? withoutKeys,
      onMissingKey: fail,
      scrubEvery: settings.logScrubEvery,
      elsewhere: elsewhereOf(settings, logKeys),
      ...(heads !== null && {
        assertNotSetBack: (stored, last) =>
          assertNotSetBack({ ...stored, heads, sign: signingWith(logKeys) }, last),
      }),
      ...(onWitnesses !== undefined && { onWitnesses }),
      onError: (reason) => log.error({ reason }, 'the notary failed, trying again'),
    },
    onUnknownOutcome: fail,
    onDamage: damageHandler(options),
    opensDamaged: settings.logOnDamage === 'report',
  };
};

interface OnServers {
  readonly log: RawLog;
  readonly tiles: LogTiles;
  readonly rehearsal: Rehearsal;
}

/**
 * The notary of a log on servers, for one process at a time; of a rehearsal it signs nothing. Throws
 * UnusableHead, and DamagedLog, unless damage is only to be reported: then it does nothing more until the
 * signal aborts.
 */
export const notaryOf = (options: EngineOptions, { log: raw, tiles, rehearsal }: OnServers) => {
  const lookedBack = { last: null };
  return async (signal: AbortSignal): Promise<void> => {
    const { settings, clock, log, onWitnesses } = options;
    const logKeys = (await rehearsal()) === null ? (options.logKeys ?? null) : null;
    const onDamage = damageHandler(options);
    const onError = (error: unknown): void =>
      log.error({ err: error }, 'the record of the log outside its store could not be read or written');
    const elsewhere = await keptElsewhere(elsewhereOf(settings, logKeys), {
      tiles,
      clock,
      report: onError,
      ...(onWitnesses !== undefined && { onStatus: onWitnesses }),
    });
    try {
      await runNotary(
        {
          log: raw,
          tiles,
          macs: macsOf(options),
          clock,
          sign: signingWith(logKeys),
          ...elsewhere,
          scrubEvery: settings.logScrubEvery,
          restoreHint: 'the event store',
          lookedBack,
          rest: (worked, resting) => clock.sleep(Math.min(Math.max(1, 9 * worked), maxRest), resting),
          onScrubbed: (events) => log.info({ events }, 'every event of the log has been read back'),
          onError,
        },
        signal,
      );
    } catch (error) {
      if (!(error instanceof DamagedLog)) throw error;
      onDamage(error);
      await untilAborted({ clock, signal, pause: 60_000, onError: () => undefined }, () => Promise.resolve());
    }
  };
};
