import { DomainError } from '../../../domain/errors.js';
import { countCharacters } from '../../../domain/text.js';

const shortest = 12;
const longest = 256;
/** Of 4: would hold for more than 10^8 guesses. */
const enough = 3;

/**
 * Refuses a password that is short, or that somebody would guess. Throws
 * `invalid_parameter` for its field.
 */
export const assertGoodPassword = async (
  password: string,
  known: readonly string[],
  field: string,
): Promise<void> => {
  const refusal = (message: string): DomainError => new DomainError('invalid_parameter', message, field);
  const characters = countCharacters(password);
  if (characters < shortest || characters > longest)
    throw refusal(`A password has ${shortest} to ${longest} characters.`);
  // Its dictionaries take some megabytes: most processes never need them.
  const [{ ZxcvbnFactory }, common, english] = await Promise.all([
    import('@zxcvbn-ts/core'),
    import('@zxcvbn-ts/language-common'),
    import('@zxcvbn-ts/language-en'),
  ]);
  const judge = new ZxcvbnFactory({
    dictionary: { ...common.dictionary, ...english.dictionary },
    graphs: common.adjacencyGraphs,
    translations: english.translations,
  });
  const { score, feedback } = judge.check(password, [...known]);
  if (score < enough)
    throw refusal(
      ['This password would be guessed soon.', feedback.warning, ...feedback.suggestions]
        .filter(Boolean)
        .join(' '),
    );
};
