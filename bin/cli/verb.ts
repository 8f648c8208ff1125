import type { Milliseconds } from '../../domain/ids.js';
import { WrongUsage, type OperatorCall, type OperatorClient } from './client.js';
import { readable } from './print.js';

/** One `--name value`. */
export interface Option {
  readonly name: string;
  readonly description: string;
  readonly required?: boolean;
  /** `switch`: it has no value. */
  readonly kind?: 'text' | 'number' | 'flag' | 'list' | 'switch';
  /** The object in the body of the call that its field belongs to. */
  readonly within?: string;
}

export const option = (name: string, description: string, kind: Option['kind'] = 'text'): Option => ({
  name,
  description,
  kind,
});
export const required = (name: string, description: string, kind?: Option['kind']): Option => ({
  ...option(name, description, kind),
  required: true,
});

/** The typed arguments: the argument after the verb, and the options by their names in camel case. */
export type CommandInput = ReturnType<typeof parseInput>;

export interface VerbContext {
  readonly input: CommandInput;
  readonly client: OperatorClient;
  readonly json: boolean;
  readonly print: (text: string) => void;
  /** Writes a value as JSON, or else the text for people. */
  readonly show: (value: object, text: string) => void;
  readonly complain: (text: string) => void;
  readonly monotonic: () => Milliseconds;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** `noun verb [argument] --option value`; the noun of a command is empty. */
export interface Verb {
  readonly noun: string;
  readonly verb: string;
  /** The name of the argument after the verb. */
  readonly argument: string | undefined;
  readonly description: string;
  readonly options: readonly Option[];
  readonly run: (context: VerbContext) => Promise<void>;
  /** The irreversible effect, as a question to a person at a terminal; absent if it can be undone. */
  readonly question?: string;
}

/**
 * A verb that does more than to call the operator API once. `words`: noun, verb and the name of the argument,
 * as in `log verify <file>`; a command has no noun.
 */
export const longVerb = (
  words: string,
  description: string,
  options: readonly Option[],
  run: Verb['run'],
  particulars: Pick<Verb, 'question'> = {},
): Verb => {
  const [, noun = '', name = '', argument] = /^(?:(\S+) )?([\w-]+)(?: <(\w+)>)?$/.exec(words) ?? [];
  return { noun, verb: name, argument, description, options, run, ...particulars };
};

export const org = required('org', 'id of the organization');
/** Without it, of all organizations. */
export const anyOrg = option('org', 'id of the organization; all if absent');
export const house = option('house', 'the keys of operators instead', 'switch');

/** A path below the organization in `--org`. */
export const orgPath = (input: CommandInput, path: string): string =>
  `/organizations/${encodeURIComponent(input.text('org') ?? '')}${path}`;

const camelCase = (name: string): string => name.replaceAll(/-./g, ([, letter = '']) => letter.toUpperCase());
const fieldOf = (name: string): string => (name === 'org' ? 'organization' : name.replaceAll('-', '_'));

const valueOf = (input: CommandInput, { name, kind = 'text' }: Option) =>
  kind === 'switch' ? input.text(camelCase(name)) : input[kind](camelCase(name));

/**
 * A verb that is one call of the operator API. `call`: method and path, such as `PATCH hooks/{id}`, with the
 * options and the argument that belong in the path; it is one below the organization in `--org` unless it
 * begins with a slash. The other options are the query of a GET and the fields of any other body, under their
 * names in the API; those after a question mark are always part of the query. With `--house`, or without a
 * value for `anyOrg`, the path has no organization. `body`: fields that are no options.
 */
export const verb = (
  words: string,
  description: string,
  call: string,
  wanted: readonly Option[] = [],
  { body, ...particulars }: Pick<Verb, 'question'> & { readonly body?: (input: CommandInput) => object } = {},
): Verb & { readonly call: (input: CommandInput) => OperatorCall } => {
  const [method = '', place = '', ...inQuery] = call.split(/[ ?]/);
  const path = place.startsWith('/') ? place : `/organizations/{org}/${place}`;
  const needsOrg = path.includes('{org}') && wanted.every(({ name }) => name !== 'org');
  const options = needsOrg ? [org, ...wanted] : wanted;
  const isInQuery = ({ name }: Option): boolean => method === 'GET' || inQuery.includes(name);
  const others = options.filter((each) => each !== house && !path.includes(`{${each.name}}`));
  const fields = others.filter((each) => !isInQuery(each));
  const callOf = (input: CommandInput): OperatorCall => {
    const isOfHouse = options.includes(house) && input.text(house.name) !== undefined;
    if (options.includes(house) && !isOfHouse && (input.text('org') ?? '') === '')
      throw new WrongUsage('Name the organization: --org <id>, or --house.');
    const textOf = (part: string): string =>
      (part === made.argument ? input.argument : input.text(camelCase(part))) ?? '';
    const isOfAll = isOfHouse || (options.includes(anyOrg) && textOf('org') === '');
    const query = others.filter(isInQuery).map(({ name }) => [fieldOf(name), input.text(camelCase(name))]);
    const sent: Record<string, unknown> = {};
    for (const each of fields) {
      const { name, within } = each;
      const value = valueOf(input, each);
      if (within === undefined) sent[fieldOf(name)] = value;
      else if (value !== undefined) sent[within] = { ...(sent[within] as object), [fieldOf(name)]: value };
    }
    return {
      method: method as OperatorCall['method'],
      path: (isOfAll ? path.replace('/organizations/{org}', '') : path).replaceAll(
        /\{([\w-]+)\}/g,
        (_, part: string) => encodeURIComponent(textOf(part)),
      ),
      ...(query.length > 0 && { query: Object.fromEntries(query) as OperatorCall['query'] & object }),
      ...((fields.length > 0 || body !== undefined) && { body: { ...sent, ...body?.(input) } }),
    };
  };
  const run = async ({ input, client, json, print }: VerbContext): Promise<void> => {
    const text = await client.call(callOf(input));
    print(json ? text : readable(text));
  };
  const made = longVerb(words, description, options, run, particulars);
  return { ...made, call: callOf };
};

/** Turns commander's result into what verbs read, which throws WrongUsage for a value of the wrong kind. */
export const parseInput = (argument: string, options: Readonly<Record<string, string | undefined>>) => {
  const parsed = <T>(
    name: string,
    form: RegExp,
    wanted: string,
    parse: (text: string) => T,
  ): T | undefined => {
    const text = options[name];
    if (text === undefined) return undefined;
    if (form.test(text)) return parse(text);
    const typed = name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    throw new WrongUsage(`--${typed} must be ${wanted}.`);
  };
  return {
    argument,
    text: (name: string) => options[name],
    number: (name: string) => parsed(name, /^-?\d+(\.\d+)?$/, 'a number', Number),
    flag: (name: string) => parsed(name, /^(true|false)$/, 'true or false', (text) => text === 'true'),
    list: (name: string) => options[name]?.trim().split(/\s*,\s*|\s+/),
  };
};
