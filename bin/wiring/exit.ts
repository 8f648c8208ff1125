import { errcodeOf, isDamage } from '../../adapters/sqlite/database.js';
import {
  CheckpointPastHead,
  DataDirectoryInUse,
  reasonOf,
  UnknownOutcome,
  UnusableFile,
} from '../../adapters/sqlite/errors.js';
import { UnusableHead } from '../../application/ports/signed-heads.js';
import { LostIndexKey, MissingPersonalKey, WrongPersonalKey } from '../../application/personal/key-ring.js';
import { LostKeys } from '../../application/personal/own-keys.js';
import { WrongEventKey } from '../../application/log/assert-event-key.js';
import { EventStoreUnavailable } from '../../application/ports/event-store.js';
import { codeOf, FinalError, messageOf } from '../../domain/errors.js';
import { MissingEventKey } from '../../domain/event-mac.js';
import { UnusableSecretFile } from '../settings/secret-files.js';
import { WrongSettings } from '../settings/settings.js';

/** The exit codes of the service. (docs/operations.md#exit-codes) */
export const exitCodes = { done: 0, failed: 1, outcomeUnknown: 75, wrongSettings: 78 } as const;

/** Errors that the settings are to blame for. */
const ofSettings = [
  RangeError, UnusableSecretFile, UnusableFile, UnusableHead, LostKeys, MissingPersonalKey, LostIndexKey, WrongPersonalKey,
  MissingEventKey, WrongEventKey,
]; // prettier-ignore

const hasFailedIn = (error: unknown, calls: readonly string[]): error is Error =>
  error instanceof Error && 'syscall' in error && calls.includes(String(error.syscall));

/** Of the file system; the stores tell their own. */
const isDiskFull = (error: unknown): boolean => ['ENOSPC', 'EDQUOT'].includes(String(codeOf(error)));

/** Explains the end of the process in plain words to the person who started it, and chooses the exit code. */
export const explain = (error: unknown): { readonly code: number; readonly message: string } => {
  const ended = (code: keyof typeof exitCodes, message: string) => ({ code: exitCodes[code], message });
  if (error instanceof WrongSettings)
    return ended('wrongSettings', ['These settings are wrong:', ...error.problems].join('\n  '));
  if (ofSettings.some((kind) => error instanceof kind)) return ended('wrongSettings', messageOf(error));
  if (error instanceof UnknownOutcome)
    return ended(
      'outcomeUnknown',
      `${error.message}\nWhether the last writes are on disk is unknown. Start the service again: it finds out from its log.`,
    );
  if (
    [DataDirectoryInUse, CheckpointPastHead, FinalError, EventStoreUnavailable].some(
      (kind) => error instanceof kind,
    )
  )
    return ended('failed', messageOf(error));
  // Those of the other files name them.
  if (isDamage(errcodeOf(error)))
    return ended(
      'failed',
      `events.db in DATA_DIR is damaged: ${messageOf(error)}. Restore it from a backup (docs/incidents.md#a-damaged-log).`,
    );
  if (isDiskFull(error))
    return ended('failed', `The disk of DATA_DIR or of a file of secrets is full: ${messageOf(error)}.`);
  // A path in the settings can't be used: it is of the wrong kind, or we lack the permission.
  if (hasFailedIn(error, ['mkdir', 'open', 'chmod', 'link']))
    return ended(
      'wrongSettings',
      `DATA_DIR or a file of secrets, or LOG_HEAD_FILE, can't be used: ${reasonOf(error)}`,
    );
  if (hasFailedIn(error, ['listen', 'bind', 'getaddrinfo']))
    return ended(
      'failed',
      `The service can't listen there: ${error.message}. Choose another PORT or HOST, or OPERATOR_PORT or OPERATOR_HOST.`,
    );
  return ended('failed', error instanceof Error ? (error.stack ?? error.message) : String(error));
};
