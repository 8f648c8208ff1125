import type { MasterKey, MasterKeys } from '../../../domain/webhook-signing.js';

const withBuffer = ({ key, ...rest }: MasterKey): MasterKey => ({ ...rest, key: Buffer.from(key) });

/** Master keys as a thread got them: a Buffer is sent to it as a plain array of bytes. */
export const keysOfThread = ([first, ...others]: MasterKeys): MasterKeys => [
  withBuffer(first),
  ...others.map(withBuffer),
];
