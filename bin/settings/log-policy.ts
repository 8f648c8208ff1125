import { readFileSync } from 'node:fs';
import { messageOf } from '../../domain/errors.js';
import { parsePolicy, type LogPolicy } from '../../domain/log-policy.js';
import { openNote, UntrustedNote } from '../../domain/signed-note.js';
import { WrongSettings, type Settings } from './settings.js';

/**
 * The witnesses whose signatures a checkpoint needs, from LOG_POLICY_FILE; null if there is none. Throws
 * WrongSettings.
 */
export const logPolicy = ({ logPolicyFile: path }: Pick<Settings, 'logPolicyFile'>): LogPolicy | null => {
  if (path === null) return null;
  try {
    return parsePolicy(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new WrongSettings([`LOG_POLICY_FILE ${path}: ${messageOf(error)}`]);
  }
};

export const isWitnessed =
  ({ witnesses, isMet }: LogPolicy) =>
  (note: string): boolean => {
    try {
      const { verified } = openNote(
        note,
        witnesses.map(({ key }) => key),
      );
      return isMet(verified.map(({ key }) => key));
    } catch (error) {
      if (error instanceof UntrustedNote) return isMet([]);
      throw error;
    }
  };
