import { WrongUsage, type OperatorCall } from './client.js';

/** One `--name value`. */
export interface Option {
  readonly name: string;
  readonly description: string;
  readonly required?: boolean;
  /** `switch`: it has no value. */
  readonly kind?: 'text' | 'number' | 'flag' | 'list' | 'switch';
}

/** The typed arguments: the argument after the verb, and the options by their names in camel case. */
export interface CommandInput {
  readonly argument: string;
  readonly text: (name: string) => string | undefined;
  readonly number: (name: string) => number | undefined;
  readonly flag: (name: string) => boolean | undefined;
  readonly list: (name: string) => readonly string[] | undefined;
}

/** `noun verb [argument] --option value`: one call of the operator API. */
export interface Verb {
  readonly noun: string;
  readonly verb: string;
  readonly description: string;
  /** The name of the argument after the verb; absent if there is none. */
  readonly argument?: string;
  readonly options: readonly Option[];
  /** The irreversible effect, as a question to a person at a terminal; absent if it can be undone. */
  readonly question?: string;
  readonly call: (input: CommandInput) => OperatorCall;
}

export const org: Option = { name: 'org', description: 'id of the organization', required: true };
/** Without it, of all organizations. */
export const anyOrg: Option = { name: 'org', description: 'id of the organization; all if absent' };
/** Instead of an organization. */
export const house: Option = { name: 'house', description: 'the keys of operators instead', kind: 'switch' };

export const segment = (text: string): string => encodeURIComponent(text);

/** A path below the organization in `--org`. */
export const orgPath = (input: CommandInput, path: string): string =>
  `/organizations/${segment(input.text('org') ?? '')}${path}`;

const camelCase = (name: string): string => name.replaceAll(/-./g, ([, letter = '']) => letter.toUpperCase());
const fieldOf = (name: string): string => name.replaceAll('-', '_');

const valueOf = (input: CommandInput, { name, kind = 'text' }: Option) =>
  kind === 'switch' ? input.text(camelCase(name)) : input[kind](camelCase(name));

interface More {
  readonly question?: string;
  /** Fields of the body that are no options. */
  readonly body?: (input: CommandInput) => object;
}

/**
 * A verb that is one call. `words`: noun, verb and the name of the argument: `hook update <id>`. `call`:
 * method and path, such as `PATCH /organizations/{org}/hooks/{id}`, with the options and the argument that
 * belong in the path; the other options are the query of a GET and the fields of any other body, under their
 * names in the API. Options after a question mark are always part of the query. With `--house`, or
 * without a value for `anyOrg`, the path has no organization.
 */
export const verb = (
  words: string,
  description: string,
  call: string,
  options: readonly Option[] = [],
  { question, body }: More = {},
): Verb => {
  const [noun = '', name = '', argument] = words.split(/ <?|>/);
  const [method = '', path = '', ...inQuery] = call.split(/ |\?|&/);
  const isInQuery = (option: Option): boolean => method === 'GET' || inQuery.includes(option.name);
  const others = options.filter((option) => option !== house && !path.includes(`{${option.name}}`));
  return {
    noun,
    verb: name,
    description,
    ...(argument !== undefined && { argument }),
    options,
    ...(question !== undefined && { question }),
    call: (input) => {
      const isOfHouse = options.includes(house) && input.text(house.name) !== undefined;
      if (options.includes(house) && !isOfHouse && (input.text('org') ?? '') === '')
        throw new WrongUsage('Name the organization: --org <id>, or --house.');
      const textOf = (part: string): string =>
        (part === argument ? input.argument : input.text(camelCase(part))) ?? '';
      const query = others.filter(isInQuery).map(({ name: of }) => [fieldOf(of), input.text(camelCase(of))]);
      const fields = others
        .filter((option) => !isInQuery(option))
        .map((option) => [fieldOf(option.name), valueOf(input, option)]);
      return {
        method: method as OperatorCall['method'],
        path: (isOfHouse || (options.includes(anyOrg) && textOf('org') === '')
          ? path.replace('/organizations/{org}', '')
          : path
        ).replaceAll(/\{([\w-]+)\}/g, (_, part: string) => segment(textOf(part))),
        ...(query.length > 0 && { query: Object.fromEntries(query) as OperatorCall['query'] & object }),
        ...((fields.length > 0 || body !== undefined) && {
          body: { ...(Object.fromEntries(fields) as object), ...body?.(input) },
        }),
      };
    },
  };
};
/**
 * Turns commander's result into a CommandInput, whose members throw WrongUsage for a value of the wrong kind.
 */
export const parseInput = (
  argument: string,
  options: Readonly<Record<string, string | undefined>>,
): CommandInput => {
  const parsed = <T>(name: string, parse: (text: string) => T | undefined, wanted: string): T | undefined => {
    const text = options[name];
    if (text === undefined) return undefined;
    const value = parse(text);
    if (value === undefined)
      throw new WrongUsage(
        `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)} must be ${wanted}.`,
      );
    return value;
  };
  return {
    argument,
    text: (name) => options[name],
    number: (name) =>
      parsed(name, (text) => (/^-?\d+(\.\d+)?$/.test(text) ? Number(text) : undefined), 'a number'),
    flag: (name) =>
      parsed(
        name,
        (text) => (text === 'true' ? true : text === 'false' ? false : undefined),
        'true or false',
      ),
    list: (name) => options[name]?.trim().split(/\s*,\s*|\s+/),
  };
};
