import { z } from 'zod';
import type { Brand } from './ids.js';

/** SHA-256, in lower-case hex, of the print master of a front. */
export type ArtworkDigest = Brand<string, 'ArtworkDigest'>;
export const ArtworkDigest = z
  .string()
  .regex(/^[0-9a-f]{64}$/)
  .transform((digest) => digest as ArtworkDigest);
