import { z } from 'zod';
import { DomainError } from '../../domain/errors.js';
import { Uuid } from '../../domain/ids.js';
import type { SignInRecords } from '../ports/records.js';
import type { Entropy } from '../ports/system.js';

const Kept = z.object({
  hash: z.string(),
  /**
   * Another one whenever the password changes or all sessions are ended: sessions of an earlier one are over.
   */
  epoch: z.string(),
});

export interface Credential extends Readonly<z.infer<typeof Kept>> {
  readonly account: Uuid;
}

export interface CredentialDeps {
  readonly signInRecords: SignInRecords;
  readonly entropy: Entropy;
}

/** The passwords of an e-mail address, each of an account of its own. Throws SignInUnavailable. */
export const credentialsOf = async (
  { signInRecords }: Pick<CredentialDeps, 'signInRecords'>,
  mailbox: Uuid,
): Promise<readonly Credential[]> =>
  (await signInRecords.listOf('password', mailbox)).map(({ id, data }) => ({
    account: Uuid.parse(id),
    ...Kept.parse(data),
  }));

/** The epoch of an account; null if it has no password. Throws SignInUnavailable. */
export const epochOf = async (
  { signInRecords }: Pick<CredentialDeps, 'signInRecords'>,
  account: string,
): Promise<string | null> => {
  const found = await signInRecords.find('password', account);
  return found === null ? null : Kept.parse(found.data).epoch;
};

/** Returns the epoch; null if the account has a password already, which stays. Throws SignInUnavailable. */
export const addCredential = async (
  { signInRecords, entropy }: CredentialDeps,
  account: Uuid,
  mailbox: Uuid,
  hash: string,
): Promise<string | null> => {
  const data = { hash, epoch: entropy.uuid() };
  const record = { kind: 'password', id: account, owner: mailbox, data, ends: null } as const;
  const isAdded = await signInRecords.add(record);
  return isAdded ? data.epoch : null;
};

export const changedMeanwhile = (): DomainError =>
  new DomainError(
    'invalid_transition',
    'The password has just been changed in another session. Sign in with the new one.',
  );

/**
 * Begins a new epoch of an account, with a new hash if one is given. Of several callers with the same
 * `since`, one succeeds; null accepts any epoch. Returns the new epoch; null if the account has no password.
 * Throws `invalid_transition`, SignInUnavailable.
 */
export const renewCredential = async (
  { signInRecords, entropy }: CredentialDeps,
  account: string,
  { hash, since }: { readonly hash: string | null; readonly since: string | null },
): Promise<string | null> => {
  for (;;) {
    const found = await signInRecords.find('password', account);
    if (found === null) return null;
    const before = Kept.parse(found.data);
    if (since !== null && before.epoch !== since) throw changedMeanwhile();
    const data = { hash: hash ?? before.hash, epoch: entropy.uuid() };
    if (await signInRecords.change(found, { data, ends: null })) return data.epoch;
  }
};

/** Keeps a hash that costs more, unless the password was changed meanwhile. Throws SignInUnavailable. */
export const strengthenCredential = async (
  { signInRecords }: Pick<CredentialDeps, 'signInRecords'>,
  { account, epoch }: Credential,
  hash: string,
): Promise<void> => {
  const found = await signInRecords.find('password', account);
  if (found !== null && Kept.parse(found.data).epoch === epoch)
    await signInRecords.change(found, { data: { hash, epoch }, ends: null });
};
