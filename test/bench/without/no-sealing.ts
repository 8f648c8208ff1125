import { hash, randomFillSync } from 'node:crypto';
import type { ProtectedData } from '../../../application/log/hash-chain.js';
import type { PersonalSeal } from '../../../application/streams.js';

export {
  asStored,
  keyIdOf,
  openedEvents,
  openedLog,
  openSealed,
  openText,
  sealNext,
  sealText,
  withheldData,
} from '../../../application/personal/personal.js';

const saltBytes = 16;
const pool = Buffer.alloc(saltBytes * 512);
let used = pool.length;

const nextSalt = (): string => {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += saltBytes;
  return pool.toString('base64', used - saltBytes, used);
};

/** As version 1 of the chain stored personal data: in the clear, beside a salted digest. */
export const personalSeal = (): PersonalSeal => ({
  ready: () => Promise.resolve(),
  seal: ({ data }: { readonly data: { readonly personal?: unknown } }): ProtectedData => {
    if (data.personal === undefined) return { data: JSON.stringify(data), personal: null };
    const text = JSON.stringify(data.personal);
    const salt = nextSalt();
    return {
      data: JSON.stringify(Object.assign({}, data, { personal: undefined })),
      personal: { text, stamp: { salt, digest: hash('sha256', `${salt}\n${text}`, 'hex') }, keyId: null },
    };
  },
});
