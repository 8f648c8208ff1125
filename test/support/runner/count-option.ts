import { InvalidArgumentError } from 'commander';

/** Reads the value of an option that says how many or how long. */
export const count = (text: string): number => {
  const value = Number(text);
  if (!(value > 0)) throw new InvalidArgumentError('It must be a number greater than 0.');
  return value;
};
