import { createCipheriv, createDecipheriv } from 'node:crypto';

const cipher = 'aes-256-gcm';
const tagBytes = 16;
export const ivBytes = 12;

/** Ciphertext and tag, which belong to the owner with this name and to no other. */
export const encrypt = (key: Buffer, iv: Buffer, owner: string, plain: Buffer | string): Buffer => {
  const encrypting = createCipheriv(cipher, key, iv).setAAD(Buffer.from(owner));
  return Buffer.concat([encrypting.update(plain), encrypting.final(), encrypting.getAuthTag()]);
};

/** Null for bytes that were not encrypted with this key, for this owner. */
export const decrypt = (key: Buffer, iv: Buffer, owner: string, sealed: Buffer): Buffer | null => {
  const end = sealed.length - tagBytes;
  if (end < 0) return null;
  try {
    const decrypting = createDecipheriv(cipher, key, iv).setAAD(Buffer.from(owner));
    decrypting.setAuthTag(sealed.subarray(end));
    return Buffer.concat([decrypting.update(sealed.subarray(0, end)), decrypting.final()]);
  } catch {
    return null;
  }
};
