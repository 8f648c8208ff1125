import { existsSync } from 'node:fs';
import { SystemEntropy } from '../adapters/system/entropy.js';
import { explain } from './wiring/exit.js';
import { logKeys } from './settings/log-keys.js';
import { assertFolders, masterKeys, operatorToken } from './settings/secret-files.js';
import { readSettings } from './settings/settings.js';

/**
 * Makes the files of secrets that the processes of the distributed deployment share, if they are missing.
 * Existing files are checked and kept.
 */
const makeSecrets = (): void => {
  const settings = readSettings(process.env);
  const { operatorTokenFile, secretKeyFile, personalKeyFile, eventKeyFile, logKeyFile, logHeadFile } =
    settings;
  assertFolders(settings, false);
  const entropy = new SystemEntropy();
  operatorToken(operatorTokenFile, entropy);
  masterKeys(secretKeyFile, entropy, true);
  masterKeys(personalKeyFile, entropy, true, 'PERSONAL_KEY_FILE');
  masterKeys(eventKeyFile, entropy, true, 'EVENT_KEY_FILE');
  logKeys(settings, entropy, true);
  const head = existsSync(logHeadFile)
    ? `the last signed head of the log is in LOG_HEAD_FILE ${logHeadFile}`
    : `LOG_HEAD_FILE ${logHeadFile}, the last signed head of the log, is not there: put it back`;
  process.stdout.write(
    `OPERATOR_TOKEN_FILE ${operatorTokenFile}, SECRET_KEY_FILE ${secretKeyFile}, PERSONAL_KEY_FILE ${personalKeyFile}, EVENT_KEY_FILE ${eventKeyFile} and LOG_KEY_FILE ${logKeyFile} exist; ${head}.\n`,
  );
};

try {
  makeSecrets();
} catch (error) {
  const { code, message } = explain(error);
  process.stderr.write(`${message}\n`);
  process.exitCode = code;
}
