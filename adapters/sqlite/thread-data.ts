import { z } from 'zod';

/** The log, as a thread gets it: see `SharedLog`. */
export const LogOfThread = z.object({
  path: z.string(),
  head: z.instanceof(SharedArrayBuffer),
  gate: z.instanceof(SharedArrayBuffer),
});

const Key = z.object({
  id: z.string(),
  isRetired: z.boolean().optional(),
  // A Buffer is sent to a thread as the array that it is.
  key: z.custom<Uint8Array>((key) => key instanceof Uint8Array).transform((bytes) => Buffer.from(bytes)),
});

/** Master keys, as a thread gets them. */
export const KeysOfThread = z.tuple([Key]).rest(Key);
