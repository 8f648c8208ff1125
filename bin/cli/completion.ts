/** The supported shells. */
export const shells = ['bash', 'zsh'] as const;

interface Word {
  readonly name: string;
  /** With their hyphens. */
  readonly options: readonly string[];
}

/** The nouns with their verbs. */
export type Words = readonly (Word & { readonly verbs: readonly Word[] })[];

const program = 'handwritten-cards';
const everywhere = ['--help', '--base-url'];

const listed = (words: readonly string[]): string => words.join(' ');

const inCase = (pattern: string, words: readonly string[]): string =>
  `    '${pattern}') words='${listed(words)}' ;;`;

/**
 * A script for the shell. It knows the nouns, verbs and options of this version: source it again after an
 * upgrade. zsh runs the same function, through its emulation of bash.
 */
export const completion = (shell: (typeof shells)[number], nouns: Words): string => {
  const verbs = nouns.flatMap(({ name, verbs: known, options }) =>
    known.length > 0
      ? [
          inCase(
            `${name}`,
            known.map((verb) => verb.name),
          ),
        ]
      : [inCase(name, [...options, ...everywhere])],
  );
  const options = nouns.flatMap(({ name, verbs: known }) =>
    known.map((verb) => inCase(`${name} ${verb.name}`, [...verb.options, ...everywhere])),
  );
  return [
    ...(shell === 'zsh' ? ['autoload -U +X bashcompinit && bashcompinit'] : []),
    '_handwritten_cards() {',
    '  local current="${COMP_WORDS[COMP_CWORD]}" words=""',
    `  if [ "$COMP_CWORD" -eq 1 ]; then words='${listed([...nouns.map(({ name }) => name), ...everywhere, '--version'])}'`,
    '  elif [ "$COMP_CWORD" -eq 2 ]; then case "${COMP_WORDS[1]}" in',
    ...verbs,
    '    esac',
    '  else case "${COMP_WORDS[1]} ${COMP_WORDS[2]}" in',
    ...options,
    '    esac',
    '  fi',
    '  COMPREPLY=($(compgen -W "$words" -- "$current"))',
    '}',
    `complete -o default -F _handwritten_cards ${program}`,
  ].join('\n');
};
