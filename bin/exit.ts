import {
  CheckpointPastHead,
  DamagedLog,
  DataDirectoryInUse,
  UnknownOutcome,
} from '../adapters/sqlite/errors.js';
import { UnusableSecretFile } from './secret-files.js';
import { WrongSettings } from './settings.js';

/** The exit codes of the service. (operations.md; architecture.md, Writing) */
export const exitCodes = { done: 0, failed: 1, outcomeUnknown: 75, wrongSettings: 78 } as const;

const isOfSystem = (error: unknown, calls: readonly string[]): error is Error =>
  error instanceof Error &&
  'syscall' in error &&
  typeof error.syscall === 'string' &&
  calls.includes(error.syscall);

const isAddressError = (error: unknown): error is Error =>
  isOfSystem(error, ['listen', 'bind', 'getaddrinfo']);

/** A path of the settings that is not a directory or file, or not ours to use. */
const isPathError = (error: unknown): error is Error => isOfSystem(error, ['mkdir', 'open']);

/** What ends the process, in plain words for the person who started it. */
export const explain = (error: unknown): { readonly code: number; readonly message: string } => {
  if (error instanceof WrongSettings)
    return {
      code: exitCodes.wrongSettings,
      message: ['These settings are wrong:', ...error.problems.map((problem) => `  ${problem}`)].join('\n'),
    };
  if (error instanceof RangeError || error instanceof UnusableSecretFile)
    return { code: exitCodes.wrongSettings, message: error.message };
  if (error instanceof UnknownOutcome) {
    return {
      code: exitCodes.outcomeUnknown,
      message: `${error.message}\nIt is not known whether the last writes are on disk. Start the service again: it finds out from its log.`,
    };
  }
  if (
    error instanceof DataDirectoryInUse ||
    error instanceof DamagedLog ||
    error instanceof CheckpointPastHead
  )
    return { code: exitCodes.failed, message: error.message };
  if (isPathError(error))
    return {
      code: exitCodes.wrongSettings,
      message: `DATA_DIR, OPERATOR_TOKEN_FILE or SECRET_KEY_FILE can't be used: ${error.message}.`,
    };
  if (isAddressError(error))
    return {
      code: exitCodes.failed,
      message: `The service can't listen there: ${error.message}. Choose another PORT or HOST.`,
    };
  return {
    code: exitCodes.failed,
    message: error instanceof Error ? (error.stack ?? error.message) : String(error),
  };
};
