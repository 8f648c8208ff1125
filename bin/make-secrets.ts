import { SystemEntropy } from '../adapters/system/entropy.js';
import { explain } from './exit.js';
import { masterKeys, operatorToken } from './secret-files.js';
import { readSettings } from './settings.js';

/**
 * Makes the files of secrets that the processes of the distributed deployment share, if they are missing.
 * Existing files are checked and kept.
 */
const makeSecrets = (): void => {
  const { operatorTokenFile, secretKeyFile, personalKeyFile } = readSettings(process.env);
  const entropy = new SystemEntropy();
  operatorToken(operatorTokenFile, entropy);
  masterKeys(secretKeyFile, entropy, true);
  masterKeys(personalKeyFile, entropy, true, 'PERSONAL_KEY_FILE');
  process.stdout.write(
    `OPERATOR_TOKEN_FILE ${operatorTokenFile}, SECRET_KEY_FILE ${secretKeyFile} and PERSONAL_KEY_FILE ${personalKeyFile} exist.\n`,
  );
};

try {
  makeSecrets();
} catch (error) {
  const { code, message } = explain(error);
  process.stderr.write(`${message}\n`);
  process.exitCode = code;
}
