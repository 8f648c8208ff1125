import { z } from 'zod';
import type { Brand } from './ids.js';

/** SHA-256, in lower-case hex, of the print master of a front. */
export type ArtworkDigest = Brand<string, 'ArtworkDigest'>;
export const ArtworkDigest = z
  .string()
  .regex(/^[0-9a-f]{64}$/)
  .transform((digest) => digest as ArtworkDigest);

/** In dots to the inch. */
export const printedAt = 300;
const leastPrinted = 150;

/** In dots of the print. */
export interface Size {
  readonly width: number;
  readonly height: number;
}

const dots = (inches: number): number => Math.ceil(inches * printedAt);

export const card: Size = { width: dots(5), height: dots(7) };
/** Printed around the card, and cut off. */
export const bleed = dots(1 / 8);
/** The print master: the card with its bleed. */
export const master: Size = { width: dots(5 + 2 / 8), height: dots(7 + 2 / 8) };
/** The white border of a picture that is fitted. */
const border = dots(1 / 4);

/** A picture fills the card and is cut at its edges, or fits on it whole with a white border. */
export const fits = ['fill', 'fit'] as const;
export type Fit = (typeof fits)[number];

/** The front of a design: its print master, and the size of the picture of which that was made. */
export const Front = z.object({
  digest: ArtworkDigest,
  bytes: z.int(),
  width: z.int(),
  height: z.int(),
  fit: z.enum(fits),
});
export type Front = z.infer<typeof Front>;

/** The part of the print master that a picture fills, or into which it is fitted. */
export const roomFor = (fit: Fit): Size =>
  fit === 'fill' ? master : { width: card.width - 2 * border, height: card.height - 2 * border };

/** How many dots of the picture come on an inch of the card. */
export const dotsPerInch = ({ width, height }: Size, fit: Fit): number => {
  const room = roomFor(fit);
  const [across, down] = [(width / room.width) * printedAt, (height / room.height) * printedAt];
  return Math.floor(fit === 'fill' ? Math.min(across, down) : Math.max(across, down));
};

export const count = (value: number): string => value.toLocaleString('en-US');

/** The fault that a picture will show in print; null if it prints well. */
export const printFault = (size: Size, fit: Fit) => {
  const found = dotsPerInch(size, fit);
  if (found >= printedAt) return null;
  const text = `${count(size.width)} × ${count(size.height)} dots are ${found} per inch on this card; ${printedAt} print well, under ${leastPrinted} is refused.`;
  return { isRefused: found < leastPrinted, text };
};
