import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { Uuid } from '../../domain/ids.js';
import type { MasterKeys } from '../../domain/webhook-signing.js';
import type { Credential } from './credentials.js';

/** Proves that a browser has signed in to an account, in an epoch of its password. */
export type Device = Pick<Credential, 'account' | 'epoch'>;

/** Tokens that browsers keep to show that they have signed in before: only the service can make them. */
export type Devices = ReturnType<typeof devicesWith>;

const form = /^([0-9a-f-]{36})\.([0-9a-f-]{36})\.([\w-]{43})$/;

/** Signs with a key that is derived from the newest master key; signatures of older keys stay valid. */
export const devicesWith = (masters: MasterKeys) => {
  const keys = masters.map(({ key }) => Buffer.from(hkdfSync('sha256', key, '', 'device cookie', 32)));
  const macs = (account: string, epoch: string): readonly Buffer[] =>
    keys.map((key) => createHmac('sha256', key).update(`${account}.${epoch}`).digest());
  return {
    sign: ({ account, epoch }: Device): string =>
      `${account}.${epoch}.${macs(account, epoch)[0]?.toString('base64url') ?? ''}`,
    /** Null if it was not signed here. */
    read: (signed: string): Device | null => {
      const [, account, epoch, mac] = form.exec(signed) ?? [];
      if (account === undefined || epoch === undefined || mac === undefined) return null;
      const shown = Buffer.from(mac, 'base64url');
      const isOurs = macs(account, epoch).some((made) => timingSafeEqual(made, shown));
      return isOurs ? { account: Uuid.parse(account), epoch } : null;
    },
  };
};
