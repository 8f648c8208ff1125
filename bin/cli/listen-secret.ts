import { createHash } from 'node:crypto';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { SystemEntropy } from '../../adapters/system/entropy.js';
import { messageOf } from '../../domain/errors.js';
import type { SigningSecret } from '../../domain/webhook-signing.js';
import { readIfExists, writeSecret } from '../settings/secret-files.js';

/** A name for what belongs to an API key. The key can't be told from it. */
export const nameOf = (key: string): string => createHash('sha256').update(key).digest('hex').slice(0, 16);

type Environment = Readonly<Record<string, string | undefined>>;

const configFolder = ({ XDG_CONFIG_HOME: config, HOME: home }: Environment): string =>
  join(config || join(home || homedir(), '.config'), 'handwritten-cards');

/**
 * The secret with which `webhook listen` signs: one per API key, the same in every run. It is kept in the
 * user's configuration folder; where that can't be written, this run has one of its own.
 */
export const listenSecret = (
  key: string,
  environment: Environment,
  complain: (text: string) => void,
): SigningSecret => {
  const path = join(configFolder(environment), `listen-${nameOf(key)}.secret`);
  const kept = () => readIfExists(path)?.trim() as SigningSecret | undefined;
  const made = `whsec_${new SystemEntropy().bytes(32).toString('base64')}` as SigningSecret;
  try {
    const known = kept();
    if (known !== undefined) return known;
    writeSecret(path, `${made}\n`);
  } catch (error) {
    // Another run may have made it at the same moment.
    const isMade = error instanceof Error && 'code' in error && error.code === 'EEXIST';
    const theirs = isMade ? kept() : undefined;
    if (theirs !== undefined) return theirs;
    complain(`The signing secret is for this run alone: it can't be kept. ${messageOf(error)}\n`);
  }
  return made;
};
